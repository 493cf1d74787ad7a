"""Choosing goals from the world's facts: pools of products, constraints that bind, preferences.

Generators of environments use it; nothing here talks, grades or changes an episode.
"""
