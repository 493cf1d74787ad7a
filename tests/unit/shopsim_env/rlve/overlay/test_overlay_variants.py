"""Variants: three, of the category's first family, with the product's own value as the target."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import Variant, synthesize
from shopsim_env.rlve.shelf import Shelf


def made(
    shelf: Shelf, number: int, *seed: int, families: tuple[str, ...] = ()
) -> tuple[tuple[Variant, ...], int]:
    facts = shelf.item(number).facts
    chosen = families or shelf.world.category(facts.category).families
    return synthesize(facts, chosen, Draws("variants", *seed), shelf.world)


@pytest.mark.parametrize(("number", "family"), [(1, "connector_type"), (2, "size"), (4, "material")])
def test_the_category_says_what_varies(shelf: Shelf, number: int, family: str) -> None:
    """Case var-category-priority: electronics, clothing, kitchen."""
    variants, _ = made(shelf, number)
    assert {item.family for item in variants} == {family}


def test_the_target_has_the_products_own_value(shelf: Shelf) -> None:
    for seed in range(20):
        variants, target = made(shelf, 1, seed, families=("color",))
        assert variants[target].name == "black"
        assert sorted(item.name for item in variants).count("black") == 1


def test_three_different_values_ids_and_prices_in_any_place(shelf: Shelf) -> None:
    places = set()
    for seed in range(30):
        variants, target = made(shelf, 1, seed)
        places.add(target)
        assert len({item.value for item in variants}) == len({item.id for item in variants}) == 3
        prices = [item.price for item in variants]
        assert len(set(prices)) == 3
        # Product 1 costs 10.00; no variant costs the same, which would give the target away.
        assert all(900 <= price <= 1100 and price != 1000 for price in prices if price is not None)
        assert all(item.stock == 5 for item in variants)
    assert places == {0, 1, 2}
    assert made(shelf, 1, 5) == made(shelf, 1, 5)


def test_a_target_that_no_text_names_is_drawn(shelf: Shelf) -> None:
    assert len({made(shelf, 1, seed)[0][made(shelf, 1, seed)[1]].name for seed in range(20)}) > 3


def test_numbers_stock_and_prices_at_the_edges(shelf: Shelf) -> None:
    variants, _ = made(shelf, 120, families=("wattage",))
    assert [item.price for item in variants] == [None] * 3, "a missing price stays missing"
    assert [item.stock for item in variants] == [1] * 3, "product 120 is out of stock in the world"
    assert all(item.name.replace(".", "").isdigit() for item in variants)


def test_no_family_no_variants(shelf: Shelf) -> None:
    with pytest.raises(UsageError) as caught:
        synthesize(shelf.item(1).facts, (), Draws("v"), shelf.world)
    assert caught.value.code == "no_variants"
