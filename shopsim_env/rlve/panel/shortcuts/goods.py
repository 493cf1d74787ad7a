"""Shortcuts in product discovery.

Belongs here: agents that leave out a part of what decides between products.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools, results_of, search
from shopsim_env.rlve.oracles.discovery import DiscoveryOracle, ranked
from shopsim_env.rlve.sight import Sight


class FirstHits(Agent):
    """PD: the cheapest of the category, in the order of the hits; no wish is read."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """Searches, answers."""
        found = results_of(sight.results, "catalog.search")
        if not found:
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}))
        cards = [card["product_id"] for card in found[0]["products"] if card["price"] is not None]
        return answer(sight, recommended_product_ids=cards[: sight.request["k"]])


class Unranked(DiscoveryOracle):
    """PD: what meets the wishes, in the order of the hits; the priorities are not read."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, but for the order."""
        found = results_of(sight.results, "catalog.search")
        if sight.open_needs or not found:
            return super().act(sight)
        cards = [card["product_id"] for card in found[0]["products"]]
        return answer(sight, recommended_product_ids=cards[: sight.request["k"]])


class WorstFirst(DiscoveryOracle):
    """PD: products that meet all wishes, the worst for the priorities first.

    No saboteur: where about as many meet them as are wanted, the right list backwards may be good enough.
    """

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, but for the order."""
        turn = super().act(sight)
        if "answer" not in turn:
            return turn
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        return answer(sight, recommended_product_ids=ranked(cards, sight)[::-1][: sight.request["k"]])


class Guessed(DiscoveryOracle):
    """PD: what meets the wishes, by weights that were not told."""

    def __init__(self, price: int, rating: int, shipping: int) -> None:
        super().__init__()
        self._weights = {"price": price, "rating": rating, "shipping": shipping}

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, that heard other weights."""
        return super().act(_told_weights(sight, self._weights))


class Unwished(Agent):
    """PD: the best by the told weights of the cheapest of the category; no wish is read."""

    def __init__(self, cheapest: int | None = None) -> None:
        self._cheapest = cheapest

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches, ranks."""
        if "priorities" not in sight.needs and sight.turns_left > 2:
            return ask_rest(sight)
        found = results_of(sight.results, "catalog.search")
        if not found:
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}))
        cards = [card for card in found[0]["products"] if card["price"] is not None]
        cards = sorted(cards, key=lambda card: card["price"])[: self._cheapest]
        return answer(sight, recommended_product_ids=ranked(cards, sight)[: sight.request["k"]])


def _told_weights(sight: Sight, weights: Mapping[str, int]) -> Sight:
    return replace(sight, needs={**sight.needs, "priorities": {"weights": weights}})
