"""Preferences: the published weights and features, by the published cases."""

import pytest

from shopsim_env.rlve.choosing.preferences import concentration, draw_weights, price_worth, utilities
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Good


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
def test_worth_of_a_price(price: int | None, low: int, high: int, expected: float) -> None:
    assert price_worth(price, low, high) == expected


def test_weights_are_per_cents_of_what_is_told() -> None:
    weights = draw_weights(Draws("w"), ["price"])
    assert list(weights) == ["price", "rating", "shipping"]
    assert sum(weights.values()) == 100


def test_utility_is_the_weighted_mean_of_the_features() -> None:
    goods = [
        Good(1, 1000, 500, 0, 0, 1, None),  # cheapest, five stars, ships today
        Good(2, 3000, 100, 0, 20, 1, None),  # dearest, one star, ships after the horizon
        Good(3, 2000, 300, 0, 7, 1, None),  # half way in everything
    ]
    found = utilities(goods, {"price": 50, "rating": 30, "shipping": 20})
    assert found == {1: 1.0, 2: 0.0, 3: pytest.approx(0.5)}
