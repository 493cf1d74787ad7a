"""Shortcuts: cheaters of one environment each, which do the task but for one part that should decide.

Belongs here: which there are. A journey is played with the first one of each environment, and with blind
guesses where there is none.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.panel.shortcuts.bundles import Cheap, OneUnread
from shopsim_env.rlve.panel.shortcuts.carts import Trial
from shopsim_env.rlve.panel.shortcuts.goods import FirstHits, Guessed, Unranked, Unwished, WorstFirst
from shopsim_env.rlve.panel.shortcuts.returns import OldestLine
from shopsim_env.rlve.panel.shortcuts.rules import Topics
from shopsim_env.rlve.panel.shortcuts.substitutes import FirstFitting, Likest, NoWorse

SHORTCUTS: Final[Mapping[str, tuple[str, Callable[[], Agent]]]] = {
    "wishes without priorities": ("PD", Unranked),
    "worst first": ("PD", WorstFirst),
    "wishes and even weights": ("PD", partial(Guessed, 1, 1, 1)),
    "wishes and weights 5:3:2": ("PD", partial(Guessed, 5, 3, 2)),
    "first hits of the category": ("PD", FirstHits),
    "priorities without wishes": ("PD", Unwished),
    "priorities of the cheapest": ("PD", partial(Unwished, 20)),
    "no worse than the original": ("SUB", NoWorse),
    "likest without wishes": ("SUB", Likest),
    "likest but first wish": ("SUB", partial(Likest, wishes=True)),
    "wishes without original": ("SUB", FirstFitting),
    "trial and correction": ("CART", Trial),
    "oldest line": ("RETURN", OldestLine),
    "topics without values": ("POLICY", Topics),
    "first wish of slots unread": ("BUNDLE", OneUnread),
    "cheapest but one": ("BUNDLE", partial(Cheap, 1)),
    "cheapest but two": ("BUNDLE", partial(Cheap, 2)),
}
