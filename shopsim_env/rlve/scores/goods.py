"""Scores of goods: a cart against a list, and a bundle of one product per category.

Belongs here: multiset F1 in integers, money in integer cents. Not here: carts, prices and the budget's
solver.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import TaskScore, clip, count, f1, unreachable


@dataclass(frozen=True, slots=True)
class CartLine:
    """Units of one product; `variant` is None where none was chosen."""

    product: str
    variant: str | None
    quantity: int


@dataclass(frozen=True, slots=True)
class BundlePick:
    """A recommended product: its category (None: unknown product), price in cents, and whether it fits.

    `fits` means that it is in stock and meets the constraints of its category's slot.
    """

    category: str | None
    price_cents: int
    fits: bool


def score_cart(lines: Sequence[CartLine], required: Mapping[tuple[str, str | None], int]) -> TaskScore:
    """Score the goods of a cart, or of an order that was placed from it.

    Published: F1 of units, score 2·F1 - 1, success where F1 is within 1e-9 of 1. Change: integers, no added
    constant; success when every unit matches. The published constant fails exact carts of one and two units.

    Args:
        lines: What is in the cart, or was bought: a checkout must not lose the task.
        required: Units by (product, variant); variant None where any variant does.

    Raises:
        UsageError: `score_empty_goal` without requirements, `score_bad_count` for a bad quantity,
            `score_ambiguous_goal` for a product that is wanted both in any and in a stated variant.
    """
    if not required:
        raise unreachable("The cart has no requirement")
    wanted = {key: count(units, "required quantity", 1) for key, units in required.items()}
    by_variant = {product for product, variant in wanted if variant is not None}
    if any((product, None) in wanted for product in by_variant):
        raise UsageError(
            "A product is required in any and in a stated variant, expected one of them; mend the generator",
            code="score_ambiguous_goal",
        )
    held: Counter[tuple[str, str | None]] = Counter()
    for line in lines:
        variant = line.variant if line.product in by_variant else None
        held[line.product, variant] += count(line.quantity, "cart quantity")
    matched = sum(min(units, held[key]) for key, units in wanted.items())
    units_held, units_wanted = sum(held.values()), sum(wanted.values())
    share = f1(matched, units_held, units_wanted)
    parts = {"f1": float(share), "matched": matched, "held": units_held, "required": units_wanted}
    return TaskScore(float(2 * share - 1), share == 1, parts)


def score_bundle(
    picks: Sequence[BundlePick], categories: Sequence[str], budget_cents: int | None = None
) -> TaskScore:
    """Score a bundle: one fitting product per required category within the budget.

    Published: F1 over sets of categories, penalty max(0, cost - B) / B, score clip(2·F1 - 1 - penalty),
    success where F1 is 1 and the penalty 0. Changes: a pick covers its category only if it fits the slot's
    constraints; a second pick of a category is surplus, not free; integers, so that exact bundles of two
    succeed.

    Raises:
        UsageError: `score_empty_goal` without categories, `score_bad_count` for money that is not whole
            cents.
    """
    wanted = set(categories)
    if not wanted:
        raise unreachable("The bundle has no category")
    cost = sum(count(pick.price_cents, "price_cents") for pick in picks)
    covered = len(wanted & {pick.category for pick in picks if pick.fits})
    share = f1(covered, len(picks), len(wanted))
    penalty = Fraction(0)
    if budget_cents is not None:
        budget = count(budget_cents, "budget_cents", 1)
        penalty = Fraction(max(0, cost - budget), budget)
    parts = {"f1": float(share), "penalty": float(penalty), "cost_cents": cost}
    return TaskScore(float(clip(2 * share - 1 - penalty)), share == 1 and penalty == 0, parts)
