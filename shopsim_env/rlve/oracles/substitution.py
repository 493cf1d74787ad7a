"""The oracle of substitution: opens the original, asks for what is open, searches, takes the likest.

Belongs here: its plan. Points of likeness are those of `choosing.likeness`, from cards.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.rlve.choosing.likeness import Traits, points
from shopsim_env.rlve.oracles.base import Agent, all_filters, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.sight import Sight


class SubstitutionOracle(Agent):
    """Plays SUB."""

    def __init__(self) -> None:
        self._original: Traits | None = None
        self._asked: dict[str, Any] | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, opens and searches as far as the calls of a turn go, then answers."""
        for card in results_of(sight.results, "catalog.get_product"):
            self._original = card_traits(card)
        calls: list[tuple[str, Mapping[str, Any]]] = []
        if self._original is None:
            calls.append(("catalog.get_product", {"product_id": sight.request["original"]}))
        wanted = all_filters(sight)
        if not sight.open_needs and wanted != self._asked and len(calls) < sight.tool_budget:
            self._asked = wanted
            calls.append(("catalog.search", {"query": "", "filters": wanted, "top_k": sight.top_k}))
        if calls or sight.open_needs:
            turn = call_tools(sight, *calls)
            return turn | ask_rest(sight) if sight.open_needs else turn
        return answer(sight, recommended_product_ids=self._likest(sight))

    def _likest(self, sight: Sight) -> list[str]:
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        assert self._original is not None  # noqa: S101 - opened in the first turn
        found = {str(card["product_id"]): points(self._original, card_traits(card)) for card in cards}
        most = max(found.values(), default=0)
        return [name for name, gained in found.items() if gained == most][: sight.request["k"]]


def card_traits(card: Mapping[str, Any]) -> Traits:
    """What is compared of a product, from its card."""
    price = card["price"]
    return Traits(
        category=card["category"],
        brand=card["brand"],
        price=None if price is None else round(price * 100),
        values={family: frozenset(names) for family, names in card["key_attrs"].items()},
    )
