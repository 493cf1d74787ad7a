"""Points of likeness, by hand."""

import pytest

from shopsim_env.rlve.choosing.likeness import Traits, points

ORIGINAL = Traits("数码›耳机", "甲", 10_000, {"color": frozenset({1, 2}), "size": frozenset({7})})


@pytest.mark.parametrize(
    ("other", "gained"),
    [
        (ORIGINAL, 2 + 1 + 1 + 1 + 2),
        (Traits("数码›音箱", "乙", 20_000, {}), 0),
        (Traits("数码›耳机", None, None, {}), 2),
        (Traits("数码›音箱", "甲", None, {}), 1),
        (Traits("数码›音箱", None, None, {"color": frozenset({2, 9})}), 1),
        (Traits("数码›音箱", None, None, {"color": frozenset({9}), "scent": frozenset({1})}), 0),
        (Traits("数码›音箱", None, 11_000, {}), 2),
        (Traits("数码›音箱", None, 11_001, {}), 1),
        (Traits("数码›音箱", None, 7_000, {}), 1),
        (Traits("数码›音箱", None, 6_999, {}), 0),
    ],
)
def test_points(other: Traits, gained: int) -> None:
    assert points(ORIGINAL, other) == gained


def test_two_products_without_a_brand_are_not_of_one_brand() -> None:
    nameless = Traits("a", None, None, {})
    assert points(nameless, nameless) == 2
