"""What one episode adds to the catalogue: ids, stock, variants, cart, orders, returns, and what was seen.

Names that others use are here; each part has its module.
"""

from shopsim_env.rlve.overlay.cart import Cart, CartLine
from shopsim_env.rlve.overlay.ids import SOURCES, OpaqueIds, Seen
from shopsim_env.rlve.overlay.orders import (
    STATUSES,
    Account,
    Order,
    OrderBook,
    OrderLine,
    Plan,
    order_book,
    simulated_today,
)
from shopsim_env.rlve.overlay.overlay import Overlay, eligibility
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.overlay.returns import Eligibility, Exchange, Return
from shopsim_env.rlve.overlay.stock import Stock
from shopsim_env.rlve.overlay.variants import Variant, Variants, synthesize

__all__ = [
    "SOURCES",
    "STATUSES",
    "Account",
    "Cart",
    "CartLine",
    "Eligibility",
    "Exchange",
    "OpaqueIds",
    "Order",
    "OrderBook",
    "OrderLine",
    "Overlay",
    "Plan",
    "RefusalError",
    "Return",
    "Seen",
    "Stock",
    "Variant",
    "Variants",
    "eligibility",
    "order_book",
    "simulated_today",
    "synthesize",
]
