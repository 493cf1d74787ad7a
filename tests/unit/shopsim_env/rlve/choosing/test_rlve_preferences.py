"""Weights by the published cases, features and utilities by hand."""

import pytest

from shopsim_env.rlve.choosing.preferences import (
    concentration,
    draw_weights,
    features,
    lowness,
    utilities,
)
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Good


def good(number: int, price: int, rating: int, days: int) -> Good:
    return Good(number, price, rating, 10, days, 5, None)


GOODS = (good(1, 10_000, 400, 1), good(2, 15_000, 500, 5), good(3, 20_000, 480, 3))


def test_each_feature_goes_from_the_worst_to_the_best_of_the_list() -> None:
    found = features(GOODS)
    assert found[1] == (1.0, 0.0, 1.0)
    assert found[2] == (0.5, 1.0, 0.0)
    assert found[3] == pytest.approx((0.0, 0.8, 0.5))


def test_weights_decide_the_order() -> None:
    # 0.5 + 0 + 0.2; 0.25 + 0.3 + 0; 0 + 0.24 + 0.1.
    worth = utilities(GOODS, {"price": 50, "rating": 30, "shipping": 20})
    assert worth == pytest.approx({1: 0.7, 2: 0.55, 3: 0.34})
    worth = utilities(GOODS, {"price": 0, "rating": 100, "shipping": 0})
    assert sorted(worth, key=lambda number: -worth[number]) == [2, 3, 1]


def test_what_is_equal_does_not_decide() -> None:
    assert features([good(1, 100, 450, 2), good(2, 100, 450, 2)]) == {1: (1.0, 1.0, 1.0), 2: (1.0, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (["price"], (5, 2, 1, 1, 1)),
        (["price", "ship_days"], (5, 2, 4, 1, 1)),
        (["price", "rating", "rating_count"], (5, 8, 1, 1, 1)),
        (["price", "brand", "store"], (5, 2, 1, 7, 1)),
        (["color"], (2, 2, 1, 1, 1)),
    ],
)
def test_concentration_of_the_published_cases(topics: list[str], expected: tuple[int, ...]) -> None:
    assert concentration(topics) == expected


@pytest.mark.parametrize(
    ("price", "low", "high", "expected"),
    [
        (50, 0, 100, 0.5),
        (10, 10, 10, 1.0),
        (11, 10, 10, 0.0),
        (0, 10, 20, 1.0),
        (30, 10, 20, 0.0),
        (None, 1, 2, 0.0),
    ],
)
def test_lower_is_better_within_a_range(price: int | None, low: int, high: int, expected: float) -> None:
    assert lowness(price, low, high) == expected


def test_weights_are_per_cents_of_what_is_told() -> None:
    weights = draw_weights(Draws("w"), ["price"])
    assert list(weights) == ["price", "rating", "shipping"]
    assert sum(weights.values()) == 100
