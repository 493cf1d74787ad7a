"""`Selections`: which products a filter leaves, as a set for a search and as a list by price.

Shared by all episodes. Belongs here: filtering by the facts of the world. Stock that an episode takes away
comes on top in the tools.
"""

from array import array
from typing import Final

from shopsim_env.cache import BoundedCache
from shopsim_env.rlve.choosing.constraint import Constraint, as_wishes
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.facts import ROOT_CATEGORY, World
from shopsim_env.search.where import ProductSet

KEPT_SELECTIONS: Final = 256
_KEPT_ORDERS: Final = 512
# Categories of at most so many products are filtered as bit sets, larger ones through the indexes.
LARGEST_POOL: Final = 50_000


class Selection:
    """Products that meet a filter, those without a price first, then the cheapest.

    Args:
        numbers: Their numbers, in this order.
        products: Products of the catalogue.
        products_set: The same as a set, where that costs nothing.
    """

    __slots__ = ("_products", "_set", "numbers")

    def __init__(self, numbers: "array[int]", products: int, products_set: ProductSet | None = None) -> None:
        self.numbers = numbers
        self._products = products
        self._set = products_set

    def product_set(self) -> ProductSet:
        """The same products for a search."""
        if self._set is None:
            # As `search.where.product_set` does, without its checks: these numbers come from the world.
            mask = bytearray((self._products + 7) // 8)
            for number in self.numbers:
                row = number - 1
                mask[row >> 3] |= 1 << (row & 7)
            self._set = ProductSet(bytes(mask), len(self.numbers))
        return self._set


class Selections:
    """Selections of a world, the latest ones kept. Threads may share one.

    Args:
        world: The facts.
        pools: Pools of the same world.
    """

    def __init__(self, world: World, pools: Pools) -> None:
        self._world = world
        self._pools = pools
        self._kept: BoundedCache[tuple[object, ...], Selection] = BoundedCache(KEPT_SELECTIONS)
        self._orders: BoundedCache[int, list[tuple[int, int]]] = BoundedCache(_KEPT_ORDERS)
        self._sizes: dict[int, int] = {}

    def is_small(self, category: int) -> bool:
        """Whether the products of a category are few enough to stand side by side in a pool."""
        size = self._sizes.get(category)
        if size is None:
            size = self._sizes[category] = self._world.category(category).products
        return size <= LARGEST_POOL

    def selection(
        self, category: int | None, constraints: tuple[Constraint, ...], in_stock: bool
    ) -> Selection:
        """The products of a category, None for all, that meet the constraints.

        Raises:
            UsageError: An unknown family, value or category.
        """
        key = (category, constraints, in_stock)
        found = self._kept.get(key)
        if found is None:
            first = ROOT_CATEGORY if category is None else category
            pick = self._picked if self.is_small(first) else self._queried
            found = pick(first, constraints, in_stock)
            self._kept.put(key, found)
        return found

    def _picked(self, category: int, constraints: tuple[Constraint, ...], in_stock: bool) -> Selection:
        pool = self._pools.pool(category)
        bits = pool.column("stock").from_on(1) if in_stock else (1 << len(pool)) - 1
        for item in constraints:
            bits &= pool.meeting(item)
        flags = f"{bits:0{len(pool)}b}"[::-1]
        numbers = array("L", [number for place, number in self._order(category) if flags[place] == "1"])
        products, mask = len(self._world), None
        if category == ROOT_CATEGORY:
            # All products in order of their numbers: the bits are the mask already.
            mask = ProductSet(bits.to_bytes((products + 7) // 8, "little"), len(numbers))
        return Selection(numbers, products, mask)

    def _queried(self, category: int, constraints: tuple[Constraint, ...], in_stock: bool) -> Selection:
        wishes = as_wishes(category, constraints, in_stock=in_stock)
        return Selection(array("L", self._world.matching_numbers(wishes)), len(self._world))

    def _order(self, category: int) -> list[tuple[int, int]]:
        """Place and number of the products of a pool, in the order of `World.matching`."""
        order = self._orders.get(category)
        if order is None:
            priced = [
                (-1 if good.price_low is None else good.price_low, place, good.number)
                for place, good in enumerate(self._pools.pool(category).goods)
            ]
            order = [(place, number) for _, place, number in sorted(priced)]
            self._orders.put(category, order)
        return order
