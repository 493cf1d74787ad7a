"""Honest agents of less skill than the oracles: they do the task, and do it worse.

Belongs here: the two fixed agents by which difficulty is measured. Their success must not rise with d.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.sight import Sight

_MISSED: Final = 0.15


class _Weaker(Agent):
    """Plays as the oracle would who saw less.

    Args:
        env_id: Environment.
        draws: For those that are weaker by chance.
    """

    def __init__(self, env_id: str, draws: Draws) -> None:
        self._oracle = oracle(env_id)
        self._draws = draws

    def act(self, sight: Sight) -> dict[str, Any]:
        """The oracle's turn for what this agent takes in."""
        return self._oracle.act(self._takes_in(sight))

    @abstractmethod
    def _takes_in(self, sight: Sight) -> Sight:
        """What of a sight this agent notices."""


class Hasty(_Weaker):
    """Never asks for what the customer left open."""

    def _takes_in(self, sight: Sight) -> Sight:
        return replace(sight, open_needs=0)


class Forgetful(_Weaker):
    """Asks for everything, and misses each thing that it is told with the same chance."""

    def _takes_in(self, sight: Sight) -> Sight:
        noticed = {
            id_: data for id_, data in sight.needs.items() if not self._draws.fork(id_).chance(_MISSED)
        }
        return replace(sight, needs=noticed)


HONEST: Final[Mapping[str, Callable[[str, Draws], Agent]]] = {"hasty": Hasty, "forgetful": Forgetful}
