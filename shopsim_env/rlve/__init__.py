"""RLVE: shopping tasks whose difficulty is one number, graded by code (docs/rlve.md)."""
