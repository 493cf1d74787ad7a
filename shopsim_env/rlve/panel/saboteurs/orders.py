"""Saboteurs of returns and of order tracking.

Belongs here: other lines, terms, replacements, orders and statuses than the right ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shopsim_env.rlve.oracles.base import Request, answer, call_tools, results_of, search
from shopsim_env.rlve.oracles.orders import Found
from shopsim_env.rlve.oracles.returns import ReturnOracle
from shopsim_env.rlve.oracles.status import StatusOracle
from shopsim_env.rlve.overlay import STATUSES
from shopsim_env.rlve.overlay.orders import CANCELLED, DELIVERED
from shopsim_env.rlve.overlay.returns import (
    NOT_DELIVERED,
    ORDER_CANCELLED,
    REASONS,
    REFUSALS,
    WINDOW_CLOSED,
)
from shopsim_env.rlve.panel.saboteurs.base import Saboteur, Turn, wishes, with_answer, with_call
from shopsim_env.rlve.sight import Sight

# Units that a line of an order has at most.
MOST_BOUGHT: Final = 3
_REASON_OF: Final = {DELIVERED: WINDOW_CLOSED, CANCELLED: ORDER_CANCELLED} | dict.fromkeys(
    [status for status in STATUSES if status not in (DELIVERED, CANCELLED)], NOT_DELIVERED
)


class _Returning(Saboteur):
    """Spoils what is done about a line; a refusal gives it nothing to spoil."""

    def __init__(self) -> None:
        super().__init__(ReturnOracle())

    def _orders(self) -> list[Mapping[str, Any]]:
        return [order for found in results_of(self._records, "order.list") for order in found["orders"]]


class OtherLine(_Returning):
    """RETURN: another line goes back, of the same order if it has one, else of the youngest delivered."""

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        if "tool_calls" not in turn:
            return None
        args = turn["tool_calls"][0]["args"]
        lines = [line for line in self._lines() if line[1] != args["line_id"]]
        if not lines:
            return None
        order_id, line_id = min(lines, key=lambda line: line[0] != args["order_id"])
        spoilt = with_call(turn, order_id=order_id, line_id=line_id)
        return with_answer(spoilt, selected_order_id=order_id, selected_line_id=line_id)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Delivered lines, the youngest first."""
        for order in sorted(self._orders(), key=lambda order: order["order_date"], reverse=True):
            for at in range(1, len(order["items"]) + 1):
                if order["status"] == DELIVERED:
                    yield order["order_id"], f"{order['order_id']}_line_{at:02d}"


class OneLineMore(OtherLine):
    """RETURN: another line goes back too, before the right one; no answer where the shop refuses that."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Turn | None = None

    def act(self, sight: Sight) -> Turn:
        """As the oracle, but for the turn before the last."""
        if self._last is not None:
            return self._last if results_of(sight.results, "return.initiate") else answer(sight)
        return super().act(sight)

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        other = super()._spoil(sight, turn)
        if other is None:
            return None
        args = other["tool_calls"][0]["args"]
        line = {"order_id": args["order_id"], "line_id": args["line_id"]}
        self._last = turn
        return call_tools(sight, ("return.initiate", {**line, "reason_code": REASONS[0], "method": "mail"}))


class OtherReason(_Returning):
    """RETURN: the line goes back for another reason than was told."""

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        args = turn["tool_calls"][0]["args"] if "tool_calls" in turn else {}
        # Where no reason was told, any will do.
        if "reason_code" not in args or "reason" not in sight.needs:
            return None
        return with_call(turn, reason_code=next(code for code in REASONS if code != args["reason_code"]))


class OtherReplacement(_Returning):
    """RETURN: the line is exchanged for a product that does not meet the wishes."""

    def _looks(self, sight: Sight) -> Sequence[Request]:
        if not sight.request["replacement"]:
            return ()
        return [search(sight, sight.request["filters"], {"in_stock": True})]

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        args = turn["tool_calls"][0]["args"] if "tool_calls" in turn else {}
        if "new_product_id" not in args:
            return None
        returned = {item["product_id"] for order in self._orders() for item in order["items"]}
        strange = [
            card["product_id"]
            for card in self._strange(wishes(sight, "r"))
            if card["stock_qty"] >= MOST_BOUGHT and card["product_id"] not in returned
        ]
        return with_call(turn, new_product_id=strange[0]) if strange else None


class OtherRefusal(_Returning):
    """RETURN: the right line is refused for another reason than the shop's."""

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        right = turn["answer"].get("refusal_reason")
        if right is None:
            return None
        return with_answer(turn, refusal_reason=next(code for code in REFUSALS if code != right))


class Unchecked(ReturnOracle):
    """RETURN: refuses for the reason that the order's status gives, without having asked the shop."""

    def _preparation(self, sight: Sight, found: Found) -> list[Request]:
        reason = _REASON_OF[self._finder.status(found[0])]
        self._checked[str(found[1])] = {"eligible": False, "reason_code": reason}
        return super()._preparation(sight, found)


class OtherStatus(Saboteur):
    """STATUS: the right order with another status."""

    def __init__(self) -> None:
        super().__init__(StatusOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        right = turn["answer"]["order_status"]
        return with_answer(turn, order_status=next(status for status in STATUSES if status != right))


class OtherOrder(Saboteur):
    """STATUS: the right status with another order, one that has it if there is one."""

    def __init__(self) -> None:
        super().__init__(StatusOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        right, status = turn["answer"]["selected_order_id"], turn["answer"]["order_status"]
        orders = [order for found in results_of(self._records, "order.list") for order in found["orders"]]
        others = [order for order in orders if order["order_id"] != right]
        if not others:
            return None
        chosen = min(others, key=lambda order: order["status"] != status)
        return with_answer(turn, selected_order_id=chosen["order_id"])
