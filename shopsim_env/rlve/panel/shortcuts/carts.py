"""The shortcut in carts: any product of a category, and the customer's corrections.

Belongs here: what it reads of a correction, and its tries.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shopsim_env.rlve.oracles.base import Agent, Request, answer, call_tools, results_of
from shopsim_env.rlve.oracles.cards import ask_and_call, card_meets
from shopsim_env.rlve.sight import Sight

Card = Mapping[str, Any]


class Trial(Agent):
    """CART: puts any product of each category in, and takes out what the customer calls wrong."""

    def __init__(self) -> None:
        self._places: list[list[Card]] | None = None
        self._variants: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._lines: dict[str, str] = {}
        self._bad: set[str] = set()

    def act(self, sight: Sight) -> dict[str, Any]:
        """Reads the history, asks for variants and units, then tries."""
        self._read(sight)
        if self._places is None:
            return ask_and_call(sight, ("user.get_visit_history", {}))
        if sight.open_needs and sight.turns_left > 1:
            names = [card["product_id"] for place in self._places for card in place]
            unknown = [name for name in names if name not in self._variants]
            return ask_and_call(
                sight, *(("catalog.get_variants", {"product_id": name}) for name in dict.fromkeys(unknown))
            )
        calls = [*self._out(), *self._in(sight)]
        turn = call_tools(sight, *calls[: sight.tool_budget])
        return turn if calls and sight.turns_left > 1 else turn | answer(sight)

    def _read(self, sight: Sight) -> None:
        for found in results_of(sight.results, "user.get_visit_history"):
            cards = [card for card in found["products"] if card["stock_qty"]]
            items = sight.request["items"]
            self._places = [[card for card in cards if card_meets(card, item["filters"])] for item in items]
        for found in results_of(sight.results, "catalog.get_variants"):
            self._variants[found["product_id"]] = found["variants"]
        for record in sight.results:
            if record.name.startswith("cart.") and "error" not in record.result:
                self._lines = {line["product_id"]: line["line_id"] for line in record.result["lines"]}
        named = re.search(r"([\d.]+)元的那件|the one for ([\d.]+)", sight.message)
        if named and self._places:
            price = float((named[1] or named[2]).rstrip("."))
            cards = [card for place in self._places for card in place if card["product_id"] in self._lines]
            self._bad.update(card["product_id"] for card in cards[:] if card["price"] == price)

    def _out(self) -> list[Request]:
        return [("cart.remove", {"line_id": self._lines[name]}) for name in self._lines if name in self._bad]

    def _in(self, sight: Sight) -> list[Request]:
        calls: list[Request] = []
        taken = {name for name in self._lines if name not in self._bad}
        for at, place in enumerate(self._places or ()):
            names = [card["product_id"] for card in place]
            if not taken.isdisjoint(names):
                continue
            name = next((one for one in names if one not in self._bad), None)
            if name is not None:
                taken.add(name)
                calls.append(self._added(sight, at, name))
        return calls

    def _added(self, sight: Sight, at: int, name: str) -> Request:
        wanted = sight.needs.get(f"i{at}.variant", {}).get("variant")
        if wanted and name not in self._variants:
            return "catalog.get_variants", {"product_id": name}
        args = {"product_id": name, "quantity": sight.needs.get(f"i{at}.units", {}).get("quantity", 1)}
        rows = self._variants.get(name, ())
        fits = [row for row in rows if wanted and wanted.get(row["attribute"]) == row["value"]] or rows
        return "cart.add", {**args, "variant_id": fits[0]["variant_id"]} if fits else args
