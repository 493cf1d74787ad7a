"""The shelf: cards, categories by name; selections against a plain scan, through pools and through the indexes."""

from itertools import product

import pytest
from rlve_shop import SIZE

from shopsim_env.rlve import selection as module
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.selection import Selections
from shopsim_env.rlve.shelf import Shelf, units

BLACK = 1


def test_a_card_without_what_the_episode_decides(shelf: Shelf) -> None:
    item = shelf.item(5)
    assert item.card == {
        "title": "item4 widget even",
        "price": 14,
        "rating": 2,
        "rating_count": 4,
        "ship_days": 4,
        "category": "数码›耳机›头戴",
        "brand": "乙",
        "key_attrs": {"color": ["white"]},
    }
    assert shelf.item(5) is item
    assert shelf.item_of("900004") is item
    assert shelf.item_of("900005").facts.number == 6
    assert shelf.item(SIZE).card["price"] is None


@pytest.mark.parametrize(
    ("hundredths", "number"), [(12950, 129.5), (300, 3), (599, 5.99), (0, 0), (None, None)]
)
def test_units(hundredths: int | None, number: float | None) -> None:
    assert units(hundredths) == number
    assert isinstance(units(300), int)


def test_categories_by_path_and_by_last_level(shelf: Shelf) -> None:
    (found,) = shelf.categories_named(" 头戴 ")
    assert shelf.world.category(found).levels == ("数码", "耳机", "头戴")
    assert shelf.categories_named("数码›耳机›头戴") == [found]
    assert shelf.categories_named("数码 > 耳机 > 头戴") == [found]
    assert shelf.categories_named("家电") == []


def plain(
    shelf: Shelf, category: int | None, constraints: tuple[Constraint, ...], in_stock: bool
) -> list[int]:
    first = shelf.world.category(category or 1)
    facts = [shelf.item(number).facts for number in range(1, SIZE + 1)]
    fitting = [
        item
        for item in facts
        if first.number <= item.category <= first.last
        and all(bound.met(item) for bound in constraints)
        and (item.stock > 0 or not in_stock)
    ]
    return [item.number for item in sorted(fitting, key=lambda item: (item.price_low or -1, item.number))]


@pytest.mark.parametrize("largest", [0, 50_000])
def test_selections_are_what_a_scan_finds(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    monkeypatch.setattr(module, "LARGEST_POOL", largest)
    selections = Selections(shelf.world, Pools(shelf.world))
    leaf = shelf.categories_named("头戴")[0]
    bounds: list[tuple[Constraint, ...]] = [
        (),
        (Constraint("price_max", 5000),),
        (Constraint("brand", "甲"), Constraint("rating_min", 300)),
        (Constraint("value", BLACK, "color"), Constraint("ship_days_max", 3)),
        (Constraint("price_min", 10**9),),
    ]
    for category, constraints, in_stock in product((None, leaf), bounds, (False, True)):
        found = selections.selection(category, constraints, in_stock)
        expected = plain(shelf, category, constraints, in_stock)
        assert list(found.numbers) == expected
        chosen = found.product_set()
        assert [row + 1 for row in range(SIZE) if chosen.holds(row)] == sorted(expected)
        assert len(chosen) == len(expected)
        assert selections.selection(category, constraints, in_stock) is found
