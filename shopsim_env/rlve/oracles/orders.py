"""Finding an order, or a line of one, from what the customer told: shared by the oracles of returns and status.

Belongs here: which calls are still needed, and what fits. The plan is the one by which `envs.told_orders` counts
turns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.oracles.base import results_of
from shopsim_env.rlve.oracles.cards import card_meets
from shopsim_env.rlve.sight import Sight

Found = tuple[str, str | None]
Request = tuple[str, Mapping[str, Any]]
_WHOLE_HISTORY = {"days": 365}


class OrderFinder:
    """Remembers what the tools said of orders; asked again after every turn.

    Args:
        lines: Whether a line is looked for rather than an order.
    """

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._orders: list[Mapping[str, Any]] | None = None
        self._opened: dict[str, Mapping[str, Any]] = {}
        self._cards: dict[str, Mapping[str, Any]] = {}

    def read(self, records: Sequence[ToolRecord]) -> None:
        """Takes down what the calls gave."""
        for result in results_of(records, "order.list"):
            self._orders = result["orders"]
        for result in results_of(records, "order.get_status"):
            self._opened[result["order_id"]] = result
        for result in results_of(records, "catalog.get_product"):
            self._cards[result["product_id"]] = result

    def status(self, order_id: str) -> str:
        """Status of a listed order."""
        return next(str(order["status"]) for order in self._orders or () if order["order_id"] == order_id)

    def quantity(self, found: Found) -> int:
        """Units of a line of an opened order."""
        return next(
            line["quantity"] for line in self._opened[found[0]]["lines"] if line["line_id"] == found[1]
        )

    def product(self, found: Found) -> str:
        """Product id of a line of an opened order."""
        return next(
            str(line["product_id"]) for line in self._opened[found[0]]["lines"] if line["line_id"] == found[1]
        )

    def calls(self, sight: Sight) -> list[Request]:
        """The calls that are needed next; none when `found` knows."""
        if self._orders is None:
            return [("order.list", _WHOLE_HISTORY)]
        orders = self._of_date(sight)
        if self._opens(sight, orders):
            unread = [order["order_id"] for order in orders if order["order_id"] not in self._opened]
            if unread:
                return [("order.get_status", {"order_id": id_}) for id_ in unread]
        left = self._of_money(sight, orders)
        if len(left) > 1:
            unknown = dict.fromkeys(name for _, names in left for name in names if name not in self._cards)
            if unknown:
                return [("catalog.get_product", {"product_id": name}) for name in unknown]
            left = self._of_goods(sight, left)
        order_id = left[0][0][0]
        if self._lines and order_id not in self._opened:
            return [("order.get_status", {"order_id": order_id})]
        return []

    def found(self, sight: Sight) -> Found:
        """Order and line id of what the told facts fit; the line is None when an order is looked for."""
        left = self._of_money(sight, self._of_date(sight))
        if len(left) > 1:
            left = self._of_goods(sight, left)
        (order_id, line_id), names = left[0]
        if self._lines and line_id is None:
            lines = self._opened[order_id]["lines"]
            line_id = next(line["line_id"] for line in lines if line["product_id"] == names[0])
        return order_id, line_id

    def _of_date(self, sight: Sight) -> list[Mapping[str, Any]]:
        told = _told(sight, "date")
        id_ = _told(sight, "order_id")
        return [
            order
            for order in self._orders or ()
            if (told is None or order["order_date"] == told) and (id_ is None or order["order_id"] == id_)
        ]

    def _opens(self, sight: Sight, orders: Sequence[Mapping[str, Any]]) -> bool:
        """Whether orders are opened for their prices or lines."""
        if self._lines and len(orders) == 1:
            return True
        several = sum(len(order["items"]) for order in orders) if self._lines else len(orders)
        return several > 1 and (_told(sight, "unit_price") is not None or _told(sight, "total") is not None)

    def _of_money(self, sight: Sight, orders: Sequence[Mapping[str, Any]]) -> list[tuple[Found, list[str]]]:
        """What the told price fits, with the products of each; without a price all of it."""
        return [one for order in orders for one in self._entries(sight, order)]

    def _entries(self, sight: Sight, order: Mapping[str, Any]) -> Iterator[tuple[Found, list[str]]]:
        opened = self._opened.get(order["order_id"])
        if not self._lines:
            total = _told(sight, "total")
            if total is None or opened is None or _hundredths(_total(opened)) == _hundredths(total):
                yield (order["order_id"], None), [item["product_id"] for item in order["items"]]
        elif opened is None:
            yield from (((order["order_id"], None), [item["product_id"]]) for item in order["items"])
        else:
            price = _told(sight, "unit_price")
            for line in opened["lines"]:
                if price is None or _hundredths(line["unit_price"]) == _hundredths(price):
                    yield (order["order_id"], line["line_id"]), [line["product_id"]]

    def _of_goods(
        self, sight: Sight, left: Sequence[tuple[Found, list[str]]]
    ) -> list[tuple[Found, list[str]]]:
        wanted = [sight.request.get("item_filters", {})]
        wanted += [
            need["filters"] for id_, need in sight.needs.items() if id_.startswith("d") and "filters" in need
        ]
        return [
            (found, names)
            for found, names in left
            if all(any(card_meets(self._cards[name], filters) for name in names) for filters in wanted)
        ]


def _told(sight: Sight, name: str) -> Any:
    return next((need[name] for need in sight.needs.values() if name in need), None)


def _total(order: Mapping[str, Any]) -> float:
    return sum(_hundredths(line["unit_price"]) * line["quantity"] for line in order["lines"]) / 100


def _hundredths(amount: float) -> int:
    return round(amount * 100)
