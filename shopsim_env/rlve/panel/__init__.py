"""The proof that episodes can be solved and not be guessed: the panel's agents, the check, its verdicts.

Cheaters, shortcuts, saboteurs and weaker honest agents are here; oracles are in `shopsim_env.rlve.oracles`.
Nothing here sees a goal; the check reads flags and chances after the end.
"""
