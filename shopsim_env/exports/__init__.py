"""Training data for other programs: task files, and examples, groups, pairs and lengths from recorded runs.

Belongs here: the choice of episodes and the form of rows. The commands are in `shopsim_env.commands.export`,
the format of runs in docs/runs.md. Nothing here holds a goal: rows are made of what a model saw and said, and
of results.
"""
