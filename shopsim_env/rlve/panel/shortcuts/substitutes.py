"""Shortcuts in substitution.

Belongs here: agents that leave out wishes, or the original.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from shopsim_env.rlve.choosing.likeness import points
from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools, results_of, search
from shopsim_env.rlve.oracles.substitution import SubstitutionOracle, card_traits
from shopsim_env.rlve.sight import Sight

Card = Mapping[str, Any]


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


class Likest(Agent):
    """SUB: the likest of the category, or of what meets all wishes but the first; ties go to the cheapest."""

    def __init__(self, wishes: bool = False) -> None:
        self._wishes = wishes
        self._original: Card | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Opens the original, searches, answers."""
        for card in results_of(sight.results, "catalog.get_product"):
            self._original = card
        if self._original is None:
            return call_tools(sight, ("catalog.get_product", {"product_id": sight.request["original"]}))
        if self._wishes and sight.open_needs:
            return ask_rest(sight)
        found = results_of(sight.results, "catalog.search")
        if not found:
            told = [need["filters"] for need in sight.needs.values() if "filters" in need]
            wanted = told[1:] if self._wishes else []
            return call_tools(sight, search(sight, sight.request["filters"], *wanted, {"in_stock": True}))
        traits, own = card_traits(self._original), self._original["product_id"]
        cards = [card for card in found[0]["products"] if card["product_id"] != own]
        likest = max(
            cards,
            key=lambda card: (points(traits, card_traits(card)), -(card["price"] or 0)),
            default=None,
        )
        return answer(sight, recommended_product_ids=[likest["product_id"]] if likest else [])


class FirstFitting(SubstitutionOracle):
    """SUB: the cheapest that meets all wishes; the original is not looked at."""

    def _likest(self, sight: Sight) -> list[str]:
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        return [card["product_id"] for card in cards[:1]]
