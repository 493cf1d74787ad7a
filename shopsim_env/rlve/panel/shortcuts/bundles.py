"""Shortcuts in bundles.

Belongs here: agents that leave out wishes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shopsim_env.rlve.oracles.base import Agent, answer, call_tools, results_of, search
from shopsim_env.rlve.oracles.bundle import BundleOracle
from shopsim_env.rlve.sight import Sight

Card = Mapping[str, Any]


class Cheap(Agent):
    """BUNDLE: of each category one of the cheapest, by its place in the order of prices; no wish is read."""

    def __init__(self, place: int) -> None:
        self._place = place
        self._found: list[list[Card]] = []

    def act(self, sight: Sight) -> dict[str, Any]:
        """Searches every category, answers."""
        for found in results_of(sight.results, "catalog.search"):
            self._found.append([card for card in found["products"] if card["price"] is not None])
        slots = sight.request["slots"][len(self._found) :][: sight.tool_budget]
        if slots:
            return call_tools(sight, *(search(sight, slot, {"in_stock": True}) for slot in slots))
        ordered = [sorted(cards, key=lambda card: card["price"]) for cards in self._found]
        taken = [cards[min(self._place, len(cards) - 1)]["product_id"] for cards in ordered if cards]
        return answer(sight, recommended_product_ids=taken)


class OneUnread(BundleOracle):
    """BUNDLE: the oracle, that leaves out one wish of the first category; the budget is not asked for."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, without the need `s0c0`."""
        needs = {name: data for name, data in sight.needs.items() if name != "s0c0"}
        return super().act(replace(sight, needs=needs))
