"""The conversational e-commerce environments with verifiable rewards (RLVE).

Belongs here so far: difficulty, rewards, the adaptive scheduler and the collections. See `docs/rlve.md`.
"""
