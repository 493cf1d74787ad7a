"""Budgets of the sample tasks: the right reading, chosen before it is put into words (`budget_phrases`).

A budget is chosen so that the gold price fits or, on request, does not. Families and frequencies follow the
real instructions, the readings follow the project's budget table (docs/reward.md): inclusive ceilings, one
tolerance of 1.10 for approximate amounts.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

TOLERANCE = Decimal("1.1")

# Last price clause of 2,473 real instructions; "hidden" is the part of the clauses without a money word that
# still holds an amount.
FAMILY_WEIGHTS = {
    "around": 1322,
    "within": 349,
    "not_over": 297,
    "none": 90,
    "hidden": 22,
    "bare": 106,
    "range": 94,
    "odd": 87,
    "about": 71,
    "unit_price": 18,
    "lower_only": 9,
    "deposit": 5,
    "ambiguous": 1,
}
CEILING_KINDS = ("hard_upper", "approximate_upper")


@dataclass(frozen=True, slots=True)
class Budget:
    """The right reading of a task's budget, and what is needed to word it.

    `amount` and `upper` are yuan or None; `low` is the lower end of a range, a deposit or a second total,
    `form` tells apart the phrase forms that fix the amount (十几 means 19, 多 and 出头 mean the round sum).
    """

    family: str
    kind: str
    amount: int | None = None
    low: int | None = None
    form: str = ""

    @property
    def upper(self) -> Decimal | None:
        """The inclusive ceiling by the table, None without one."""
        if self.amount is None or self.kind not in CEILING_KINDS:
            return None
        if self.kind == "hard_upper":
            return Decimal(self.amount)
        return (self.amount * TOLERANCE).quantize(Decimal("1e-8"), ROUND_HALF_EVEN).normalize()


def choose_budget(rng: random.Random, family: str, price: int) -> Budget:
    """A budget of `family` whose reading lets a purchase at `price` (yuan, > 0) pass."""
    return _CHOOSERS[family](rng, price)


def ceiling_below(rng: random.Random, price: int) -> Budget:
    """A budget that `price` exceeds even with the tolerance."""
    family = rng.choice(("within", "not_over"))
    amount = max(1, min(int(price * 0.7), round_down(int(price * 0.8))))
    return Budget(family, "hard_upper", amount)


def other_amount(rng: random.Random, budget: Budget) -> Budget:
    """The same family with a clearly different amount: the second half of a conflict between two texts."""
    if budget.amount is None:
        raise ValueError(f"a budget with an amount is needed, found {budget}")
    factor = rng.choice((0.6, 0.7, 1.4, 1.6))
    amount = max(1, round_up(int(budget.amount * factor)))
    if amount == budget.amount:
        amount += max(1, _step(amount))
    return Budget(budget.family, budget.kind, amount)


def _step(price: int) -> int:
    """Grid on which people give a budget for goods at this price."""
    for limit, step in ((10, 1), (50, 5), (300, 10), (1000, 50), (5000, 100), (20_000, 500)):
        if price < limit:
            return step
    return int(10 ** (len(str(price)) - 2))


def round_up(price: int) -> int:
    """`price` rounded up to an amount that people name."""
    step = _step(price)
    return -(-price // step) * step


def round_down(price: int) -> int:
    """`price` rounded down to an amount that people name, at least 1."""
    step = _step(price)
    return max(1, price // step * step)


def _hard(family: str) -> Callable[[random.Random, int], Budget]:
    def choose(rng: random.Random, price: int) -> Budget:
        slack = rng.choices((1.0, 1.05, 1.2), (70, 20, 10))[0]
        return Budget(family, "hard_upper", round_up(int(-(-price * slack // 1))))

    return choose


def _approximate(family: str) -> Callable[[random.Random, int], Budget]:
    def choose(rng: random.Random, price: int) -> Budget:
        near = round_down(price) if rng.random() < 0.4 else round_up(price)
        amount = near if near * TOLERANCE >= price else round_up(price)
        return Budget(family, "approximate_upper", amount)

    return choose


def _within(rng: random.Random, price: int) -> Budget:
    if 80 <= price <= 100 and rng.random() < 0.3:
        return Budget("within", "hard_upper", 100, form="hundred")
    return _hard("within")(rng, price)


def _not_over(rng: random.Random, price: int) -> Budget:
    budget = _hard("not_over")(rng, price)
    if price >= 300 and rng.random() < 0.04:
        return Budget("not_over", "hard_upper", budget.amount, round_up(price // 10), "deposit_and_total")
    return budget


def _range(rng: random.Random, price: int) -> Budget:
    high = round_up(price)
    low = max(1, high - rng.choice((1, 2, 3)) * _step(high))
    if low == high:
        high += 1
    return Budget("range", "hard_upper", high, low, rng.choices(("span", "floor"), (94, 6))[0])


def _odd(rng: random.Random, price: int) -> Budget:
    if 11 <= price <= 99 and price % 10 and rng.random() < 0.25:
        return Budget("odd", "approximate_upper", price // 10 * 10 + 9, form="teens")
    scale = 10 ** max(0, len(str(price)) - 2)
    base = price // scale * scale
    form = "more" if base % 10 == 0 and rng.random() < 0.45 else "just_over"
    return Budget("odd", "approximate_upper", base, form=form)


def _hidden(rng: random.Random, price: int) -> Budget:
    if price >= 20 and rng.random() < 0.7:
        near = _approximate("hidden")(rng, price)
        forms = ["around_post", "around_done"] + (["just_over"] if price >= 1000 else [])
        return Budget("hidden", near.kind, near.amount, form=rng.choice(forms))
    amount = _hard("hidden")(rng, price).amount
    return Budget("hidden", "hard_upper", amount, form=rng.choice(("done", "within_post")))


def _none(rng: random.Random, _price: int) -> Budget:
    return Budget("none", "no_budget", form="decoy" if rng.random() < 0.4 else "silent")


def _unit_price(rng: random.Random, price: int) -> Budget:
    return Budget("unit_price", "non_total_price", low=round_up(price), form=rng.choice(("word", "piece")))


def _lower_only(_rng: random.Random, price: int) -> Budget:
    return Budget("lower_only", "lower_only", low=round_down(max(1, int(price * 0.8))))


def _deposit(rng: random.Random, price: int) -> Budget:
    return Budget("deposit", "non_total_price", low=round_up(max(5, price // 5)), form=rng.choice("dim"))


def _ambiguous(rng: random.Random, price: int) -> Budget:
    if price < 10 or price > 999 or rng.random() < 0.4:
        return Budget("ambiguous", "ambiguous", low=round_up(price), form="two_totals")
    return Budget("ambiguous", "ambiguous", form="几十块" if price < 100 else "几百块")


_CHOOSERS: dict[str, Callable[[random.Random, int], Budget]] = {
    "around": _approximate("around"),
    "within": _within,
    "not_over": _not_over,
    "none": _none,
    "hidden": _hidden,
    "bare": _hard("bare"),
    "range": _range,
    "odd": _odd,
    "about": _approximate("about"),
    "unit_price": _unit_price,
    "lower_only": _lower_only,
    "deposit": _deposit,
    "ambiguous": _ambiguous,
}
