"""Orders and returns through the tools: windows to the day, refusals, fees, exchanges."""

from datetime import date, timedelta
from typing import Any

import pytest
from rlve_shop import call, episode, shown

from shopsim_env.rlve.overlay import Order, OrderBook, OrderLine, Overlay, Variant
from shopsim_env.rlve.shelf import Shelf

TODAY = date(2026, 3, 31)
# Products 1 and 5 are electronics, 2 and 6 clothing, 3 groceries.
LINES = {"line_01": 1, "line_02": 2, "line_03": 3}


def order(name: str, status: str, age: int) -> Order:
    lines = tuple(
        OrderLine(f"{name}_{line}", number, f"t{number}", None, 2, 900 + 100 * number)
        for line, number in LINES.items()
    )
    return Order(name, TODAY - timedelta(days=age), status, TODAY, "T1", lines, "addr_1", "pay_1")


@pytest.fixture
def overlay(shelf: Shelf) -> Overlay:
    made = episode(shelf)
    made.today = TODAY
    made.book = OrderBook([order("ord_002", "IN_TRANSIT", 4), order("ord_001", "DELIVERED", 16)])
    return made


def returning(
    overlay: Overlay, tool: str, line: str, order_id: str = "ord_001", **more: Any
) -> dict[str, Any]:
    return call(overlay, f"return.{tool}", order_id=order_id, line_id=f"{order_id}_{line}", **more)


def test_the_list_holds_the_cut_off_day(overlay: Overlay) -> None:
    """Case tool-order-list-window: ordered on 1 March, 30 days back from 31 March."""
    overlay.book.orders.append(order("ord_000", "DELIVERED", 30))
    assert [item["order_id"] for item in call(overlay, "order.list")["orders"]] == [
        "ord_002",
        "ord_001",
        "ord_000",
    ]
    listed = call(overlay, "order.list", days=29)["orders"]
    assert [item["order_id"] for item in listed] == ["ord_002", "ord_001"]
    assert (listed[0]["item_count"], listed[0]["order_date"]) == (6, "2026-03-27")
    first = listed[0]["items"][0]
    assert first == {"product_id": overlay.ids.product_id(1), "title": "t1", "quantity": 2}
    assert overlay.seen.source(first["product_id"]) == "orders"


def test_the_status_has_everything(overlay: Overlay) -> None:
    found = call(overlay, "order.get_status", order_id="ord_002")
    assert found["lines"][1] == {
        "line_id": "ord_002_line_02",
        "product_id": overlay.ids.product_id(2),
        "title": "t2",
        "variant": None,
        "quantity": 2,
        "unit_price": 11,
    }
    del found["lines"]
    assert found == {
        "order_id": "ord_002",
        "status": "IN_TRANSIT",
        "order_date": "2026-03-27",
        "eta_date": "2026-03-31",
        "tracking_number": "T1",
        "shipping_address_id": "addr_1",
        "payment_method_id": "pay_1",
        "currency": "CNY",
    }
    assert call(overlay, "order.get_status", order_id="ord_7")["error"]["code"] == "order_not_found"


def test_eligibility_says_how_or_why_not(overlay: Overlay) -> None:
    yes = returning(overlay, "check_eligibility", "line_02")
    assert (yes["eligible"], yes["window_days"], yes["days_since_purchase"]) == (True, 30, 16)
    assert yes["methods"] == {"mail": 5.99, "in_store": 0, "pickup": 0}
    assert yes["reason_codes"][0] == "defective"
    for line, order_id, code in (
        ("line_01", "ord_001", "window_closed"),
        ("line_03", "ord_001", "not_returnable"),
        ("line_02", "ord_002", "not_delivered"),
    ):
        no = returning(overlay, "check_eligibility", line, order_id)
        assert (no["eligible"], no["reason_code"]) == (False, code)
        assert "methods" not in no
        refused = returning(overlay, "initiate", line, order_id, reason_code="defective", method="mail")
        assert refused["error"]["code"] == code
    assert overlay.checked == {
        *((("ord_001", f"ord_001_line_0{number}")) for number in (1, 2, 3)),
        ("ord_002", "ord_002_line_02"),
    }
    assert not overlay.returns


def test_unknown_orders_lines_reasons_and_methods(overlay: Overlay) -> None:
    good = {"reason_code": "defective", "method": "mail"}
    assert returning(overlay, "initiate", "line_02", "ord_009", **good)["error"]["code"] == "order_not_found"
    assert returning(overlay, "check_eligibility", "line_09")["error"]["code"] == "line_not_found"
    for name, code in (("reason_code", "unknown_reason"), ("method", "unknown_method")):
        assert returning(overlay, "initiate", "line_02", **{**good, name: "x"})["error"]["code"] == code
    assert not overlay.returns


@pytest.mark.parametrize(
    ("method", "fee", "label"), [("mail", 5.99, True), ("in_store", 0, False), ("pickup", 0, False)]
)
def test_fees(overlay: Overlay, method: str, fee: float, label: bool) -> None:
    """Case tool-return-fee."""
    made = returning(overlay, "initiate", "line_02", reason_code="too_large", method=method)
    assert (made["return_id"], made["status"], made["fee"]) == ("ret_001", "INITIATED", fee)
    assert ("label_url" in made) == label
    again = returning(overlay, "initiate", "line_02", reason_code="too_large", method=method)
    assert again["error"]["code"] == "already_returned"
    assert overlay.returned() == {("ord_001", "ord_001_line_02")}


def test_an_exchange_starts_a_return_or_completes_one(overlay: Overlay) -> None:
    new = shown(overlay, 6)
    made = returning(overlay, "exchange", "line_02", new_product_id=new)
    assert made == {
        "exchange_id": "exc_001",
        "return_id": "ret_001",
        "order_id": "ord_001",
        "line_id": "ord_001_line_02",
        "old_product_id": overlay.ids.product_id(2),
        "old_product_title": "t2",
        "new_product_id": new,
        "new_product_title": "item5 widget odd",
        "new_variant_id": None,
        "status": "EXCHANGE_INITIATED",
    }
    assert overlay.stock.units(6) == 3
    assert (
        returning(overlay, "exchange", "line_02", new_product_id=new)["error"]["code"] == "already_returned"
    )
    overlay.book.orders.append(order("ord_000", "DELIVERED", 20))
    returning(overlay, "initiate", "line_02", "ord_000", reason_code="defective", method="pickup")
    second = returning(overlay, "exchange", "line_02", "ord_000", new_product_id=new)
    assert (second["exchange_id"], second["return_id"]) == ("exc_002", "ret_002")
    assert [item.new for item in overlay.exchanges] == [6, 6]
    assert len(overlay.returns) == 2


def test_checkout_is_refused_for_units_that_an_exchange_took(overlay: Overlay) -> None:
    new = shown(overlay, 6)
    overlay.variants[6] = (Variant("v_one", "color", 1, "black", 950, 5),)
    call(overlay, "cart.add", product_id=new, variant_id="v_one", quantity=4)
    returning(overlay, "exchange", "line_02", new_product_id=new, new_variant_id="v_one")
    account = overlay.account
    ids = {"shipping_address_id": account.address_id, "payment_method_id": account.payment_id}
    assert call(overlay, "order.checkout", **ids)["error"]["code"] == "insufficient_stock"
    call(overlay, "cart.set_quantity", line_id="line_001", quantity=3)
    assert call(overlay, "order.checkout", **ids)["status"] == "CONFIRMED"
    assert overlay.stock.units(6) == 0


def test_exchanges_are_refused_for_goods_and_lines_that_do_not_fit(overlay: Overlay) -> None:
    new, empty, varied = shown(overlay, 6), shown(overlay, 10), shown(overlay, 7)
    overlay.variants[7] = (Variant("v_one", "color", 1, "black", 950, 1),)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("line_02", {"new_product_id": "x"}, "product_not_found"),
        ("line_02", {"new_product_id": empty}, "insufficient_stock"),
        ("line_02", {"new_product_id": varied}, "variant_required"),
        ("line_02", {"new_product_id": varied, "new_variant_id": "v_one"}, "insufficient_stock"),
        ("line_01", {"new_product_id": new}, "window_closed"),
    ]
    for line, more, code in cases:
        assert returning(overlay, "exchange", line, **more)["error"]["code"] == code
    assert not overlay.returns
    assert not overlay.exchanges
    assert list(overlay.exchanged) == ["x", empty, varied, new]
