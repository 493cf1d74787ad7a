"""The blind guess: whole answers, drawn from what an episode offers.

Belongs here: the cheater that the forced chance describes. The others of the panel give one product or one
line, with which a list, a bundle, a cart of several products or an exchange never succeeds, whatever is
graded: only whole answers show that a goal cannot be guessed.
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.cart_items import LEAST_UNITS, MOST_UNITS
from shopsim_env.rlve.oracles.base import Agent, Request, answer, call_tools, search
from shopsim_env.rlve.overlay.returns import FEES, REASONS
from shopsim_env.rlve.sight import Sight

_IN_STOCK: Final = {"in_stock": True}


class BlindGuess(Agent):
    """Guesses everything that an answer needs but variants, which `guess variants` does.

    Of what was told it reads the request, units, reason and method.

    Args:
        draws: Its guesses.
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._looked = 0
        self._found: list[Mapping[str, Any]] = []
        self._calls: list[Request] | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Looks, one call after the other, then acts, then answers."""
        self._found += [record.result for record in sight.results if "error" not in record.result]
        looks = self._looks(sight)
        if self._looked < len(looks) and sight.turns_left > 1:
            now = looks[self._looked : self._looked + sight.tool_budget]
            self._looked += len(now)
            return call_tools(sight, *now)
        if self._calls is None:
            self._calls = self._actions(sight)
        now, self._calls = self._calls[: sight.tool_budget], self._calls[sight.tool_budget :]
        turn = call_tools(sight, *now)
        return turn if self._calls and sight.turns_left > 1 else turn | answer(sight, **self._values(sight))

    def _looks(self, sight: Sight) -> list[Request]:
        if sight.env_id in ("PD", "SUB"):
            return [search(sight, sight.request["filters"], _IN_STOCK)]
        if sight.env_id == "BUNDLE":
            return [search(sight, slot, _IN_STOCK) for slot in sight.request["slots"]]
        if sight.env_id == "CART":
            return [("user.get_visit_history", {})]
        if sight.env_id == "POLICY":
            return [("policy.search", {"query": sight.request["question"], "top_k": 20})]
        orders: list[Request] = [("order.list", {"days": 365})]
        replaced = sight.env_id == "RETURN" and sight.request["replacement"]
        return [*orders, search(sight, sight.request["filters"], _IN_STOCK)] if replaced else orders

    def _actions(self, sight: Sight) -> list[Request]:
        if sight.env_id == "CART":
            return self._cart(sight)
        if sight.env_id == "RETURN":
            return self._return(sight)
        return []

    def _cart(self, sight: Sight) -> list[Request]:
        """As many visited products in stock as are wanted, of one unit where no units were told."""
        items = range(len(sight.request["items"]))
        stocked = [card["product_id"] for card in self._found[0]["products"] if card["stock_qty"]]
        calls: list[Request] = []
        for at, name in zip(items, self._draws.sample(stocked, min(len(items), len(stocked))), strict=False):
            told = sight.needs.get(f"i{at}.units")
            several = sight.open_needs and self._draws.chance(0.5)
            guess = self._draws.between(LEAST_UNITS, MOST_UNITS) if several else 1
            calls.append(("cart.add", {"product_id": name, "quantity": told["quantity"] if told else guess}))
        return calls

    def _return(self, sight: Sight) -> list[Request]:
        """A delivered line goes back, or is exchanged for any product; told terms are kept."""
        orders = self._found[0]["orders"]
        delivered = [order for order in orders if order["status"] == "DELIVERED"] or orders
        # Lines are numbered as the items of the list.
        lines = [(order["order_id"], at) for order in delivered for at in range(1, len(order["items"]) + 1)]
        order_id, at = self._draws.pick(lines)
        self._line = {"order_id": order_id, "line_id": f"{order_id}_line_{at:02d}"}
        if sight.request["replacement"]:
            offers = self._found[1]["products"] if len(self._found) > 1 else []
            new = self._draws.pick(offers)["product_id"] if offers else ""
            return [("return.exchange", {**self._line, "new_product_id": new})]
        reason = sight.needs.get("reason", {}).get("reason_code") or self._draws.pick(REASONS)
        method = sight.needs.get("method", {}).get("method") or self._draws.pick(list(FEES))
        return [("return.initiate", {**self._line, "reason_code": reason, "method": method})]

    def _values(self, sight: Sight) -> dict[str, Any]:
        if sight.env_id in ("PD", "SUB", "BUNDLE"):
            return {"recommended_product_ids": self._listed(sight)}
        if sight.env_id == "RETURN":
            return {
                "selected_order_id": self._line["order_id"],
                "selected_line_id": self._line["line_id"],
            }
        if sight.env_id == "STATUS":
            order = self._draws.pick(self._found[0]["orders"])
            return {"selected_order_id": order["order_id"], "order_status": order["status"]}
        return self._ruled() if sight.env_id == "POLICY" else {}

    def _listed(self, sight: Sight) -> list[str]:
        """A list as long as it may be, one substitute, or one product for each slot."""
        shelves = [[card["product_id"] for card in found["products"]] for found in self._found]
        if sight.env_id == "PD":
            return self._draws.sample(shelves[0], min(sight.request["k"], len(shelves[0])))
        return [self._draws.pick(names) for names in shelves if names]

    def _ruled(self) -> dict[str, Any]:
        snippets = [hit for found in self._found for hit in found["snippets"]]
        family = snippets[0]["family"] if snippets else ""
        rules = [hit["rule"] for hit in snippets if hit["family"] == family]
        deciding = [rule for rule in rules if rule["effect"] == "decides"]
        if not deciding:
            return {}
        rule = self._draws.pick(deciding)
        return {"policy_answer": rule["outcome"], "policy_rule_id": rule["id"]}
