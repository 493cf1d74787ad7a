"""The oracle of carts: reads the visit history, asks for what is open, looks up variants, adds and answers.

Belongs here: its plan. Which card a description fits is decided with `cards`.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.rlve.oracles.base import Agent, answer, results_of
from shopsim_env.rlve.oracles.cards import ask_and_call, card_meets
from shopsim_env.rlve.sight import Sight

Request = tuple[str, Mapping[str, Any]]


class CartOracle(Agent):
    """Plays CART."""

    def __init__(self) -> None:
        self._cards: list[Mapping[str, Any]] | None = None
        self._variants: dict[str, list[Mapping[str, Any]]] = {}
        self._added: set[int] = set()

    def act(self, sight: Sight) -> dict[str, Any]:
        """Reads, asks, looks up, adds; the last products are added in the turn of the answer."""
        self._read(sight)
        if self._cards is None:
            return ask_and_call(sight, ("user.get_visit_history", {}))
        lookups = self._lookups(sight)
        if lookups or sight.open_needs:
            return ask_and_call(sight, *lookups)
        items = range(len(sight.request["items"]))
        waiting = [at for at in items if at not in self._added][: sight.tool_budget]
        self._added.update(waiting)
        turn = ask_and_call(sight, *(call for at in waiting for call in self._add(sight, at)))
        return {**turn, **answer(sight)} if len(self._added) == len(items) else turn

    def _read(self, sight: Sight) -> None:
        for result in results_of(sight.results, "user.get_visit_history"):
            self._cards = result["products"]
        for result in results_of(sight.results, "catalog.get_variants"):
            self._variants[result["product_id"]] = result["variants"]

    def _fitting(self, sight: Sight, at: int) -> list[str]:
        """Visited products that what was told of an item fits."""
        filters = [sight.request["items"][at]["filters"]]
        filters += [need["filters"] for need in _needs(sight, at).values() if "filters" in need]
        return [
            str(card["product_id"])
            for card in self._cards or ()
            if card["stock_qty"] and all(card_meets(card, one) for one in filters)
        ]

    def _lookups(self, sight: Sight) -> list[Request]:
        """Needed variants that are not known; while something is open, any that may be needed."""
        wanted = [
            self._fitting(sight, at)
            for at in range(len(sight.request["items"]))
            if sight.open_needs or "variant" in _needs(sight, at)
        ]
        unknown = [name for names in sorted(wanted, key=len) for name in names if name not in self._variants]
        return [("catalog.get_variants", {"product_id": name}) for name in dict.fromkeys(unknown)]

    def _add(self, sight: Sight, at: int) -> list[Request]:
        """The call for an item: the first product that fits; there is just one when all was told."""
        names = self._fitting(sight, at)
        if not names:
            return []
        needs = _needs(sight, at)
        args: dict[str, Any] = {"product_id": names[0]}
        if "units" in needs:
            args["quantity"] = needs["units"]["quantity"]
        wanted = needs.get("variant", {}).get("variant", {})
        for row in self._variants.get(names[0], ()):
            if wanted.get(row["attribute"]) == row["value"]:
                args["variant_id"] = row["variant_id"]
        return [("cart.add", args)]


def _needs(sight: Sight, at: int) -> dict[str, Mapping[str, Any]]:
    """What was told of an item, by the last part of the needs' ids."""
    own = f"i{at}."
    return {id_.removeprefix(own): data for id_, data in sight.needs.items() if id_.startswith(own)}
