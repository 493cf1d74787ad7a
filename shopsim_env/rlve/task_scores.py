"""Task scores of the eight environments: pure functions from what was wanted and what was done.

Belongs here: the published formulas, each with an exact success flag of its own. What counts as right (a
line, a status, a feasible product) is decided by the environments. Changes from the published rules are in
`docs/rlve.md`.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.exact import Number, clip, exact, within

PASS_LINE = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Score:
    """A task score in [-1, 1] and whether the task succeeded; neither follows from the other."""

    task: Fraction
    success: bool


@dataclass(frozen=True, slots=True)
class CartLine:
    """One line of a cart; `quantity` is a count of at least 1."""

    product_id: str
    variant_id: str | None
    quantity: int


def f1(matched: int, found: int, wanted: int) -> Fraction:
    """Harmonic mean of precision and recall from counts: 2 * matched / (found + wanted); 0 for no match."""
    return Fraction(2 * matched, found + wanted) if matched else Fraction(0)


def cart_score(
    quantities: Mapping[str, int], variants: Mapping[str, str], lines: Iterable[CartLine]
) -> Score:
    """CART: F1 over units, 2 * F1 - 1; success is the exact cart.

    Args:
        quantities: Wanted product to its quantity, at least 1; not empty.
        variants: Wanted product to the variant it must have; others may have any.
        lines: The cart at the end.

    Raises:
        UsageError: nothing wanted, a quantity below 1 or a variant of an unwanted product (`bad_goal`); a
            line without a unit (`bad_cart`).
    """
    if not quantities or min(quantities.values()) < 1 or not variants.keys() <= quantities.keys():
        raise UsageError(
            "cart: expected wanted products with quantities of at least 1 and variants of those only, "
            f"found quantities {dict(quantities)} and variants {dict(variants)}",
            code="bad_goal",
        )
    in_cart: dict[str, int] = {}
    units = 0
    for line in lines:
        if line.quantity < 1:
            raise UsageError(f"cart line: expected at least 1 unit, found {line.quantity}", code="bad_cart")
        units += line.quantity
        if line.variant_id == variants.get(line.product_id, line.variant_id):
            in_cart[line.product_id] = in_cart.get(line.product_id, 0) + line.quantity
    matched = sum(min(count, in_cart.get(product, 0)) for product, count in quantities.items())
    value = f1(matched, units, sum(quantities.values()))
    return Score(2 * value - 1, success=value == 1)


def bundle_score(
    filled: Set[str | None], wanted: Set[str], cost: Number, budget: Number | None = None
) -> Score:
    """BUNDLE: F1 over categories minus the share by which the budget is exceeded; success is exact.

    Args:
        filled: Categories whose pick meets the constraints of its slot; None stands for all other picks.
        wanted: Categories that the customer needs; not empty.
        cost: Price of all picks, 0 or more, in the unit of `budget`.
        budget: Most to spend, above 0; None for no limit.

    Raises:
        UsageError: nothing wanted, or a budget or cost that cannot be (code `bad_goal`); `not_a_number`.
    """
    spent = exact(cost, "cost")
    limit = None if budget is None else exact(budget, "budget")
    if not wanted or spent < 0 or (limit is not None and limit <= 0):
        raise UsageError(
            f"bundle: expected wanted categories, cost >= 0 and budget > 0, found {sorted(wanted)}, {cost}, "
            f"{budget}",
            code="bad_goal",
        )
    value = f1(len(filled & wanted), len(filled), len(wanted))
    over = max(Fraction(0), (spent - limit) / limit) if limit is not None else Fraction(0)
    return Score(clip(2 * value - 1 - over), success=value == 1 and over == 0)


def return_score(
    *, selected: bool, handled: bool, replacement_wanted: bool, replacement: Number | None = None
) -> Score:
    """RETURN: 0.45 for the line, 0.45 for handling it, 0.10 for the replacement.

    Args:
        selected: Order and line of the answer are right.
        handled: A return of that line and of no other was started; for an ineligible request, none was
            started, the line was checked and the reason given.
        replacement_wanted: The customer wants another product instead.
        replacement: Its quality, clipped to [-1, 1]; None when there is none.

    Raises:
        UsageError: the quality is not a finite number (code `not_a_number`).
    """
    quality = Fraction(1)
    if replacement_wanted:
        quality = Fraction(-1) if replacement is None else clip(exact(replacement, "replacement"))
    task = Fraction(45, 100) * (_sign(selected) + _sign(handled)) + Fraction(10, 100) * quality
    return Score(clip(task), success=selected and handled and quality >= PASS_LINE)


def status_score(*, order_right: bool, status: str, reported: str | None) -> Score:
    """STATUS: half for the order, half for its status, compared without case and outer space."""
    status_right = reported is not None and _folded(reported) == _folded(status)
    return Score(Fraction(order_right + status_right - 1), success=order_right and status_right)


def policy_number_score(answer: Number | None, truth: Number) -> Score:
    """POLICY, a number: 2 * (smaller / larger)^4 - 1; -1 for the other sign, for 0 against another, for none.

    Raises:
        UsageError: not a finite number (code `not_a_number`).
    """
    wanted = exact(truth, "truth")
    if answer is None:
        return Score(Fraction(-1), success=False)
    given = exact(answer, "answer")
    if given == wanted:
        return Score(Fraction(1), success=True)
    if given * wanted <= 0:
        return Score(Fraction(-1), success=False)
    small, large = sorted((abs(given), abs(wanted)))
    return Score(2 * (small / large) ** 4 - 1, success=False)


def policy_text_score(answer: str | None, truth: str) -> Score:
    """POLICY, a word: 1 when equal without case and outer space, else -1."""
    right = answer is not None and _folded(answer) == _folded(truth)
    return Score(Fraction(_sign(right)), success=right)


def ndcg(listed: Iterable[str], gains: Mapping[str, float], k: int) -> float:
    """nDCG@k with linear gain and the discount log2(rank + 1), in [0, 1].

    Args:
        listed: Product ids as recommended; a repeated one counts where it came first.
        gains: Gain in [0, 1] of every feasible product, at least one of them above 0: the ideal is over all
            of them. Any other product gains nothing.
        k: Ranks that count, 1 or more.

    Raises:
        UsageError: a gain that cannot be (codes `not_a_number`, `out_of_range`), none above 0 or k below 1
            (code `bad_goal`).
    """
    for product, gain in gains.items():
        within(gain, f"gain of {product}", 0, 1)
    if k < 1 or not any(gain > 0 for gain in gains.values()):
        raise UsageError(f"nDCG: expected k >= 1 and a gain above 0, found k = {k}", code="bad_goal")
    ideal = _discounted(sorted(gains.values(), reverse=True)[:k])
    got = _discounted([gains.get(product, 0.0) for product in dict.fromkeys(listed)][:k])
    return min(1.0, got / ideal)


def rank_score(value: Number) -> Fraction:
    """2 * nDCG - 1."""
    return 2 * within(value, "nDCG", 0, 1) - 1


def constraint_score(satisfied: Number, alpha: int) -> Fraction:
    """2 * satisfied^alpha - 1, from the best satisfied share of constraints on the list."""
    return 2 * within(satisfied, "satisfied share", 0, 1) ** alpha - 1


def stock_score(listed: Collection[str], in_stock: Set[str]) -> Fraction:
    """Minus the share of listed products that are out of stock or unknown; 0 for an empty list."""
    different = set(listed)
    return -Fraction(len(different - in_stock), len(different)) if different else Fraction(0)


def discovery_task(rank: Number, constraints: Number, stock: Number) -> Fraction:
    """PD: 0.55 * rank + 0.35 * constraints + 0.10 * stock; at most 0.90."""
    parts = within(rank, "rank"), within(constraints, "constraints"), within(stock, "stock", -1, 0)
    return clip((55 * parts[0] + 35 * parts[1] + 10 * parts[2]) / 100)


def discovery_success(listed: Sequence[str], feasible: Mapping[str, float], k: int) -> bool:
    """PD: every listed product is feasible and nDCG@k is at least 0.95.

    Args:
        listed: Product ids as recommended.
        feasible: Gain of every product that meets all constraints and is in stock.
        k: Ranks that count.
    """
    return all(product in feasible for product in listed) and ndcg(listed, feasible, k) >= PASS_LINE


def substitution_relevance(similarity: Number, satisfied: Number, weight: Number) -> Fraction:
    """SUB: weight * similarity + (1 - weight) * satisfied, all within [0, 1]."""
    share = within(weight, "weight", 0, 1)
    close, met = within(similarity, "similarity", 0, 1), within(satisfied, "satisfied share", 0, 1)
    return share * close + (1 - share) * met


def substitution_task(rank: Number, stock: Number) -> Fraction:
    """SUB: 0.80 * rank + 0.20 * stock; at most 0.80."""
    return clip((80 * within(rank, "rank") + 20 * within(stock, "stock", -1, 0)) / 100)


def substitution_success(listed: Collection[str], best: Set[str]) -> bool:
    """SUB: something is listed and all of it is of the top tier, meets all constraints and is in stock."""
    return bool(listed) and set(listed) <= best


def journey_score(parts: Sequence[Score]) -> Score:
    """JOURNEY: the mean of its parts, success when every part succeeded; -1 without parts."""
    if not parts:
        return Score(Fraction(-1), success=False)
    task = sum((part.task for part in parts), Fraction(0)) / len(parts)
    return Score(clip(task), success=all(part.success for part in parts))


def _sign(right: bool) -> int:
    return 1 if right else -1


def _folded(text: str) -> str:
    return text.strip().casefold()


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
