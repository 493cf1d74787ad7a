"""Task scores of the RLVE environments: pure functions of plain values.

Belongs here: how good an outcome is, and its exact success. Not here: worlds, dialogue, tools, and the
composition with efficiency and hallucination (`shopsim_env.rlve.reward`).
"""
