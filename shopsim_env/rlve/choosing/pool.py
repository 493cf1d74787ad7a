"""`Pool`: the products of one category side by side, as bit sets.

Belongs here: which products of a category meet a constraint, answered in microseconds, because a generator asks
it hundreds of times per goal. Pools are made from the world once and shared by episodes; nothing in them is
an episode's. Which constraints make a goal is in `choice`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import compress
from typing import Final

from shopsim_env.cache import BoundedCache
from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.constraint import BOUNDS, Constraint
from shopsim_env.rlve.fact_model import Category, Good
from shopsim_env.rlve.facts import World

SMALLEST, LARGEST = 24, 20_000
KEPT_POOLS: Final = 256
_STEPS: Final = 64


class _Column:
    """Products in order of one fact, with the bit sets of the lowest ones at every few places."""

    def __init__(self, values: list[tuple[int, int]]) -> None:
        ordered = sorted(values)
        self._values = [value for value, _ in ordered]
        self._places = [place for _, place in ordered]
        self._step = max(1, len(ordered) // _STEPS)
        self._prefix = [0]
        bits = 0
        for at, place in enumerate(self._places, 1):
            bits |= 1 << place
            if at % self._step == 0:
                self._prefix.append(bits)
        self._all = bits

    def up_to(self, bound: int) -> int:
        """Products with at most this value."""
        return self._lowest(bisect_right(self._values, bound))

    def from_on(self, bound: int) -> int:
        """Products with at least this value."""
        return self._all & ~self._lowest(bisect_left(self._values, bound))

    def _lowest(self, count: int) -> int:
        whole = count // self._step
        bits = self._prefix[whole]
        for place in self._places[whole * self._step : count]:
            bits |= 1 << place
        return bits


class Pool:
    """Products of a category and below it; a set of them is an int with one bit per product.

    Args:
        world: Where the facts are.
        category: Number of the category.
    """

    def __init__(self, world: World, category: int) -> None:
        self.category: Category = world.category(category)
        self.goods: tuple[Good, ...] = tuple(world.goods(category))
        self.everything = (1 << len(self.goods)) - 1
        self._place = {good.number: place for place, good in enumerate(self.goods)}
        self._columns = {name: self._column(name) for name in ("price_low", "rating", "rating_count", "ship_days")}
        self.in_stock = self._bits(good.stock > 0 for good in self.goods)
        self.priced = self._columns["price_low"].from_on(1)
        self.brands: dict[str, int] = {}
        for place, good in enumerate(self.goods):
            if good.brand is not None:
                self.brands[good.brand] = self.brands.get(good.brand, 0) | 1 << place
        self.values: dict[tuple[str, int], int] = {}
        self._named: list[list[tuple[str, int]]] = [[] for _ in self.goods]
        for number, family, value in world.named_values(category):
            place = self._place[number]
            self._named[place].append((family, value))
            self.values[family, value] = self.values.get((family, value), 0) | 1 << place

    def __len__(self) -> int:
        return len(self.goods)

    def meeting(self, constraint: Constraint) -> int:
        """The products that meet a constraint, in stock or not."""
        if constraint.kind == "brand":
            return self.brands.get(str(constraint.value), 0)
        if constraint.kind == "value":
            return self.values.get((constraint.family, int(constraint.value)), 0)
        name, least = BOUNDS[constraint.kind]
        column = self._columns[name]
        bound = int(constraint.value)
        return column.from_on(bound) if least else column.up_to(bound)

    def members(self, bits: int) -> list[Good]:
        """The products of a set, in order of their numbers."""
        return list(compress(self.goods, map(int, reversed(bin(bits)[2:]))))

    def place(self, number: int) -> int:
        """The bit of a product.

        Raises:
            UsageError: the product is not in this category (code `unknown_product`).
        """
        if number not in self._place:
            raise UsageError(f"product {number} is not in category {self.category.number}", code="unknown_product")
        return self._place[number]

    def find(self, number: int) -> Good | None:
        """The product with this number, None when it is not in this category."""
        place = self._place.get(number)
        return None if place is None else self.goods[place]

    def named(self, number: int) -> tuple[tuple[str, int], ...]:
        """Attribute families and values that a product names."""
        return tuple(self._named[self.place(number)])

    def _column(self, name: str) -> _Column:
        found = ((getattr(good, name), place) for place, good in enumerate(self.goods))
        return _Column([(value, place) for value, place in found if value is not None])

    def _bits(self, flags: Iterator[bool]) -> int:
        return sum(1 << place for place, flag in enumerate(flags) if flag)


class Pools:
    """The pools of a world, made when first asked for. Threads may share one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: BoundedCache[int, Pool] = BoundedCache(2 * KEPT_POOLS)
        self._roomy: dict[int, tuple[int, ...]] = {}
        self._numbers = world.categories(SMALLEST, LARGEST)
        if not self._numbers:
            raise UsageError(
                f"expected a catalogue with a category of {SMALLEST} to {LARGEST} products, found none; RLVE "
                "chooses its goals among the products of a category. Give the products categories.",
                code="no_pool",
            )

    @property
    def categories(self) -> tuple[int, ...]:
        """Numbers of the categories that goals are chosen from."""
        return self._numbers

    def with_room(self, products: int) -> tuple[int, ...]:
        """Categories of at least this many products; the largest one if none has so many."""
        found = self._roomy.get(products)
        if found is None:
            sized = {number: self._world.category(number).products for number in self._numbers}
            most = max(sized.values())
            found = tuple(number for number in self._numbers if sized[number] >= min(products, most))
            self._roomy[products] = found
        return found

    def pool(self, category: int) -> Pool:
        """The pool of a category."""
        found = self._kept.get(category)
        if found is None:
            found = Pool(self._world, category)
            self._kept.put(category, found)
        return found
