"""Columns of a pool: sets by bound, bounds by share, rounding; values by hand."""

import pytest

from shopsim_env.rlve.choosing.column import Band, Column

# Ten products: product n (bit n) has the value 100 * (n + 1).
TEN = [(100 * (number + 1), number) for number in range(10)]


def test_sets_by_bound() -> None:
    column = Column(list(reversed(TEN)), 100)
    assert column.up_to(300) == 0b111
    assert column.up_to(299) == 0b11
    assert column.from_on(900) == 0b11_0000_0000
    assert column.from_on(901) == 0b10_0000_0000
    assert (column.up_to(99), column.from_on(1001)) == (0, 0)
    assert column.up_to(1000) == column.from_on(0) == 0b11_1111_1111


def test_large_columns_are_sets_of_the_same_products() -> None:
    values = [(number * 7 % 1000, number) for number in range(1000)]
    column = Column(list(values), 1)
    for bound in (0, 1, 13, 500, 777, 999):
        assert column.up_to(bound) == sum(1 << place for value, place in values if value <= bound)
        assert column.from_on(bound) == sum(1 << place for value, place in values if value >= bound)


@pytest.mark.parametrize(
    ("share", "least", "bound"),
    [(0.3, False, 300), (0.3, True, 800), (0.9, False, 900), (0.9, True, 200), (0.5, False, 500)],
)
def test_a_bound_leaves_the_share(share: float, least: bool, bound: int) -> None:
    column = Column(list(TEN), 100)
    assert column.bound(column.whole, share, least, 0.0) == bound


def test_a_second_bound_is_taken_from_what_the_first_left() -> None:
    column = Column(list(TEN), 100)
    band = column.narrowed(column.whole, 800, least=False)
    assert band == Band(0, 8)
    # A quarter of 100 … 800 are the two highest.
    assert column.bound(band, 0.25, True, 0.0) == 700
    assert column.narrowed(band, 700, least=True) == Band(6, 8)


def test_a_value_that_all_have_bounds_nothing() -> None:
    column = Column([(5, place) for place in range(6)], 1)
    assert column.bound(column.whole, 0.5, False, 0.0) is None
    assert column.bound(Band(2, 2), 0.5, False, 0.0) is None
    assert Column([], 1).bound(Band(0, 0), 0.5, True, 0.0) is None


def test_a_bound_falls_where_the_value_changes() -> None:
    # Half of the products share the value 1: the nearest bounds are 1 itself and 2.
    column = Column([(1, 0), (1, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)], 1)
    assert column.bound(column.whole, 0.7, True, 0.0) == 2
    assert column.bound(column.whole, 0.2, False, 0.0) == 1


def test_slack_rounds_to_the_roundest_amount_within() -> None:
    # 137 yuan in hundredths among prices up to 1,000 yuan: a tenth of it is 13.7 yuan, so steps of 10 yuan.
    prices = (20, 50, 90, 137, 300, 500, 800, 1000)
    column = Column([(100 * price, place) for place, price in enumerate(prices)], 100)
    assert column.bound(column.whole, 0.5, False, 0.0) == 13_700
    assert column.bound(column.whole, 0.5, False, 0.1) == 14_000
    assert column.bound(column.whole, 0.5, False, 0.4) == 15_000
