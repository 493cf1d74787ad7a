"""Shortcuts in choosing goods, for product discovery and substitution.

Belongs here: agents that leave out a part of what decides between products.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from shopsim_env.rlve.choosing.likeness import points
from shopsim_env.rlve.oracles.base import Agent, answer, call_tools, results_of, search
from shopsim_env.rlve.oracles.discovery import DiscoveryOracle, ranked
from shopsim_env.rlve.oracles.substitution import card_traits
from shopsim_env.rlve.sight import Sight

Card = Mapping[str, Any]


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


class NoWorse(Agent):
    """SUB: the likest of what is no worse than the original in anything; no wish is read."""

    def __init__(self) -> None:
        self._original: Card | None = None
        self._filters: Iterator[Mapping[str, Any]] = iter(())

    def act(self, sight: Sight) -> dict[str, Any]:
        """Opens the original, searches with ever wider bounds, answers."""
        for card in results_of(sight.results, "catalog.get_product"):
            self._original, self._filters = card, _around(card)
        if self._original is None:
            return call_tools(sight, ("catalog.get_product", {"product_id": sight.request["original"]}))
        own = self._original["product_id"]
        hits = [card for found in results_of(sight.results, "catalog.search") for card in found["products"]]
        others = [card for card in hits if card["product_id"] != own]
        wider = next(self._filters, None)
        if not others and wider is not None and sight.turns_left > 1:
            wanted = wider if sight.turns_left > 2 else {}
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}, wanted))
        traits = card_traits(self._original)
        likest = max(others, key=lambda card: points(traits, card_traits(card)), default=None)
        return answer(sight, recommended_product_ids=[likest["product_id"]] if likest else [])


def _around(card: Card) -> Iterator[Mapping[str, Any]]:
    price = card["price"] or 0
    yield {
        "price_max": price,
        "rating_min": card["rating"],
        "rating_count_min": card["rating_count"],
        "ship_days_max": card["ship_days"],
    }
    yield {
        "price_max": round(price * 1.1, 2),
        "rating_min": max(0, card["rating"] - 0.2),
        "ship_days_max": card["ship_days"] + 1,
    }
    yield {}
