"""How alike two products are, in points, by what the tools show of them.

Belongs here: the rule, which customers state and generators, graders and agents apply alike. Not here: which
products are compared.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

SAME_CATEGORY: Final = 2
SAME_BRAND: Final = 1
SHARED_FAMILY: Final = 1
# Most points come from the nearest price: share of the original's price in per cent, points.
NEAR_PRICES: Final = ((10, 2), (30, 1))


@dataclass(frozen=True, slots=True)
class Traits:
    """What is compared. `price` is in hundredths; category, brand and values only have to be comparable.

    Args:
        values: Values that the product names, by attribute family.
    """

    category: Hashable
    brand: str | None
    price: int | None
    values: Mapping[str, frozenset[Hashable]]


def points(original: Traits, other: Traits) -> int:
    """Points of likeness, from 0: category, brand, attributes with a common value, nearness of the price."""
    found = SAME_CATEGORY if other.category == original.category else 0
    if original.brand is not None and other.brand == original.brand:
        found += SAME_BRAND
    for family, values in original.values.items():
        if not values.isdisjoint(other.values.get(family, ())):
            found += SHARED_FAMILY
    return found + _price_points(original.price, other.price)


def _price_points(original: int | None, other: int | None) -> int:
    if original is None or other is None:
        return 0
    apart = abs(other - original) * 100
    for share, gained in NEAR_PRICES:
        if apart <= share * original:
            return gained
    return 0
