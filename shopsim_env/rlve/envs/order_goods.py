"""Products of which an order history is made: half of one category, so that descriptions nearly fit others.

Belongs here: drawing them at a cost that does not depend on the catalogue. The history itself is
`overlay.orders`.
"""

from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.difficulty import MOST_ORDERS
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting

# Draws per product: a catalogue of which most products have a price needs one or two.
_TRIES: Final = 50
BACKGROUND_ORDERS: Final = 3


def history_length(setting: Setting) -> int:
    """Orders of a history: the published number, three more to confuse, and an end to it."""
    return min(MOST_ORDERS, setting.axes.H_orders) + BACKGROUND_ORDERS


def draw_goods(
    setting: Setting, draws: Draws, count: int, pool: Pool | None = None, without: int | None = None
) -> list[int]:
    """Numbers of different products with a price: half of the pool, the others of the whole catalogue.

    Args:
        setting: Catalogue.
        draws: Draws of the goal.
        count: Products.
        pool: Category of one half; drawn when not given.
        without: A product that is not wanted.

    Raises:
        UsageError: too few products with a price (code `no_choice`).
    """
    pools, shelf = setting.pools, setting.overlay.shelf
    chosen = pool or pools.pool(draws.pick(pools.categories))
    found: dict[int, None] = {}
    # A small category has no half of a long history.
    of_pool = min((count + 1) // 2, len(chosen) // 2)
    for _ in range(_TRIES * count):
        if len(found) < of_pool:
            good = draws.pick(chosen.goods)
            number, price = good.number, good.price_low
        else:
            number = 1 + draws.below(len(setting.overlay.world))
            price = shelf.item(number).facts.price_low
        if price is not None and number != without:
            found.setdefault(number)
        if len(found) == count:
            return list(found)
    raise UsageError(
        f"expected {count} products with a price for an order history, found {len(found)}; give the products "
        "prices",
        code="no_choice",
    )
