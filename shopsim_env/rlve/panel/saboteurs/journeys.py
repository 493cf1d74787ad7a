"""The saboteur of journeys: one part is not done.

Belongs here: which one. The others are played by the oracles.
"""

from typing import Any

from shopsim_env.rlve.oracles import ORACLES
from shopsim_env.rlve.oracles.base import answer
from shopsim_env.rlve.oracles.journey import JourneyOracle
from shopsim_env.rlve.sight import Sight


class OnePartLess(JourneyOracle):
    """JOURNEY: the first part gets an empty answer, all others the right one."""

    def __init__(self) -> None:
        super().__init__(ORACLES)
        self._first: str | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """The empty answer, else the oracle's turn."""
        self._first = self._first or sight.env_id
        return answer(sight) if sight.env_id == self._first else super().act(sight)
