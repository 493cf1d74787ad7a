"""Variants as option axes: which axis carries the prices, and when none does."""

from decimal import Decimal
from typing import Any

import pytest

from pipelines.stages.products.variants import raw_options, read_variants
from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product


def variant(price: Any = None, stock: Any = None, **options: Any) -> dict[str, Any]:
    return {"options": options, "price": price, "stock": stock}


def options_of(*entries: Any, stated: str = "") -> tuple[dict[str, Any], set[str], Any]:
    noted: set[str] = set()
    variants = read_variants(entries, "USD", stated, noted.add)
    return raw_options(variants, noted.add), noted, variants


def test_prices_stand_on_the_axis_that_decides() -> None:
    options, noted, variants = options_of(
        variant(10, Color="Red", Size="S"),
        variant(12, Color="Red", Size="L"),
        variant(10, Color="Blue", Size="S"),
        variant(12, Color="Blue", Size="L"),
    )
    assert options == {
        "Color": [{"value": "Red"}, {"value": "Blue"}],
        "Size": [{"value": "S", "price": 10.0}, {"value": "L", "price": 12.0}],
    }
    assert noted == set()
    assert variants.prices == [Decimal(10), Decimal(12)]
    product = Product.from_record({"customization_options": options, "pricing": [10.0, 12.0]})
    assert resolve_price(product, {"Color": "blue", "Size": "l"}).price == 12


def test_one_price_for_all_stands_on_the_first_axis() -> None:
    options, _, _ = options_of(variant(5, Color="Red", Size="S"), variant(5, Color="Blue", Size="L"))
    assert options == {
        "Color": [{"value": "Red", "price": 5.0}, {"value": "Blue", "price": 5.0}],
        "Size": [{"value": "S"}, {"value": "L"}],
    }


def test_a_price_of_the_combination_is_the_price_of_no_option() -> None:
    options, noted, _ = options_of(
        variant(1, Color="Red", Size="S"),
        variant(2, Color="Red", Size="L"),
        variant(3, Color="Blue", Size="S"),
        variant(4, Color="Blue", Size="L"),
    )
    assert noted == {"price_by_combination"}
    assert all("price" not in entry for entries in options.values() for entry in entries)
    product = Product.from_record({"customization_options": options, "pricing": [1.0, 4.0]})
    assert resolve_price(product, {"Color": "red", "Size": "s"}).price is None


def test_a_value_with_an_unpriced_variant_has_no_price() -> None:
    options, noted, _ = options_of(
        variant(5, Size="S", Color="Red"),
        variant(None, Size="S", Color="Blue"),
        variant(9, Size="L", Color="Red"),
    )
    assert noted == {"variant_without_price"}
    assert options["Size"] == [{"value": "S"}, {"value": "L", "price": 9.0}]


def test_an_axis_that_a_variant_lacks_decides_nothing() -> None:
    options, _, _ = options_of(variant(5, Extra="Yes", Size="S"), variant(6, Size="L"))
    assert options == {
        "Extra": [{"value": "Yes"}],
        "Size": [{"value": "S", "price": 5.0}, {"value": "L", "price": 6.0}],
    }


def test_two_spellings_are_one_axis_and_one_value() -> None:
    options, _, _ = options_of(
        variant(5, Color=" Navy  Blue "), variant(5, color="navy blue"), variant(5, Color="Red")
    )
    assert options == {"Color": [{"value": "Navy Blue", "price": 5.0}, {"value": "Red", "price": 5.0}]}


@pytest.mark.parametrize(
    "entry", [None, "x", {}, {"options": None}, {"options": {"Size": " "}}, {"options": {"": 1}}]
)
def test_what_names_no_option_is_no_variant(entry: Any) -> None:
    options, noted, variants = options_of(entry)
    assert (options, noted, variants.items) == ({}, {"variant_unreadable"}, [])


def test_without_any_price_nothing_is_noted_but_its_absence() -> None:
    options, noted, _ = options_of(variant(Size="S"), variant(Size="L"))
    assert options == {"Size": [{"value": "S"}, {"value": "L"}]}
    assert noted == {"variant_without_price"}


def test_prices_in_another_currency_are_left_out() -> None:
    options, noted, _ = options_of(variant(5, Size="S"), stated="EUR")
    assert (options, noted) == ({"Size": [{"value": "S"}]}, {"price_other_currency"})


def test_stock_is_that_of_all_variants_or_unknown() -> None:
    assert options_of(variant(stock=3, Size="S"), variant(stock=4.0, Size="L"))[2].stock == 7
    assert options_of(variant(stock=3, Size="S"), variant(Size="L"))[2].stock is None
    assert options_of()[2].stock is None
