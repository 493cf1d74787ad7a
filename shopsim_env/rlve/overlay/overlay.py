"""`Overlay`: everything that one episode adds to the immutable catalogue.

Belongs here: putting the parts together, showing products to the agent, and the questions that tools,
generators and graders share. Parts have their own modules; tools act on them.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from shopsim_env.errors import UsageError
from shopsim_env.release.opening import Release
from shopsim_env.rlve.difficulty import Axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.overlay.cart import Cart
from shopsim_env.rlve.overlay.ids import OpaqueIds, Seen
from shopsim_env.rlve.overlay.orders import Account, Order, OrderBook, simulated_today
from shopsim_env.rlve.overlay.returns import Eligibility, Exchange, Return, decide, group_of
from shopsim_env.rlve.overlay.stock import Stock
from shopsim_env.rlve.overlay.variants import Variant, Variants
from shopsim_env.rlve.shelf import Shelf


class Policies(Protocol):
    """What the policy tool asks."""

    def search(self, query: str, top_k: int, language: str) -> Sequence[Mapping[str, Any]]:
        """The best snippets, each as JSON."""


class Overlay:
    """The world of one episode. Making one reads nothing from disk.

    Args:
        shelf: The catalogue, shared.
        axes: Difficulty.
        draws: The episode's draws; nothing is drawn from them, parts fork by name.
        language: `zh` or `en`.
        currency: Code of the amounts.
        today: The episode's day; drawn when not given.

    Attributes:
        visits: Product numbers of the visit history, set before the start.
        returns, exchanges: What was started, in order.
        checked: Order and line ids whose eligibility was asked.
        carted, exchanged: Product ids that the agent named to the cart and in exchanges, also unknown ones.
        checkout: Orders placed in the episode.
        searches: Searches so far.
    """

    def __init__(
        self,
        shelf: Shelf,
        axes: Axes,
        draws: Draws,
        *,
        language: str = "zh",
        currency: str = "CNY",
        today: date | None = None,
    ) -> None:
        self.shelf = shelf
        self.world: World = shelf.world
        self.release: Release = shelf.release
        self.language = language
        self.currency = currency
        self.axes = axes
        self.draws = draws
        self.today = today or simulated_today(draws)
        self.ids = OpaqueIds(draws)
        self.seen = Seen()
        self.stock = Stock(shelf, draws, axes.p_oos)
        self.variants = Variants()
        self.cart = Cart(self.stock)
        self.account = Account.of(draws)
        self.book = OrderBook()
        self.returns: list[Return] = []
        self.exchanges: list[Exchange] = []
        self.checked: set[tuple[str, str]] = set()
        self.visits: tuple[int, ...] = ()
        self.policies: Policies | None = None
        self.carted: dict[str, None] = {}
        self.exchanged: dict[str, None] = {}
        self.checkout: list[Order] = []
        self.searches = 0

    def show(self, number: int, source: str) -> str:
        """Shows a product to the agent: its id resolves from now on and counts as seen.

        Args:
            number: The product.
            source: One of `ids.SOURCES`.

        Raises:
            UsageError: Another source (code `unknown_source`).
        """
        name = self.ids.show(number)
        self.seen.add(name, source)
        return name

    def returned(self) -> frozenset[tuple[str, str]]:
        """Order and line ids of the returns and exchanges that were started."""
        return frozenset((item.order_id, item.line_id) for item in self.returns)

    def variant(self, number: int, variant_id: str) -> Variant | None:
        """The variant of a product with this id."""
        return next((item for item in self.variants.get(number, ()) if item.id == variant_id), None)


def eligibility(overlay: Overlay, order_id: str, line_id: str) -> Eligibility:
    """Whether a line may go back now.

    Raises:
        UsageError: No such order or line (code `unknown_order_line`).
    """
    order = overlay.book.order(order_id)
    line = order.line(line_id) if order else None
    if order is None or line is None:
        raise UsageError(
            f"expected an order and its line, found {order_id!r}, {line_id!r}", code="unknown_order_line"
        )
    category = overlay.world.category(overlay.shelf.item(line.number).facts.category)
    return decide(order, line_id, group_of(category.levels), overlay.today, overlay.returned())
