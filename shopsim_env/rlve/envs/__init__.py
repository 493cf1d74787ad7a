"""The eight environments: one module each makes goals and grades outcomes; `base` has what they share."""
