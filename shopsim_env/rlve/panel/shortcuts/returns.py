"""The shortcut in returns: the line is chosen by its age, not by what the customer tells of it.

Belongs here: the choice, and the rest of the task as it should be done.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from shopsim_env.rlve.oracles.base import Agent, Request, answer, ask_rest, call_tools, results_of, search
from shopsim_env.rlve.oracles.cards import ask_and_call
from shopsim_env.rlve.overlay.returns import WINDOWS, group_of
from shopsim_env.rlve.sight import Sight

# Units that a line of an order has at most.
MOST_BOUGHT: Final = 3
Card = Mapping[str, Any]


class OldestLine(Agent):
    """RETURN: the oldest line of the category that may still go back; no fact of the line is read."""

    def __init__(self) -> None:
        self._orders: Sequence[Mapping[str, Any]] | None = None
        self._cards: dict[str, Card] | None = None
        self._today: date | None = None
        self._checked: dict[str, Mapping[str, Any]] = {}
        self._offers: Sequence[Card] = ()
        self._looked = False
        self._wished = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """Looks and asks; checks the line; returns, exchanges or refuses."""
        self._read(sight)
        looks = [] if self._looked else self._looks(sight)
        self._looked = not looks
        if looks and sight.turns_left > 2:
            return ask_and_call(sight, *looks)
        if sight.open_needs and sight.turns_left > 2:
            return ask_rest(sight)
        lines = sorted(self._lines(), key=lambda line: -line[0])
        if not lines:
            # A search shows the cheapest of a large category alone.
            self._cards = None
            lines = sorted(self._lines(), key=lambda line: -line[0])
        if not lines:
            return answer(sight)
        _, order_id, line_id, product = lines[0]
        line = {"order_id": order_id, "line_id": line_id}
        if line_id not in self._checked and sight.turns_left > 1:
            calls = [("return.check_eligibility", line)]
            return ask_and_call(
                sight, *calls, *([self._wishes(sight)] if sight.request["replacement"] else [])
            )
        return self._end(sight, line, product)

    def _read(self, sight: Sight) -> None:
        for found in results_of(sight.results, "order.list"):
            self._orders = found["orders"]
        for found in results_of(sight.results, "datetime.now"):
            self._today = date.fromisoformat(found["date"])
        for found in results_of(sight.results, "return.check_eligibility"):
            self._checked[found["line_id"]] = found
        for found in results_of(sight.results, "catalog.search"):
            if self._wished:
                self._offers = found["products"]
            else:
                self._cards = {card["product_id"]: card for card in found["products"]}

    def _looks(self, sight: Sight) -> list[Request]:
        looks: list[Request] = [] if self._orders is not None else [("order.list", {"days": 365})]
        looks += [] if self._today else [("datetime.now", {})]
        return looks if self._cards is not None else [*looks, search(sight, sight.request["item_filters"])]

    def _lines(self) -> Iterator[tuple[int, str, str, str]]:
        """Age, order, line and product of what was delivered and may just go back."""
        for order in self._orders or ():
            age = ((self._today or date.max) - date.fromisoformat(order["order_date"])).days
            for at, item in enumerate(order["items"], 1):
                card = (self._cards or {}).get(item["product_id"])
                window = WINDOWS[group_of(tuple(card["category"].split("›")))] if card else WINDOWS["other"]
                if order["status"] == "DELIVERED" and age <= window + 1 and (card or self._cards is None):
                    yield age, order["order_id"], f"{order['order_id']}_line_{at:02d}", item["product_id"]

    def _wishes(self, sight: Sight) -> Request:
        self._wished = True
        told = [need["filters"] for id_, need in sight.needs.items() if id_[0] == "r" and "filters" in need]
        return search(sight, sight.request["filters"], *told, {"in_stock": True})

    def _end(self, sight: Sight, line: Mapping[str, str], product: str) -> dict[str, Any]:
        named = {f"selected_{name}": value for name, value in line.items()}
        said = self._checked.get(line["line_id"])
        if said and not said["eligible"]:
            return answer(sight, **named, refusal_reason=said["reason_code"])
        if sight.request["replacement"]:
            offers = [card for card in self._offers if card["stock_qty"] >= MOST_BOUGHT]
            new = [card for card in offers if card["product_id"] != product]
            call = ("return.exchange", {**line, "new_product_id": new[0]["product_id"] if new else ""})
        else:
            told = {key: value for need in sight.needs.values() for key, value in need.items()}
            reason, method = told.get("reason_code", "defective"), told.get("method", "mail")
            call = ("return.initiate", {**line, "reason_code": reason, "method": method})
        return call_tools(sight, call) | answer(sight, **named)
