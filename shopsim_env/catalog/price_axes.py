"""Which option axes change the price.

Belongs here: the recorded price per option key and the test whether an axis varies; both the exclusion of
products and price resolution use it. Does not belong here: which price a selection has (`prices`).
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from shopsim_env.catalog.product import Axis, Product, as_product


def recorded_prices(axis: Axis) -> dict[str, Decimal | None]:
    """Recorded price per option key, in source order; None where the last entry of a key has none.

    Blank keys are dropped and a later entry of the same key replaces an earlier one, so that one key has one
    price. A recorded 0 stays 0 here: it counts when testing whether an axis varies (contract 7.2).
    """
    return {value.key: value.price for value in axis.values if value.key}


def axis_varies(axis: Axis) -> bool:
    """Whether the axis holds more than one distinct recorded price; compared exactly, without tolerance."""
    prices = {price for price in recorded_prices(axis).values() if price is not None}
    return len(prices) > 1


def varying_axes(product: Product) -> tuple[Axis, ...]:
    """The price-varying axes of a product in source order."""
    return tuple(axis for axis in product.axes if axis_varies(axis))


def price_axes(product: Product | Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the price-varying axes in source order.

    Args:
        product: A raw record or a product of a release.

    Returns:
        Axis names; two or more mean that no combination has a known price (seed, price section).
    """
    return tuple(axis.name for axis in varying_axes(as_product(product)))
