"""The simulated customer of RLVE: what it knows, what it tells, how it says it in Chinese and English.

The ledger is the Shop's (`shopsim_env.dialogue`). Goals, grading and tools are not here.
"""
