"""What recorded runs amount to: metrics with intervals, comparisons of two runs, result cards, reports.

Belongs here: everything between trace files and figures that are published. Nothing here plays an episode or
asks a model; `shopsim_env.runs` reads runs for people who look at them.
"""
