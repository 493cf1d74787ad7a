"""Return rules: groups by words of the category, windows to the day, one reason at a time."""

from datetime import date, timedelta

import pytest
from rlve_shop import episode

from shopsim_env.errors import UsageError
from shopsim_env.rlve.overlay import Order, OrderBook, OrderLine, eligibility
from shopsim_env.rlve.overlay.returns import decide, group_of
from shopsim_env.rlve.shelf import Shelf

TODAY = date(2026, 6, 30)


def order(status: str, age: int) -> Order:
    line = OrderLine("ord_001_line_01", 1, "t", None, 1, 1000)
    return Order("ord_001", TODAY - timedelta(days=age), status, None, None, (line,), "a", "p")


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("数码›耳机›头戴", "electronics"),
        ("厨房电器›咖啡机", "electronics"),
        ("Electronics›Coffee Machines", "electronics"),
        ("服饰›女装›衬衫", "clothing"),
        ("Clothing, Shoes & Jewelry›Men", "clothing"),
        ("住宅家具/成套家具›屏风", "furniture"),
        ("Home›Furniture", "furniture"),
        ("食品›零食›坚果", "groceries"),
        ("Grocery & Gourmet Food", "groceries"),
        ("图书›小说", "other"),
        ("Books›Foodways of Shoemakers", "other"),
    ],
)
def test_groups(path: str, group: str) -> None:
    assert group_of(tuple(path.split("›"))) == group


@pytest.mark.parametrize(
    ("group", "status", "age", "reason"),
    [
        ("electronics", "DELIVERED", 15, None),
        ("electronics", "DELIVERED", 16, "window_closed"),
        ("clothing", "DELIVERED", 30, None),
        ("furniture", "DELIVERED", 31, "window_closed"),
        ("other", "DELIVERED", 30, None),
        ("groceries", "DELIVERED", 3, "not_returnable"),
        ("electronics", "IN_TRANSIT", 40, "not_delivered"),
        ("electronics", "CONFIRMED", 0, "not_delivered"),
        ("groceries", "CANCELLED", 40, "cancelled"),
    ],
)
def test_windows_and_reasons(group: str, status: str, age: int, reason: str | None) -> None:
    found = decide(order(status, age), "ord_001_line_01", group, TODAY, ())
    assert (found.reason, found.eligible, found.days_since) == (reason, reason is None, age)
    assert found.window_days == {"electronics": 15, "groceries": 0}.get(group, 30)


def test_a_started_return_comes_first() -> None:
    line = ("ord_001", "ord_001_line_01")
    assert decide(order("CANCELLED", 1), line[1], "other", TODAY, {line}).reason == "already_returned"


def test_eligibility_in_an_episode(shelf: Shelf) -> None:
    overlay = episode(shelf)
    overlay.today = TODAY
    overlay.book = OrderBook([order("DELIVERED", 15)])
    found = eligibility(overlay, "ord_001", "ord_001_line_01")
    assert (found.eligible, found.group) == (True, "electronics")
    for names in (("ord_002", "ord_001_line_01"), ("ord_001", "x")):
        with pytest.raises(UsageError) as caught:
            eligibility(overlay, *names)
        assert caught.value.code == "unknown_order_line"
