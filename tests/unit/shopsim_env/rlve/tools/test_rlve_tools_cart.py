"""The cart, the cases of the case file first; then stock across variants and checkout."""

from typing import Any

import pytest
from rlve_shop import SIZE, call, episode, shown

from shopsim_env.rlve.overlay import Overlay, Variant
from shopsim_env.rlve.shelf import Shelf

ONE = Variant("v_one", "color", 1, "black", 950, 4)
TWO = Variant("v_two", "color", 2, "white", 1050, 4)


@pytest.fixture
def overlay(shelf: Shelf) -> Overlay:
    made = episode(shelf)
    made.variants[1] = (ONE, TWO)
    return made


def add(overlay: Overlay, number: int, quantity: int = 1, variant: str | None = None) -> dict[str, Any]:
    return call(overlay, "cart.add", product_id=shown(overlay, number), variant_id=variant, quantity=quantity)


def test_quantity_is_one_by_default(overlay: Overlay) -> None:
    """Case tool-add-default."""
    added = call(overlay, "cart.add", product_id=shown(overlay, 2))
    assert added == {
        "lines": [
            {
                "line_id": "line_001",
                "product_id": overlay.ids.product_id(2),
                "title": "item1 widget odd",
                "variant_id": None,
                "variant": None,
                "quantity": 1,
                "unit_price": 11,
            }
        ],
        "total_items": 1,
        "total_price": 11,
        "currency": "CNY",
    }


def test_the_same_variant_shares_a_line(overlay: Overlay) -> None:
    """Case tool-add-merge."""
    add(overlay, 1, 1, "v_one")
    (line,) = add(overlay, 1, 2, "v_one")["lines"]
    assert (line["quantity"], line["variant"], line["unit_price"]) == (3, "black", 9.5)


def test_stock_is_checked(overlay: Overlay) -> None:
    """Cases tool-add-stock and tool-add-stock-accumulated."""
    assert add(overlay, 2, 6)["error"]["code"] == "insufficient_stock"
    assert not overlay.cart.lines
    add(overlay, 2, 4)
    assert add(overlay, 2, 2)["error"]["code"] == "insufficient_stock"
    assert overlay.cart.units() == 4
    assert add(overlay, 10)["error"]["code"] == "insufficient_stock", "product 10 has no stock"


def test_stock_is_checked_across_variants(overlay: Overlay) -> None:
    """The product has five units, each variant four."""
    assert add(overlay, 1, 5, "v_one")["error"]["code"] == "insufficient_stock"
    add(overlay, 1, 3, "v_one")
    assert add(overlay, 1, 3, "v_two")["error"]["code"] == "insufficient_stock"
    assert add(overlay, 1, 2, "v_two")["total_items"] == 5
    assert overlay.cart.price() == 3 * 950 + 2 * 1050
    assert overlay.cart.quantities() == {(1, "v_one"): 3, (1, "v_two"): 2}


@pytest.mark.parametrize(("variant", "code"), [(None, "variant_required"), ("v_six", "variant_not_found")])
def test_variants_are_chosen_among_those_that_exist(overlay: Overlay, variant: str | None, code: str) -> None:
    assert add(overlay, 1, 1, variant)["error"]["code"] == code
    assert not overlay.cart.lines


def test_a_variant_of_another_product_is_none(overlay: Overlay) -> None:
    assert add(overlay, 2, 1, "v_one")["error"]["code"] == "variant_not_found"


def test_what_has_no_price_cannot_be_bought(overlay: Overlay) -> None:
    assert add(overlay, SIZE)["error"]["code"] == "no_price"


def test_lines_change_and_go(overlay: Overlay) -> None:
    """Case tool-setqty-zero, and the refusals."""
    add(overlay, 2, 2)

    def change(quantity: int, line: str = "line_001") -> dict[str, Any]:
        return call(overlay, "cart.set_quantity", line_id=line, quantity=quantity)

    assert change(5)["total_items"] == 5
    assert change(6)["error"]["code"] == "insufficient_stock"
    assert change(1)["total_items"] == 1
    assert change(1, "line_009")["error"]["code"] == "unknown_line"
    assert change(0) == {"lines": [], "total_items": 0, "total_price": 0, "currency": "CNY"}
    assert call(overlay, "cart.remove", line_id="line_001")["error"]["code"] == "unknown_line"


def test_line_ids_are_not_used_again(overlay: Overlay) -> None:
    """Case tool-line-ids."""
    add(overlay, 2)
    add(overlay, 3)
    call(overlay, "cart.remove", line_id="line_001")
    assert [line["line_id"] for line in add(overlay, 4)["lines"]] == ["line_002", "line_003"]


def test_ids_named_to_the_cart_are_noted(overlay: Overlay) -> None:
    name = shown(overlay, 2)
    call(overlay, "cart.add", product_id="invented")
    call(overlay, "cart.add", product_id=name)
    call(overlay, "cart.add", product_id=name)
    assert list(overlay.carted) == ["invented", name]
    assert "invented" not in overlay.seen


def test_checkout(overlay: Overlay) -> None:
    """Case tool-checkout-empty; unknown ids by name; the order, the cart and the stock afterwards."""
    view = call(overlay, "cart.view")
    ids = {name: view[name] for name in ("shipping_address_id", "payment_method_id")}
    assert call(overlay, "order.checkout", **ids)["error"]["code"] == "cart_empty"
    add(overlay, 1, 3, "v_one")
    add(overlay, 2)
    for wrong, code in (
        ("shipping_address_id", "unknown_address"),
        ("payment_method_id", "unknown_payment_method"),
    ):
        assert call(overlay, "order.checkout", **{**ids, wrong: "x"})["error"]["code"] == code
    order = call(overlay, "order.checkout", **ids)
    assert (order["order_id"], order["status"]) == ("ord_001", "CONFIRMED")
    assert order["order_date"] == overlay.today.isoformat()
    assert [(line["line_id"], line["variant"], line["quantity"]) for line in order["lines"]] == [
        ("ord_001_line_01", "black", 3),
        ("ord_001_line_02", None, 1),
    ]
    assert call(overlay, "cart.view")["lines"] == []
    assert [item.id for item in overlay.checkout] == ["ord_001"]
    assert add(overlay, 1, 3, "v_two")["error"]["code"] == "insufficient_stock", "two units are left"
    assert add(overlay, 1, 2, "v_one")["error"]["code"] == "insufficient_stock", "one unit of it is left"
    assert add(overlay, 1, 1, "v_one")["total_items"] == 1
    status = call(overlay, "order.get_status", order_id="ord_001")
    assert status["eta_date"] > order["order_date"]
    assert call(overlay, "return.check_eligibility", order_id="ord_001", line_id="ord_001_line_01")[
        "reason_code"
    ] == ("not_delivered")
