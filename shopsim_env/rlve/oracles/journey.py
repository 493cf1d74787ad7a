"""The oracle of journeys: plays the part that was brought up last with the oracle of its environment.

Belongs here: the change between parts. A part that another one interrupts goes on later with the results that
were there when it was left.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.sight import Sight


class JourneyOracle(Agent):
    """Plays JOURNEY.

    Args:
        oracles: Maker of the oracle of each environment.
    """

    def __init__(self, oracles: Mapping[str, Callable[[], Agent]]) -> None:
        self._oracles = oracles
        self._playing = ""
        self._agents: dict[str, Agent] = {}
        self._left: dict[str, tuple[ToolRecord, ...]] = {}

    def act(self, sight: Sight) -> dict[str, Any]:
        """The turn of the present part's oracle."""
        part = sight.env_id
        if part != self._playing:
            # The last turn's results are those of the part that was played until now.
            self._left[self._playing] = sight.results
            sight = replace(sight, results=self._left.pop(part, ()))
            self._playing = part
        if part not in self._agents:
            self._agents[part] = self._oracles[part]()
        return self._agents[part].act(sight)
