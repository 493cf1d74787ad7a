"""Orders of the customer: the history that an episode starts with, and those placed in it.

Belongs here: orders, lines, and the drawing of a plausible history (status by age, delivery date by status).
What may be returned is in `returns`.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.shelf import Shelf

CONFIRMED, SHIPPED, IN_TRANSIT, DELIVERED, CANCELLED = (
    *("CONFIRMED", "SHIPPED", "IN_TRANSIT"),
    *("DELIVERED", "CANCELLED"),
)
STATUSES: Final = (CONFIRMED, SHIPPED, IN_TRANSIT, DELIVERED, CANCELLED)
# Hundredths of the orders, as published; and the ages in days that a status can have.
_SHARES: Final = {CONFIRMED: 10, SHIPPED: 15, IN_TRANSIT: 20, DELIVERED: 45, CANCELLED: 10}
_HUNDRED: Final = tuple(status for status, share in _SHARES.items() for _ in range(share))
AGES: Final = {
    CONFIRMED: (0, 2),
    SHIPPED: (1, 5),
    IN_TRANSIT: (2, 10),
    DELIVERED: (3, 90),
    CANCELLED: (0, 90),
}
MOST_LINES: Final = 5
MOST_BOUGHT: Final = 3
_DAYS_OF_YEAR: Final = 365


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One line of an order: product number, its title, units and price of one in hundredths."""

    id: str
    number: int
    title: str
    variant: str | None
    quantity: int
    unit_price: int


@dataclass(frozen=True, slots=True)
class Order:
    """An order. `eta` is the day of delivery, also a past one; None for a cancelled order."""

    id: str
    date: datetime.date
    status: str
    eta: datetime.date | None
    tracking: str | None
    lines: tuple[OrderLine, ...]
    address_id: str
    payment_id: str

    def line(self, line_id: str) -> OrderLine | None:
        """The line with this id."""
        return next((line for line in self.lines if line.id == line_id), None)


@dataclass(frozen=True, slots=True)
class Account:
    """The customer's address and means of payment in an episode; `of` makes opaque ids."""

    address_id: str
    payment_id: str

    @classmethod
    def of(cls, draws: Draws) -> "Account":
        """The account of an episode."""
        return cls(f"addr_{draws.code('address') >> 32:08x}", f"pay_{draws.code('payment') >> 32:08x}")


@dataclass(frozen=True, slots=True)
class Plan:
    """An order that the history must hold: status, and age in days."""

    status: str
    age: int

    def __post_init__(self) -> None:
        low, high = AGES.get(self.status, (1, 0))
        if not low <= self.age <= high:
            raise UsageError(
                f"planned order: expected a status of {', '.join(STATUSES)} and an age that it can have "
                f"({AGES}), found {self.status!r} and {self.age}",
                code="bad_plan",
            )


class OrderBook:
    """Orders, the newest first.

    Args:
        orders: The history, in this order.
        planned: Ids of the orders that were planned, in order of the plans.
    """

    def __init__(self, orders: Sequence[Order] = (), planned: Sequence[str] = ()) -> None:
        self.orders: list[Order] = list(orders)
        self.planned = tuple(planned)

    def order(self, order_id: str) -> Order | None:
        """The order with this id."""
        return next((order for order in self.orders if order.id == order_id), None)

    def line(self, order_id: str, line_id: str) -> OrderLine | None:
        """A line by both ids."""
        order = self.order(order_id)
        return order.line(line_id) if order else None

    def next_id(self) -> str:
        """Id of the order that is placed next."""
        return f"ord_{len(self.orders) + 1:03d}"

    def place(self, order: Order) -> None:
        """Adds an order placed now."""
        self.orders.insert(0, order)


def simulated_today(draws: Draws) -> date:
    """The day on which an episode plays, one of 2026; never that of the clock."""
    return date(2026, 1, 1) + timedelta(days=draws.fork("today").below(_DAYS_OF_YEAR))


def order_book(
    shelf: Shelf,
    numbers: Sequence[int],
    draws: Draws,
    today: date,
    count: int,
    *,
    account: Account,
    least_lines: int = 0,
    plans: Sequence[Plan] = (),
) -> OrderBook:
    """A plausible history: `count` orders of one to five lines, each product in one line at most.

    Ids number the orders from the oldest.

    Args:
        shelf: The products.
        numbers: Products to draw from, all with a price.
        draws: Draws of this history; used up.
        today: The episode's day.
        count: Orders.
        account: Address and means of payment that all of them have.
        least_lines: Fewest lines in all orders together.
        plans: Orders that must be among them; the others are drawn.

    Raises:
        UsageError: Too few products, more plans than orders, or more lines than the orders can have
            (`bad_order_book`); a product without a price (`no_price`).

    Source: the published shares of statuses and delivery days. Change: the age follows from the status, so
    that no order of 90 days is still confirmed.
    """
    sizes = _sizes(draws, count, least_lines, len(numbers), len(plans))
    products = iter(_distinct(draws, numbers, sum(sizes)))
    drafts = [_draft(draws, plans[at] if at < len(plans) else _plan(draws), today) for at in range(count)]
    order_of = sorted(range(count), key=lambda at: (drafts[at].date, at))
    made: dict[int, Order] = {}
    for position, at in enumerate(order_of, 1):
        name = f"ord_{position:03d}"
        chosen = [next(products) for _ in range(sizes[at])]
        lines = tuple(_line(shelf, draws, name, place, number) for place, number in enumerate(chosen, 1))
        draft = drafts[at]
        made[at] = Order(name, draft.date, draft.status, draft.eta, draft.tracking, lines, *_ids(account))
    return OrderBook([made[at] for at in reversed(order_of)], [made[at].id for at in range(len(plans))])


@dataclass(frozen=True, slots=True)
class _Draft:
    date: datetime.date
    status: str
    eta: datetime.date | None
    tracking: str | None


def _ids(account: Account) -> tuple[str, str]:
    return account.address_id, account.payment_id


def _sizes(draws: Draws, count: int, least: int, products: int, plans: int) -> list[int]:
    if not max(count, least) <= products or plans > count or least > count * MOST_LINES:
        raise UsageError(
            f"order book: expected at least {max(count, least)} products for {count} orders with {least} "
            f"lines (at most {MOST_LINES} each) and {plans} plans, found {products} products",
            code="bad_order_book",
        )
    sizes = [draws.between(1, MOST_LINES) for _ in range(count)]
    while sum(sizes) > products:
        sizes[sizes.index(max(sizes))] -= 1
    while sum(sizes) < least:
        sizes[sizes.index(min(sizes))] += 1
    return sizes


def _distinct(draws: Draws, numbers: Sequence[int], count: int) -> list[int]:
    """Different products in drawn order; a long list is not copied."""
    if 2 * count > len(numbers):
        return draws.sample(numbers, count)
    found: dict[int, None] = {}
    while len(found) < count:
        found.setdefault(draws.pick(numbers))
    return list(found)


def _plan(draws: Draws) -> Plan:
    status = draws.pick(_HUNDRED)
    return Plan(status, draws.between(*AGES[status]))


def _draft(draws: Draws, plan: Plan, today: date) -> _Draft:
    ordered = today - timedelta(days=plan.age)
    tracking = f"T{draws.below(10**12):012d}" if plan.status in (SHIPPED, IN_TRANSIT, DELIVERED) else None
    return _Draft(ordered, plan.status, expected(draws, plan.status, ordered, today), tracking)


def expected(draws: Draws, status: str, ordered: date, today: date) -> date | None:
    """Day of delivery that fits a status: past for a delivered order, to come for the others."""
    if status == CANCELLED:
        return None
    if status == DELIVERED:
        return ordered + timedelta(days=draws.between(2, min(14, (today - ordered).days)))
    first, low, high = {CONFIRMED: (ordered, 5, 14), SHIPPED: (today, 2, 10), IN_TRANSIT: (today, 1, 7)}[
        status
    ]
    return first + timedelta(days=draws.between(low, high))


def _line(shelf: Shelf, draws: Draws, order_id: str, place: int, number: int) -> OrderLine:
    item = shelf.item(number)
    if item.facts.price_low is None:
        raise UsageError(
            f"order book: expected products with a price, found product {number}", code="no_price"
        )
    name = f"{order_id}_line_{place:02d}"
    return OrderLine(name, number, item.title, None, draws.between(1, MOST_BOUGHT), item.facts.price_low)
