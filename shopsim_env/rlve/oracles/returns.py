"""The oracle of returns: finds the line, asks the shop whether it may go back, returns or exchanges it, or says why not.

Belongs here: its plan. Finding the line is in `orders`.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, results_of
from shopsim_env.rlve.oracles.cards import ask_and_call
from shopsim_env.rlve.oracles.orders import Found, OrderFinder
from shopsim_env.rlve.sight import Sight

Request = tuple[str, Mapping[str, Any]]


class ReturnOracle(Agent):
    """Plays RETURN."""

    def __init__(self) -> None:
        self._finder = OrderFinder(lines=True)
        self._listed = False
        self._checked: dict[str, Mapping[str, Any]] = {}
        self._offers: list[Mapping[str, Any]] | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Lists and asks; finds, checks and searches; acts and answers."""
        self._read(sight)
        if sight.open_needs and self._listed:
            return ask_rest(sight)
        calls = self._finder.calls(sight)
        self._listed = True
        if calls:
            return ask_and_call(sight, *calls)
        found = self._finder.found(sight)
        calls = self._preparation(sight, found)
        return ask_and_call(sight, *calls) if calls else self._end(sight, found)

    def _read(self, sight: Sight) -> None:
        self._finder.read(sight.results)
        for result in results_of(sight.results, "return.check_eligibility"):
            self._checked[result["line_id"]] = result
        for result in results_of(sight.results, "catalog.search"):
            self._offers = result["products"]

    def _preparation(self, sight: Sight, found: Found) -> list[Request]:
        calls: list[Request] = []
        if found[1] not in self._checked:
            calls.append(("return.check_eligibility", {"order_id": found[0], "line_id": found[1]}))
        if sight.request["replacement"] and self._offers is None:
            wishes = [
                need["filters"]
                for id_, need in sight.needs.items()
                if id_.startswith("r") and "filters" in need
            ]
            filters = merge_filters([sight.request["filters"], *wishes, {"in_stock": True}])
            calls.append(("catalog.search", {"query": "", "filters": filters, "top_k": sight.top_k}))
        return calls

    def _end(self, sight: Sight, found: Found) -> dict[str, Any]:
        order_id, line_id = found
        named = {"selected_order_id": order_id, "selected_line_id": line_id}
        checked = self._checked[str(line_id)]
        if not checked["eligible"]:
            return answer(sight, **named, refusal_reason=checked["reason_code"])
        line = {"order_id": order_id, "line_id": line_id}
        if sight.request["replacement"]:
            call = ("return.exchange", {**line, "new_product_id": self._offer(found)})
        else:
            reason, method = sight.needs["reason"]["reason_code"], sight.needs["method"]["method"]
            call = ("return.initiate", {**line, "reason_code": reason, "method": method})
        return {**ask_and_call(sight, call), **answer(sight, **named)}

    def _offer(self, found: Found) -> str:
        """A product that meets the wishes, is not the returned one, and is there as often as it was bought."""
        returned, units = self._finder.product(found), self._finder.quantity(found)
        return next(
            str(card["product_id"])
            for card in self._offers or ()
            if card["product_id"] != returned and card["stock_qty"] >= units
        )
