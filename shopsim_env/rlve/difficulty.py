"""What one difficulty d means: twelve axes for every environment, and the functions of d of single ones.

Belongs here: the published formulas, the two changes at d = 0, limits of single values. Which d is played
next, and what generators do with the values, is not here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from shopsim_env.errors import UsageError

# Far above what training reaches; a seed in the place of a difficulty is refused instead of played.
MAX_DIFFICULTY = 10_000
# What goals have at most, whatever d is: no catalogue offers more constraints that bind, no list is longer
# than the products that meet them, no search shows more, no catalogue gives goods for a longer history, no
# subject has more rules. The formulas end there in effect; an override above is refused.
MOST_CONSTRAINTS, MOST_LISTED, MOST_HITS, MOST_ORDERS, MOST_RULES = 12, 30, 500, 37, 9
MOST_OF_AXES: Mapping[str, int] = {
    "m": MOST_CONSTRAINTS,
    "k_rec": MOST_LISTED,
    "top_k": MOST_HITS,
    "H_orders": MOST_ORDERS,
    "B_branch": MOST_RULES,
}
# Levels in use at once are few; every reset asks for those of its own.
_KEPT_LEVELS = 64


@dataclass(frozen=True, slots=True)
class Axes:
    """The twelve axes, by their published names. Counts are at least 1; shares are in [0, 1].

    Attributes:
        m: Constraints that a product must meet.
        k_rec: Products that a list of recommendations may hold.
        T_max: Turns of the agent in an episode; also the customer's patience.
        p_missing: Chance, per constraint, that the first message leaves it out.
        p_noise: Chance, per letter, of a typing error of the customer.
        p_switch: Chance that the customer changes the subject in an episode.
        top_k: Hits that one search may return.
        eps_rank: Chance, per search hit, that another product of its category takes its place.
        p_oos: Chance that a product is out of stock.
        H_orders: Orders in the customer's history.
        B_branch: Rules that a question about policy brings together.
        B_tool: Tool calls in one turn.
    """

    m: int
    k_rec: int
    T_max: int
    p_missing: float
    p_noise: float
    p_switch: float
    top_k: int
    eps_rank: float
    p_oos: float
    H_orders: int
    B_branch: int
    B_tool: int

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (_is_count(value) if item.type is int else _is_share(value)):
                expected = "an integer of at least 1" if item.type is int else "a number from 0 to 1"
                raise UsageError(f"axis {item.name}: expected {expected}, found {value!r}", code="bad_axis")


AXES = tuple(item.name for item in fields(Axes))


@dataclass(frozen=True, slots=True)
class TaskAxes:
    """Functions of d that one environment uses. Names tell which.

    Attributes:
        cart_items: Different products in the cart, 1 to 5.
        cart_p_variant: Chance, per product, that one variant is required.
        cart_p_quantity: Chance, per product, that more than one unit is required.
        cart_visits: Products in the visit history: those of the cart and what distracts from them.
        return_p_edge: Chance that the order lies at the edge of its return window.
        status_p_indirect: Chance that the customer describes the order instead of naming it.
        pd_alpha: Exponent of the share of constraints met, at least 4.
        sub_lambda: Weight of similarity against constraints, 0.4 to 0.8.
        slack: Largest share by which a numeric limit, or a budget, is wider than what meets it.
        bundle_categories: Slots of a bundle, 3 to 12.
        journey_intents: Tasks in one conversation, 2 to 5.
    """

    cart_items: int
    cart_p_variant: float
    cart_p_quantity: float
    cart_visits: int
    return_p_edge: float
    status_p_indirect: float
    pd_alpha: int
    sub_lambda: float
    slack: float
    bundle_categories: int
    journey_intents: int


def axes(d: int, overrides: Mapping[str, Any] | None = None) -> Axes:
    """The twelve axes at one difficulty.

    Args:
        d: Difficulty, an integer from 0.
        overrides: Values of single axes by name, in place of those of the formulas.

    Raises:
        UsageError: `bad_difficulty`, `unknown_axis`, or `bad_axis` for a value outside its range
            (`MOST_OF_AXES`).

    Source: the published formulas; at d = 0 one constraint instead of two, as the published text says.
    """
    check_difficulty(d)
    return _overridden(_axes(d), overrides) if overrides else _axes(d)


@lru_cache(maxsize=_KEPT_LEVELS)
def _axes(d: int) -> Axes:
    return Axes(
        m=2 + d // 2 if d else 1,
        k_rec=min(10, 3 + d // 3),
        T_max=4 + d // 2,
        p_missing=0.8 * _sigmoid((d - 3) / 1.5),
        p_noise=min(0.125, d / 100),
        p_switch=0.6 * _sigmoid((d - 5) / 2),
        top_k=max(20, 200 - 10 * d),
        eps_rank=min(0.4, d / 50),
        p_oos=min(0.5, d / 20),
        H_orders=1 + d // 2,
        B_branch=1 + d // 3,
        B_tool=1 + d // 2,
    )


def task_axes(d: int) -> TaskAxes:
    """The functions of d of single environments.

    Raises:
        UsageError: `bad_difficulty`.

    Source: the published formulas; at d = 0 no variants, as the published text says.
    """
    check_difficulty(d)
    return _task_axes(d)


@lru_cache(maxsize=_KEPT_LEVELS)
def _task_axes(d: int) -> TaskAxes:
    items = min(5, 1 + d // 3)
    return TaskAxes(
        cart_items=items,
        cart_p_variant=_sigmoid((d - 2) / 1.5) if d else 0.0,
        cart_p_quantity=min(0.5, d / 10),
        cart_visits=items + max(3, 2 * items),
        return_p_edge=0.7 * _sigmoid((d - 4) / 1.5),
        status_p_indirect=_sigmoid((d - 2) / 1.5),
        pd_alpha=4 + d // 4,
        sub_lambda=min(0.8, (8 + d) / 20),
        slack=0.5 * math.exp(-d / 5),
        bundle_categories=min(12, 3 + d // 2),
        journey_intents=min(5, 2 + d // 4),
    )


def journey_turns(parts: Iterable[Axes]) -> int:
    """Turns of the agent in a journey: those of its parts together.

    The published budget, T_max of a single task, is too small for most plays that make no mistake.

    Raises:
        UsageError: `empty_journey`.
    """
    turns = [part.T_max for part in parts]
    if not turns:
        raise UsageError("journey: expected the axes of at least one part, found none", code="empty_journey")
    return sum(turns)


def check_difficulty(d: Any) -> None:
    """Refuses what is no difficulty.

    Raises:
        UsageError: `bad_difficulty`.
    """
    if not isinstance(d, int) or isinstance(d, bool) or not 0 <= d <= MAX_DIFFICULTY:
        raise UsageError(
            f"difficulty: expected an integer from 0 to {MAX_DIFFICULTY}, found {d!r}", code="bad_difficulty"
        )


def _overridden(level: Axes, overrides: Mapping[str, Any]) -> Axes:
    unknown = [name for name in overrides if name not in AXES]
    if unknown:
        raise UsageError(
            f"overrides: expected names among {', '.join(AXES)}, found {unknown}", code="unknown_axis"
        )
    changed = replace(level, **overrides)
    for name in overrides:
        most = MOST_OF_AXES.get(name)
        if most is not None and overrides[name] > most:
            raise UsageError(
                f"axis {name}: expected at most {most}, which is what goals can have, found "
                f"{overrides[name]}; lower it",
                code="bad_axis",
            )
    return changed


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_share(value: Any) -> bool:
    # NaN fails the comparison.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _sigmoid(x: float) -> float:
    # x is -2.7 at the least, so the exponential cannot overflow.
    return 1 / (1 + math.exp(-x))
