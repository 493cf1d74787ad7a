"""How much a customer cares for price, rating, shipping and the rest, and what a product is worth to it.

Belongs here: the published weights, aligned with the constraints, and utilities of products. Weights are
told in the dialogue; grading uses nothing that was not.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Good

DIMENSIONS: Final = ("price", "rating", "shipping", "brand", "similarity")
# Of these a list of products that meet all constraints can differ; the others are alike among them.
TOLD_DIMENSIONS: Final = ("price", "rating", "shipping")
_BASE: Final = (2, 2, 1, 1, 1)
_ALIGNED: Final = {
    "price": "price",
    "rating": "rating",
    "rating_count": "rating",
    "ship_days": "shipping",
    "brand": "brand",
    "store": "brand",
}
_GAIN: Final = 3


def concentration(topics: Iterable[str]) -> tuple[int, ...]:
    """Dirichlet parameters of the five dimensions: (2, 2, 1, 1, 1), plus 3 for each constraint on one.

    Source: the published rule, so that a customer who says "below 25" does care for the price.
    """
    found = dict(zip(DIMENSIONS, _BASE, strict=True))
    for topic in topics:
        if topic in _ALIGNED:
            found[_ALIGNED[topic]] += _GAIN
    return tuple(found.values())


def draw_weights(draws: Draws, topics: Iterable[str]) -> dict[str, int]:
    """Per cents of the dimensions that are told; they sum to 100."""
    parameters = dict(zip(DIMENSIONS, concentration(topics), strict=True))
    shares = draws.shares([parameters[name] for name in TOLD_DIMENSIONS])
    return dict(zip(TOLD_DIMENSIONS, shares, strict=True))


def features(goods: Sequence[Good]) -> dict[int, tuple[float, float, float]]:
    """Of products by number: what each of `TOLD_DIMENSIONS` gives, 0 to 1, in their order.

    Each is 1 at the best of these products, 0 at the worst, linear between; all 1 where they are equal.
    Source: the published feature of the price. Published, ratings count on the scale of 1 to 5 stars and
    shipping on that of 14 days: among products that meet all constraints these hardly differ.
    """
    prices = [good.price_low for good in goods if good.price_low is not None]
    ratings = [-good.rating for good in goods]
    days = [good.ship_days for good in goods]
    price, rating, shipping = (
        (min(found, default=0), max(found, default=0)) for found in (prices, ratings, days)
    )
    return {
        good.number: (
            lowness(good.price_low, *price),
            lowness(-good.rating, *rating),
            lowness(good.ship_days, *shipping),
        )
        for good in goods
    }


def weigh(found: Mapping[int, tuple[float, float, float]], weights: Mapping[str, int]) -> dict[int, float]:
    """Worth of products by number, 0 to 1: the weighted mean of their features."""
    price, rating, shipping = (weights[name] for name in TOLD_DIMENSIONS)
    total = price + rating + shipping
    return {
        number: (price * one + rating * two + shipping * three) / total
        for number, (one, two, three) in found.items()
    }


def utilities(goods: Sequence[Good], weights: Mapping[str, int]) -> dict[int, float]:
    """Worth of products by number among themselves: `weigh` of their `features`."""
    return weigh(features(goods), weights)


def lowness(value: int | None, low: int, high: int) -> float:
    """1 at or below the lowest value, 0 at the highest or without one; the published feature of the price."""
    if value is None:
        return 0.0
    if high <= low:
        return 1.0 if value <= low else 0.0
    return min(1.0, max(0.0, 1 - (value - low) / (high - low)))
