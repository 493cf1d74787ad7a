"""Difficulty: one integer d >= 0 sets twelve axes and the numbers that single environments take from it.

Belongs here: the published formulas and the one level where the article's words win (d = 0 has one constraint
and no variants). What an axis does to an episode belongs to the generators.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from shopsim_env.errors import UsageError

# Published symbol of each axis.
SYMBOLS = {
    "constraints": "m",
    "list_length": "k_rec",
    "turn_budget": "T_max",
    "p_missing": "p_missing",
    "p_noise": "p_noise",
    "p_switch": "p_switch",
    "search_depth": "top_k",
    "rank_noise": "eps_rank",
    "p_out_of_stock": "p_oos",
    "orders": "H_orders",
    "policy_branches": "B_branch",
    "tool_budget": "B_tool",
}


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The twelve axes of one level.

    Attributes:
        d: The level, 0 or more; it stays what it was when axes are overridden.
        constraints: Stated wishes of a goal, a count.
        list_length: Longest list of recommendations, a count of products.
        turn_budget: Most agent turns of an episode.
        p_missing: Probability that a fact is left out of the opening message.
        p_noise: Probability of an edit for each letter that noise may touch.
        p_switch: Probability of a change of subject in an episode.
        search_depth: Most hits that one search returns.
        rank_noise: Share of search hits that noise moves or replaces.
        p_out_of_stock: Probability that a product is out of stock.
        orders: Orders in the customer's history, a count.
        policy_branches: Clauses of the rule that a policy question asks about, a count.
        tool_budget: Most tool calls of one agent turn.
    """

    d: int
    constraints: int
    list_length: int
    turn_budget: int
    p_missing: float
    p_noise: float
    p_switch: float
    search_depth: int
    rank_noise: float
    p_out_of_stock: float
    orders: int
    policy_branches: int
    tool_budget: int


AXES = tuple(field.name for field in fields(Difficulty) if field.name != "d")
_SHARES = {"p_missing", "p_noise", "p_switch", "rank_noise", "p_out_of_stock"}


def difficulty(d: int, overrides: Mapping[str, float] | None = None) -> Difficulty:
    """The axes of level `d`, some of them replaced.

    Args:
        d: 0 or more.
        overrides: Axis name to value: a count of at least 1, or a probability or share within [0, 1].

    Raises:
        UsageError: `d` is no such integer (code `bad_difficulty`), an unknown axis (code `unknown_axis`), a
            value that its axis cannot have (code `bad_axis_value`).
    """
    check_level(d)
    level = Difficulty(
        d=d,
        constraints=2 + d // 2 if d else 1,
        list_length=min(10, 3 + d // 3),
        turn_budget=4 + d // 2,
        p_missing=0.8 * _sigmoid((d - 3) / 1.5),
        p_noise=min(0.125, d / 100),
        p_switch=0.6 * _sigmoid((d - 5) / 2),
        search_depth=max(20, 200 - 10 * d),
        rank_noise=min(0.4, d / 50),
        p_out_of_stock=min(0.5, d / 20),
        orders=1 + d // 2,
        policy_branches=1 + d // 3,
        tool_budget=1 + d // 2,
    )
    checked: dict[str, Any] = {name: _checked(name, value) for name, value in (overrides or {}).items()}
    return replace(level, **checked)


def check_level(d: int) -> int:
    """`d` itself.

    Raises:
        UsageError: not an integer of 0 or more (code `bad_difficulty`).
    """
    if isinstance(d, bool) or not isinstance(d, int) or d < 0:
        raise UsageError(f"difficulty: expected an integer of 0 or more, found {d!r}", code="bad_difficulty")
    return d


def cart_items(d: int) -> int:
    """Products on the hidden list of CART, 1 to 5."""
    return min(5, 1 + check_level(d) // 3)


def cart_p_variant(d: int) -> float:
    """Probability that an item of CART needs a certain variant; none at d = 0, as the article says."""
    return _sigmoid((d - 2) / 1.5) if check_level(d) else 0.0


def cart_p_quantity(d: int) -> float:
    """Probability that an item of CART is wanted two to four times."""
    return min(0.5, check_level(d) / 10)


def visit_history_size(d: int) -> int:
    """Products in CART's visit history: the wanted ones and max(3, 2 * wanted) others."""
    wanted = cart_items(d)
    return wanted + max(3, 2 * wanted)


def return_p_edge(d: int) -> float:
    """Probability that a RETURN lies within a day of the end of its window."""
    return 0.7 * _sigmoid((check_level(d) - 4) / 1.5)


def status_p_indirect(d: int) -> float:
    """Probability that the customer of STATUS names a product instead of the order."""
    return _sigmoid((check_level(d) - 2) / 1.5)


def discovery_alpha(d: int) -> int:
    """Exponent of the satisfied share in PD's constraint score."""
    return 4 + check_level(d) // 4


def substitution_lambda(d: int) -> float:
    """Weight of similarity in SUB's relevance, 0.4 to 0.8; the constraints have the rest."""
    return min(0.8, (8 + check_level(d)) / 20)


def slack(d: int) -> float:
    """Largest relative distance of a numeric bound from the target's value, at most 0.5."""
    return 0.5 * math.exp(-check_level(d) / 5)


def bundle_categories(d: int) -> int:
    """Categories that a BUNDLE needs, 3 to 12."""
    return min(12, 3 + check_level(d) // 2)


def journey_intents(d: int) -> int:
    """Parts of a JOURNEY, 2 to 5."""
    return min(5, 2 + check_level(d) // 4)


# Environment-specific functions of d, by the name under which commands and documents show them.
DERIVED: dict[str, Callable[[int], float]] = {
    "cart_items": cart_items,
    "cart_p_variant": cart_p_variant,
    "cart_p_quantity": cart_p_quantity,
    "visit_history_size": visit_history_size,
    "return_p_edge": return_p_edge,
    "status_p_indirect": status_p_indirect,
    "discovery_alpha": discovery_alpha,
    "substitution_lambda": substitution_lambda,
    "slack": slack,
    "bundle_categories": bundle_categories,
    "journey_intents": journey_intents,
}


def journey_turn_budget(parts: Sequence[Difficulty]) -> int:
    """Agent turns of a JOURNEY: the sum of its parts' budgets (the published single budget fits few of them).

    Raises:
        UsageError: no part (code `bad_difficulty`).
    """
    if not parts:
        raise UsageError("journey: expected at least one part, found none", code="bad_difficulty")
    return sum(part.turn_budget for part in parts)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _checked(name: str, value: float) -> float:
    if name not in AXES:
        raise UsageError(f"axis: expected one of {list(AXES)}, found {name!r}", code="unknown_axis")
    if name in _SHARES:
        expected = "a number within [0, 1]"
        fits = isinstance(value, (int, float)) and 0 <= value <= 1
    else:
        expected = "an integer of at least 1"
        fits = isinstance(value, int) and value >= 1
    if isinstance(value, bool) or not fits:
        raise UsageError(f"{name}: expected {expected}, found {value!r}", code="bad_axis_value")
    return value
