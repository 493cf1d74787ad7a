"""Rewards: one module per component, totals in `total`. Public entry: `score_purchase`."""
