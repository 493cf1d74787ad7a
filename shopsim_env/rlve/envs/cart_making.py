"""Drawing goals of CART: the visited products, the variants that they come in, units, a change of mind.

Belongs here: shares, stock and variants. Which products and facts is decided in `visits`; grading is in
`cart`.
"""

from collections.abc import Sequence
from typing import Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting, Task, turns_for
from shopsim_env.rlve.envs.cart import CartBuilding
from shopsim_env.rlve.envs.cart_items import LEAST_UNITS, MOST_UNITS, Item
from shopsim_env.rlve.envs.visits import Visited, Wanted, choose_visits
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.overlay import Variant, synthesize
from shopsim_env.rlve.overlay.variants import VARIANTS

_MOST_FACTS: Final = 2


def make(setting: Setting) -> Task:
    """Draws a goal of cart building.

    Raises:
        UsageError: the catalogue has no products that a few facts tell apart (code `no_choice`).
    """
    draws, axes, level = setting.draws.fork("goal"), setting.axes, setting.task_axes
    count = level.cart_items
    while count > 1 and 1 + 2 * turns_for(count, axes.B_tool) > axes.T_max:
        count -= 1
    wanted = Wanted(count, min(axes.m, _MOST_FACTS), level.cart_visits - level.cart_items, level.slack)
    visited = choose_visits(setting.pools, draws, wanted, setting.overlay.stock)
    changed = draws.below(count) if draws.chance(axes.p_switch) else None
    items = [_item(setting, draws, one, at == changed) for at, one in enumerate(visited)]
    numbers = [good.number for one in visited for good in (one.good, *one.others)]
    setting.overlay.visits = tuple(draws.shuffled(numbers))
    _stock(setting, [good for one in visited for good in one.others])
    return CartBuilding(setting, items)


def _item(setting: Setting, draws: Draws, visited: Visited, changed: bool) -> Item:
    """Units and variant of an item; as many of the products beside it have variants as of the wanted ones."""
    level, stock, number = setting.task_axes, setting.overlay.stock, visited.good.number
    units = draws.between(LEAST_UNITS, MOST_UNITS) if draws.chance(level.cart_p_quantity) else 1
    before = draws.pick([other for other in range(1, MOST_UNITS + 1) if other != units]) if changed else units
    if visited.good.stock < max(units, before):
        stock.force(number, MOST_UNITS)
    families = _variant_families(setting, visited)
    for good in (visited.good, *visited.others):
        if families and draws.chance(level.cart_p_variant):
            _plan_variants(setting, good.number, families)
    # Any of them, not the one that the product's own facts name: those are on its card.
    variants = setting.overlay.variants.get(number)
    return Item(visited, draws.pick(variants) if variants else None, units, before)


def _stock(setting: Setting, goods: Sequence[Good]) -> None:
    """Puts products in stock where the shop has them at all: stock must not tell which one is meant."""
    stock = setting.overlay.stock
    for good in goods:
        if good.stock > 0 and not stock.remains(good.number):
            stock.force(good.number, good.stock)


def _variant_families(setting: Setting, visited: Visited) -> list[str]:
    """Families for variants, without those by which the customer describes the product."""
    said = {fact.family for fact in visited.facts}
    families = setting.families
    return [
        name
        for name in visited.pool.category.families
        if name not in said and len(families[name].pool) >= VARIANTS
    ]


def _plan_variants(setting: Setting, number: int, families: Sequence[str]) -> None:
    overlay, draws = setting.overlay, setting.draws

    def made() -> tuple[Variant, ...]:
        facts = overlay.shelf.item(number).facts
        return synthesize(
            facts, families, draws.fork("variants", number), overlay.world, least_stock=MOST_UNITS
        )[0]

    overlay.variants.plan(number, made)
