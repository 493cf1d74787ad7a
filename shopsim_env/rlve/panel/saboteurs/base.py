"""What saboteurs share: the oracle's play, a look at more than it needs, a last turn that is spoilt.

Belongs here: the plan alone. What is made wrong is in the modules beside.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.oracles.base import Agent, Request, answer, results_of
from shopsim_env.rlve.oracles.cards import ask_and_call, card_meets
from shopsim_env.rlve.sight import Sight

Turn = dict[str, Any]
Card = Mapping[str, Any]


class Saboteur(Agent):
    """Looks, plays as the oracle does, and makes one thing wrong in the turn of the answer.

    Args:
        played: The oracle.
    """

    def __init__(self, played: Agent) -> None:
        self._played = played
        self._wants_to_look = True
        self._looking = False
        self._looked: tuple[ToolRecord, ...] = ()
        self._records: list[ToolRecord] = []

    def act(self, sight: Sight) -> Turn:
        """The oracle's turn; the last one spoilt, empty where there is nothing to spoil."""
        if self._wants_to_look:
            self._wants_to_look = False
            calls = self._looks(sight)
            self._looking = bool(calls)
            if calls:
                return ask_and_call(sight, *calls)
        if self._looking:
            self._looking, self._looked = False, sight.results
            sight = replace(sight, results=())
        self._records += sight.results
        turn = self._played.act(sight)
        return turn if "answer" not in turn else self._spoil(sight, turn) or answer(sight)

    def _looks(self, sight: Sight) -> Sequence[Request]:  # noqa: ARG002
        """Calls besides those of the oracle, before all others."""
        return ()

    @abstractmethod
    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        """The last turn with one thing wrong; None where there is nothing to make wrong."""

    def _strange(self, filters: Mapping[str, Any]) -> list[Card]:
        """Products with a price that the look brought up and that do not meet this filter."""
        found = [card for result in results_of(self._looked, "catalog.search") for card in result["products"]]
        return [card for card in found if card["price"] is not None and not card_meets(card, filters)]


def wishes(sight: Sight, prefix: str = "") -> dict[str, Any]:
    """The filter that asks for what was told, of the needs whose ids begin so."""
    needs = sight.needs.items()
    return merge_filters(
        need["filters"] for id_, need in needs if id_.startswith(prefix) and "filters" in need
    )


def with_answer(turn: Turn, **values: Any) -> Turn:
    """The turn with other values in its answer."""
    return {**turn, "answer": {**turn["answer"], **values}}


def with_call(turn: Turn, **values: Any) -> Turn:
    """The turn with other arguments in its first call."""
    first, *others = turn["tool_calls"]
    return {**turn, "tool_calls": [{**first, "args": {**first["args"], **values}}, *others]}
