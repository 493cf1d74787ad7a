"""The proof that episodes can be solved and not be guessed: cheaters, honest agents of less skill, and the check.

Oracles are in `shopsim_env.rlve.oracles`. Nothing here sees a goal; the check reads flags and chances after the end.
"""
