"""Public tasks, budgets, persona projection and splits."""
