"""Price reward: did the purchase stay within the stated budget.

Belongs here: the comparison of a resolved price with a ceiling. How a price is resolved: `catalog.prices`;
where the ceiling comes from: `tasks.budget`.
"""

from dataclasses import dataclass
from decimal import Decimal

from shopsim_env.catalog.prices import PriceResolution


@dataclass(frozen=True, slots=True)
class PriceMatch:
    """`r_price` is 0 or 1; `verifiable` tells whether the price of the selection is known."""

    r_price: float
    verifiable: bool


def match_price(resolution: PriceResolution, ceiling: Decimal | None) -> PriceMatch:
    """1 without a budget; else 1 only for a known price up to `ceiling` yuan inclusive (seed, R_price)."""
    verifiable = resolution.status == "pass" and resolution.price is not None
    if ceiling is None:
        return PriceMatch(1.0, verifiable)
    within = verifiable and resolution.price is not None and resolution.price <= ceiling
    return PriceMatch(1.0 if within else 0.0, verifiable)
