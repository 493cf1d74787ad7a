"""Shortcuts: cheaters of one environment each, which do the task but for one part that should decide.

Belongs here: which there are. A journey is played with the first one of each environment, and with blind
guesses where there is none.
"""

from collections.abc import Callable, Mapping
from typing import Final

from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.panel.shortcuts.carts import Trial
from shopsim_env.rlve.panel.shortcuts.goods import FirstHits, NoWorse, Unranked, WorstFirst
from shopsim_env.rlve.panel.shortcuts.returns import OldestLine
from shopsim_env.rlve.panel.shortcuts.rules import Topics

SHORTCUTS: Final[Mapping[str, tuple[str, Callable[[], Agent]]]] = {
    "first hits of the category": ("PD", FirstHits),
    "wishes without priorities": ("PD", Unranked),
    "worst first": ("PD", WorstFirst),
    "no worse than the original": ("SUB", NoWorse),
    "trial and correction": ("CART", Trial),
    "oldest line": ("RETURN", OldestLine),
    "topics without values": ("POLICY", Topics),
}
