"""Oracles: agents that solve every episode with the tools and the dialogue alone, one module per environment.

They prove that an episode can be solved. What they see is in `base`; no goal, no task.
"""
