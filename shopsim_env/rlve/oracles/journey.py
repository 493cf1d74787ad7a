"""The oracle of journeys: plays the part that was brought up last with the oracle of its environment.

Belongs here: the change between parts. A part that is taken up again begins anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

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
        self._agent: Agent | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """The turn of the present part's oracle."""
        if self._agent is None or sight.env_id != self._playing:
            self._playing = sight.env_id
            self._agent = self._oracles[sight.env_id]()
            # The last turn's results are another part's.
            sight = replace(sight, results=())
        return self._agent.act(sight)
