"""Products and days of an order history: many of one category, so that descriptions nearly fit others.

Belongs here: drawing them at a cost that does not depend on the catalogue. The history itself is
`overlay.orders`.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil
from typing import Final, TypeAlias

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.difficulty import MOST_ORDERS
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.overlay import Plan
from shopsim_env.rlve.overlay.orders import AGES

# Draws the plan of one order.
Law: TypeAlias = Callable[[], Plan]
# Draws per product: a catalogue of which most products have a price needs one or two.
_TRIES: Final = 50
_DAY_TRIES: Final = 12
BACKGROUND_ORDERS: Final = 3


def history_length(setting: Setting) -> int:
    """Orders of a history: the published number, three more to confuse, and an end to it."""
    return min(MOST_ORDERS, setting.axes.H_orders) + BACKGROUND_ORDERS


def of_status(draws: Draws, status: str) -> Law:
    """Orders of this status, of any age that it can have."""
    return lambda: Plan(status, draws.between(*AGES[status]))


def different_days(laws: Iterable[Law]) -> list[Plan]:
    """One plan by each law, of different ages as far as some tries find them.

    Orders of one day cannot be told apart in a few turns, so they could not be meant where turns are few.
    """
    found: dict[int, list[Plan]] = {}
    for law in laws:
        plan = law()
        for _ in range(_DAY_TRIES):
            if plan.age not in found:
                break
            plan = law()
        found.setdefault(plan.age, []).append(plan)
    return [plan for plans in found.values() for plan in plans]


def draw_goods(
    setting: Setting,
    draws: Draws,
    count: int,
    pool: Pool | None = None,
    share: Fraction = Fraction(1, 2),
    fits: Callable[[Good], bool] = lambda _: True,
) -> list[int]:
    """Numbers of different products with a price: some of the pool, the others of the whole catalogue.

    Args:
        setting: Catalogue.
        draws: Draws of the goal.
        count: Products.
        pool: Category of the first ones; drawn when not given.
        share: Share of that category.
        fits: Which of its products.

    Raises:
        UsageError: too few products with a price (code `no_choice`).
    """
    pools, shelf = setting.pools, setting.overlay.shelf
    chosen = pool or pools.pool(draws.pick(pools.categories))
    found: dict[int, None] = {}
    # A small category has not so many for a long history.
    of_pool = min(ceil(count * share), len(chosen) // 2)
    for tried in range(_TRIES * count):
        if len(found) < of_pool and 2 * tried < _TRIES * count:
            good = draws.pick(chosen.goods)
            number, price = good.number, good.price_low if fits(good) else None
        else:
            number = 1 + draws.below(len(setting.overlay.world))
            price = shelf.item(number).facts.price_low
        if price is not None:
            found.setdefault(number)
        if len(found) == count:
            return list(found)
    raise UsageError(
        f"expected {count} products with a price for an order history, found {len(found)}; give the products "
        "prices",
        code="no_choice",
    )
