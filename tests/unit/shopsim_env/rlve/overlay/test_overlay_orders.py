"""Order books: shape, ids, status against age, delivery against status, planned orders, refusals."""

from datetime import date, timedelta
from typing import Any

import pytest
from rlve_shop import SIZE

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import STATUSES, Account, Order, OrderBook, Plan, order_book, simulated_today
from shopsim_env.rlve.shelf import Shelf

TODAY = date(2026, 3, 31)
PRICED = range(1, SIZE)
ACCOUNT = Account("addr_1", "pay_1")


def book(shelf: Shelf, seed: int, count: int = 4, **more: Any) -> OrderBook:
    return order_book(
        shelf, more.pop("numbers", PRICED), Draws("b", seed), TODAY, count, account=ACCOUNT, **more
    )


def check(order: Order) -> None:
    age = (TODAY - order.date).days
    oldest = {"CONFIRMED": 2, "SHIPPED": 5, "IN_TRANSIT": 10, "DELIVERED": 90, "CANCELLED": 90}
    assert 0 <= age <= oldest[order.status]
    if order.status == "CANCELLED":
        assert order.eta is None
    elif order.status == "DELIVERED":
        assert order.eta is not None
        assert order.date < order.eta <= TODAY
    else:
        assert order.eta is not None
        assert order.eta > TODAY
    assert (order.tracking is None) == (order.status in ("CONFIRMED", "CANCELLED"))
    assert (order.address_id, order.payment_id) == ("addr_1", "pay_1")


def test_books_are_plausible_and_have_the_lines_asked_for(shelf: Shelf) -> None:
    statuses = set()
    for seed in range(60):
        found = book(shelf, seed, least_lines=8)
        dates = [order.date for order in found.orders]
        assert dates == sorted(dates, reverse=True), "newest first"
        assert [order.id for order in found.orders] == ["ord_004", "ord_003", "ord_002", "ord_001"]
        lines = [line for order in found.orders for line in order.lines]
        assert len(lines) >= 8
        assert len({line.number for line in lines}) == len(lines), "a product is in one line"
        for order in found.orders:
            check(order)
            statuses.add(order.status)
            assert 1 <= len(order.lines) <= 5
            for place, line in enumerate(order.lines, 1):
                assert line.id == f"{order.id}_line_{place:02d}"
                assert (line.title, line.unit_price) == (
                    shelf.item(line.number).title,
                    900 + 100 * line.number,
                )
                assert 1 <= line.quantity <= 3
    assert statuses == set(STATUSES)


def test_a_book_is_a_function_of_its_draws(shelf: Shelf) -> None:
    assert book(shelf, 3).orders == book(shelf, 3).orders
    assert book(shelf, 3).orders != book(shelf, 4).orders


def test_planned_orders_are_there(shelf: Shelf) -> None:
    found = book(shelf, 1, count=3, plans=[Plan("DELIVERED", 15), Plan("IN_TRANSIT", 2)])
    delivered, moving = (found.order(name) for name in found.planned)
    assert delivered is not None
    assert moving is not None
    assert (delivered.status, delivered.date) == ("DELIVERED", date(2026, 3, 16))
    assert (moving.status, moving.date) == ("IN_TRANSIT", date(2026, 3, 29))
    assert found.line(delivered.id, delivered.lines[0].id) == delivered.lines[0]
    assert found.line("ord_009", "x") is None


def test_few_products_are_enough_or_refused(shelf: Shelf) -> None:
    found = book(shelf, 1, count=3, numbers=[5, 6, 7])
    assert sorted(line.number for order in found.orders for line in order.lines) == [5, 6, 7]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"numbers": [5, 6]}, "bad_order_book"),
        ({"least_lines": 16}, "bad_order_book"),
        ({"plans": [Plan("DELIVERED", 9)] * 4}, "bad_order_book"),
        ({"numbers": [SIZE, SIZE, SIZE]}, "no_price"),
    ]
    for more, code in wrong:
        with pytest.raises(UsageError) as caught:
            book(shelf, 1, count=3, **more)
        assert caught.value.code == code


@pytest.mark.parametrize(("status", "age"), [("LOST", 1), ("CONFIRMED", 3), ("DELIVERED", 2)])
def test_impossible_plans_are_refused(status: str, age: int) -> None:
    with pytest.raises(UsageError) as caught:
        Plan(status, age)
    assert caught.value.code == "bad_plan"


def test_today_is_drawn_from_2026() -> None:
    days = {simulated_today(Draws("d", seed)) for seed in range(200)}
    assert len(days) > 100
    assert {day.year for day in days} == {2026}
    assert simulated_today(Draws("d", 1)) == simulated_today(Draws("d", 1))
    assert date(2026, 1, 1) + timedelta(days=364) == date(2026, 12, 31)
