"""Honest agents of less skill than the oracles: they do the task, and do it worse.

Belongs here: the two fixed agents by which difficulty is measured. Their success must not rise with d.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.sight import Sight


class _Weaker(Agent):
    """Plays as the oracle would who saw less."""

    def __init__(self, env_id: str) -> None:
        self._oracle = oracle(env_id)

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
    """Asks for everything, and forgets the second thing that it was told whenever there were more than two."""

    def _takes_in(self, sight: Sight) -> Sight:
        told = list(sight.needs.items())
        return replace(sight, needs=dict(told[:1] + told[2:]) if len(told) > 2 else sight.needs)


HONEST: Final[Mapping[str, Callable[[str], Agent]]] = {"hasty": Hasty, "forgetful": Forgetful}
