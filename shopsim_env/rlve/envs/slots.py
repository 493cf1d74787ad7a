"""Slots of a bundle: categories with constraints that the price binds, and what they cost at least.

Belongs here: drawing them. What a bundle is, and its grading, is in `bundle`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from shopsim_env.rlve.choosing.choice import Choice, Limits, choose_in, no_choice
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting
from shopsim_env.rlve.envs.goods import PRICED, kinds_of, limits_of
from shopsim_env.rlve.fact_model import Good

FEWEST_SLOTS: Final = 2
WHOLE_UNIT: Final = 100
_MOST_CONSTRAINTS: Final = 2
_SLOT_DRAWS: Final = 8


def budget_for(optimum: int, slack: float) -> int:
    """The budget: the least that the slots cost, widened by the slack, rounded up to whole units of money."""
    widened = optimum * (1000 + int(1000 * slack))
    return -(-widened // (1000 * WHOLE_UNIT)) * WHOLE_UNIT


def cheapest(slot: Choice) -> Good:
    """The cheapest product that fits a slot."""
    return min(slot.feasible, key=lambda good: (good.price_low or 0, good.number))


def optimum_of(slots: Iterable[Choice]) -> int:
    """The least that products which fit all slots cost, in hundredths; no slot depends on another."""
    return sum(cheapest(slot).price_low or 0 for slot in slots)


def slot_names(pools: Sequence[Pool]) -> tuple[str, ...]:
    """Names of the slots: the last level, or the whole path where two end alike."""
    last = [pool.category.levels[-1] for pool in pools]
    often = Counter(last)
    paths = ["›".join(pool.category.levels) for pool in pools]
    return tuple(name if often[name] == 1 else path for name, path in zip(last, paths, strict=True))


def draw_slots(setting: Setting, draws: Draws, wanted: int) -> tuple[Choice, ...]:
    """Slots of different categories without subcategories; fewer where the catalogue has not so many.

    Raises:
        UsageError: not even two (code `no_choice`).
    """
    found: list[Choice] = []
    for category in draws.shuffled(setting.pools.slots(wanted)):
        slot = _slot(setting, setting.pools.pool(category), draws)
        if slot is not None:
            found.append(slot)
        if len(found) == wanted:
            break
    if len(found) < min(wanted, FEWEST_SLOTS):
        raise no_choice(limits_of(setting, 1))
    return tuple(found)


def _slot(setting: Setting, pool: Pool, draws: Draws) -> Choice | None:
    """Constraints in one category, all of which the price binds; None when a few draws find none."""
    most = 1 if setting.axes.m == 1 else _MOST_CONSTRAINTS
    for _ in range(_SLOT_DRAWS):
        limits = slot_limits(setting, pool, draws.between(1, most))
        slot = choose_in(pool, draws, limits, setting.overlay.stock.remains)
        if slot is not None and binds(setting, slot):
            return slot
    return None


def slot_limits(setting: Setting, pool: Pool, constraints: int) -> Limits:
    """Limits of a slot. Products without a price do not fit, and take places of a search's hits.

    The budget speaks for the price: the cheapest product of a category must not meet its constraints.
    """
    limits = limits_of(setting, constraints)
    unpriced = len(pool) - pool.priced.bit_count()
    most = max(1, min(limits.most, setting.axes.top_k - unpriced))
    return replace(limits, fewest=1, most=most, misses=1, kinds=kinds_of(setting, PRICED))


def binds(setting: Setting, slot: Choice) -> bool:
    """Whether neglecting any constraint makes a product the cheapest that does not fit."""
    price, remains = cheapest(slot).price_low or 0, setting.overlay.stock.remains
    return all(
        any((good.price_low or 0) < price and remains(good.number) for good in goods) for goods in slot.near()
    )
