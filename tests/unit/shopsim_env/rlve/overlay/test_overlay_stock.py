"""Stock of an episode: a share is out, each product for itself, generators set units, sales take them."""

import pytest
from rlve_shop import SIZE, episode

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import Stock, Variant
from shopsim_env.rlve.shelf import Shelf

HELD = [number for number in range(1, SIZE + 1) if number % 10 != 0]


def test_without_stock_outs_the_world_decides(shelf: Shelf) -> None:
    stock = episode(shelf, p_oos=0).stock
    assert [number for number in range(1, SIZE + 1) if not stock.in_stock(number)] == list(
        range(10, SIZE + 1, 10)
    )
    assert {stock.units(number) for number in HELD} == {5}


def test_all_can_be_out(shelf: Shelf) -> None:
    stock = episode(shelf, p_oos=1).stock
    assert not any(stock.units(number) for number in HELD)


def test_the_share_is_kept_and_order_of_asking_is_nothing(shelf: Shelf) -> None:
    first, second = (Stock(shelf, Draws("s"), 0.3) for _ in range(2))
    out = [first.in_stock(number) for number in HELD]
    assert [second.in_stock(number) for number in reversed(HELD)] == out[::-1]
    assert first.remaining(HELD) == [number for number, held in zip(HELD, out, strict=True) if held]
    # 20,000 draws of 0.3: four standard deviations are 260.
    numbers = range(1, 20_001)
    assert abs(len(first.remaining(numbers)) - 14_000) < 260
    assert Stock(shelf, Draws("t"), 0.3).remaining(HELD) != first.remaining(HELD)


def test_generators_set_units(shelf: Shelf) -> None:
    stock = episode(shelf, p_oos=1).stock
    stock.force(1, 3)
    stock.force(2, 0)
    assert (stock.units(1), stock.units(2)) == (3, 0)
    assert stock.remaining([1, 2, 3]) == [1]
    for number, units in ((1, -1), (10, 1)):
        with pytest.raises(UsageError) as caught:
            stock.force(number, units)
        assert caught.value.code == "bad_stock"
    stock.force(10, 0)


def test_sales_take_units_of_product_and_variant(shelf: Shelf) -> None:
    stock = episode(shelf).stock
    variant = Variant("v", "color", 1, "black", 900, 2)
    stock.sell(1, variant, 2)
    assert (stock.units(1), stock.variant_units(variant)) == (3, 0)
    stock.sell(1, None, 3)
    assert stock.remaining([1, 2]) == [2]
