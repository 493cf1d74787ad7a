"""Prices of product files: what is an amount, what is missing, what must not be guessed."""

from decimal import Decimal

import pytest

from pipelines.stages.products.money import OTHER_CURRENCY, UNREADABLE, read_money


@pytest.mark.parametrize(
    ("value", "amounts"),
    [
        (19.99, ["19.99"]),
        (0, ["0"]),
        ("19.99", ["19.99"]),
        ("$1,299.00", ["1299.00"]),
        (" US$ 5 ", ["5"]),
        ("12.50 USD", ["12.50"]),
        ("USD 12.50", ["12.50"]),
        ("$5.00 - $9.00", ["5.00", "9.00"]),
        ("9.00 – 5.00", ["5.00", "9.00"]),
        ("$5-$9", ["5", "9"]),
        ("5 to 9", ["5", "9"]),
        ("$7.00 - $7.00", ["7.00"]),
        (Decimal("3.10"), ["3.10"]),
    ],
)
def test_amounts(value: object, amounts: list[str]) -> None:
    assert read_money(value, "USD") == (tuple(map(Decimal, amounts)), "")


@pytest.mark.parametrize("value", [None, "", "  ", "None", "N/A", "-", "—", float("nan"), Decimal("nan")])
def test_a_missing_price_stays_missing(value: object) -> None:
    assert read_money(value, "USD") == ((), "")


@pytest.mark.parametrize(
    "value",
    [
        "from 9.99",
        "12,50",
        "1.299,00",
        "See price in cart",
        "$",
        "5 - 9 - 12",
        "-3",
        -3,
        True,
        [5],
        "1e999",
        float("inf"),
        "12.5.3",
        "₿5",
    ],
)
def test_what_is_no_plain_amount_is_not_guessed(value: object) -> None:
    assert read_money(value, "USD") == ((), UNREADABLE)


@pytest.mark.parametrize(
    ("value", "currency", "stated"),
    [
        ("£5", "USD", ""),
        ("5 EUR", "USD", ""),
        ("$5", "GBP", ""),
        ("US$5", "CAD", ""),
        ("5", "USD", "EUR"),
        (5.0, "USD", "EUR"),
    ],
)
def test_another_currency_is_left_out(value: object, currency: str, stated: str) -> None:
    assert read_money(value, currency, stated) == ((), OTHER_CURRENCY)


def test_a_sign_may_belong_to_several_currencies() -> None:
    assert read_money("$5", "CAD") == ((Decimal(5),), "")
    assert read_money("¥5", "JPY") == ((Decimal(5),), "")
    assert read_money(None, "USD", "EUR") == ((), ""), "nothing is left out where nothing is"
