"""The proof that episodes can be solved and not be guessed: cheaters, weaker honest agents, the check.

Oracles are in `shopsim_env.rlve.oracles`. Nothing here sees a goal; the check reads flags and chances after
the end.
"""
