"""Cheaters: policies that look for reward without doing the task. None may beat chance.

Belongs here: the panel. A cheater may use tools and read everything; what makes it one is that it does not
find out what the customer wants.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.oracles.base import Agent, all_filters, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.panel.blind import BlindGuess
from shopsim_env.rlve.sight import Sight

_LONGEST_QUERY: Final = 200
_NOTHING_BUT_DIGITS: Final = "p_0000000000"


class AnswerAtOnce(Agent):
    """Ends the episode with an empty answer."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """The empty answer."""
        return answer(sight)


class NoOp(Agent):
    """Says something and does nothing until the turns are over."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """An idle message."""
        return {"assistant_message": "好的。" if sight.language == "zh" else "Okay."}


class Stall(Agent):
    """Asks the same question for ever."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """The question."""
        return ask_rest(sight)


class ConstantId(Agent):
    """Answers with an id that never changes."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """The same answer to everything."""
        return answer(
            sight,
            recommended_product_ids=[_NOTHING_BUT_DIGITS],
            selected_order_id="ord_001",
            selected_line_id="ord_001_line_01",
            order_status="DELIVERED",
        )


class MinusThirty(Agent):
    """Answers every question with -30."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """The published weak spot of policy answers."""
        return answer(sight, policy_answer={"kind": "days", "value": -30}, policy_rule_id="R-0000")


class NotANumber(Agent):
    """Answers with NaN, as text that some JSON readers take."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """A turn with a NaN in it."""
        return answer(sight, policy_answer={"kind": "days", "value": float("nan")}, policy_rule_id="R-0000")


class _Looking(Agent):
    """Looks once at what the shop shows without a question to the customer, then acts, then answers.

    Args:
        draws: For those that guess.
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._looked = False
        self._acted = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """Looks, acts, answers."""
        if not self._looked:
            self._looked = True
            return call_tools(sight, self._look(sight))
        if not self._acted:
            self._acted = True
            self._seen = sight.results
            calls = self._calls(sight)
            if calls:
                return call_tools(sight, *calls[: sight.tool_budget])
        return answer(sight, **self._values(sight))

    def _look(self, sight: Sight) -> tuple[str, Mapping[str, Any]]:
        if sight.env_id == "CART":
            return "user.get_visit_history", {}
        if sight.env_id in ("RETURN", "STATUS"):
            return "order.list", {"days": 365}
        if sight.env_id == "POLICY":
            return "policy.search", {"query": sight.message[:_LONGEST_QUERY], "top_k": 20}
        return "catalog.search", {"query": sight.message[:_LONGEST_QUERY], "top_k": sight.top_k}

    def _products(self) -> list[str]:
        shown = [
            *results_of(self._seen, "catalog.search"),
            *results_of(self._seen, "user.get_visit_history"),
        ]
        return [card["product_id"] for result in shown for card in result["products"]]

    def _orders(self) -> list[Mapping[str, Any]]:
        return [order for result in results_of(self._seen, "order.list") for order in result["orders"]]

    def _snippets(self) -> list[Mapping[str, Any]]:
        return [item for result in results_of(self._seen, "policy.search") for item in result["snippets"]]

    def _choose(self, items: list[Any]) -> Any:
        """Which of the things that are shown."""
        return items[0]

    def _calls(self, sight: Sight) -> list[tuple[str, Mapping[str, Any]]]:
        products = self._products()
        if sight.env_id == "CART" and products:
            return [("cart.add", {"product_id": self._choose(products)})]
        return []

    def _values(self, sight: Sight) -> dict[str, Any]:
        products, orders, snippets = self._products(), self._orders(), self._snippets()
        values: dict[str, Any] = {}
        if products and sight.env_id != "CART":
            values["recommended_product_ids"] = [self._choose(products)]
        if orders:
            chosen = self._choose(orders)
            values["selected_order_id"] = chosen["order_id"]
            values["order_status"] = chosen["status"]
        if snippets:
            chosen = self._choose(snippets)
            values["policy_answer"] = chosen["rule"]["outcome"]
            values["policy_rule_id"] = chosen["snippet_id"]
        return values


class FirstHit(_Looking):
    """Takes the first thing that the customer's own words bring up."""


class RandomId(_Looking):
    """Takes any of the things that are shown."""

    def _choose(self, items: list[Any]) -> Any:
        return self._draws.pick(items)


class CheckoutThenAnswer(FirstHit):
    """Buys the first thing, so that the cart is empty at the end."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws)
        self._viewed = False
        self._bought = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the first hit; before the answer it reads the ids for the checkout and buys."""
        if not self._acted or self._bought:
            return super().act(sight)
        if not self._viewed:
            self._viewed = True
            return call_tools(sight, ("cart.view", {}))
        self._bought = True
        (cart,) = results_of(sight.results, "cart.view")
        ids = {name: cart[name] for name in ("shipping_address_id", "payment_method_id")}
        turn = call_tools(sight, ("order.checkout", ids))
        return turn | answer(sight, **self._values(sight)) if sight.turns_left == 1 else turn


class RepeatBest(Agent):
    """Fills the list with one good product, over and over."""

    def __init__(self) -> None:
        self._searched = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """Searches with what was said, and repeats the first hit."""
        if not self._searched:
            self._searched = True
            arguments = {"query": "", "filters": all_filters(sight), "top_k": sight.top_k}
            return call_tools(sight, ("catalog.search", arguments))
        cards = [
            card for result in results_of(sight.results, "catalog.search") for card in result["products"]
        ]
        return answer(sight, recommended_product_ids=[card["product_id"] for card in cards[:1]] * 10)


class GuessVariants(_Looking):
    """Puts visited products into the cart, in a variant that was not asked for."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws)
        self._stage = 0

    def act(self, sight: Sight) -> dict[str, Any]:
        """Looks at the history, opens one product's variants, adds one of them."""
        if sight.env_id != "CART" or self._stage == 0:
            self._stage = 1
            return super().act(sight)
        if self._stage == 1:
            self._stage, self._seen = 2, sight.results
            self._target = self._draws.pick(self._products())
            return call_tools(sight, ("catalog.get_variants", {"product_id": self._target}))
        if self._stage == 2:
            self._stage = 3
            found = results_of(sight.results, "catalog.get_variants")[0]["variants"]
            chosen = {"variant_id": self._draws.pick(found)["variant_id"]} if found else {}
            return call_tools(sight, ("cart.add", {"product_id": self._target, **chosen}))
        return answer(sight)


class ReturnAnyLine(_Looking):
    """Returns a line of whatever order, for whatever reason."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws)
        self._stage = 0

    def act(self, sight: Sight) -> dict[str, Any]:
        """Lists the orders, opens one, returns one of its lines."""
        if sight.env_id != "RETURN" or self._stage == 0:
            self._stage = 1
            return super().act(sight)
        if self._stage == 1:
            self._stage, self._seen = 2, sight.results
            self._order = self._draws.pick(self._orders())["order_id"]
            return call_tools(sight, ("order.get_status", {"order_id": self._order}))
        if self._stage == 2:
            self._stage = 3
            self._line = self._draws.pick(results_of(sight.results, "order.get_status")[0]["lines"])[
                "line_id"
            ]
            arguments = {
                "order_id": self._order,
                "line_id": self._line,
                "reason_code": "defective",
                "method": "mail",
            }
            return call_tools(sight, ("return.initiate", arguments))
        return answer(sight, selected_order_id=self._order, selected_line_id=self._line)


CHEATERS: Final[Mapping[str, Callable[[Draws], Agent]]] = {
    "no-op": lambda _: NoOp(),
    "answer at once": lambda _: AnswerAtOnce(),
    "stall with questions": lambda _: Stall(),
    "constant id": lambda _: ConstantId(),
    "random id": RandomId,
    "first hit": FirstHit,
    "repeat best id": lambda _: RepeatBest(),
    "guess variants": GuessVariants,
    "checkout then answer": CheckoutThenAnswer,
    "return any line": ReturnAnyLine,
    "blind guess": BlindGuess,
    "-30": lambda _: MinusThirty(),
    "NaN": lambda _: NotANumber(),
}
