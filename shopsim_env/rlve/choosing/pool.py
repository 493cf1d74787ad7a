"""`Pool`: the products of one category side by side, as bit sets.

Belongs here: which products of a category meet a constraint, answered in microseconds, because generators
ask it hundreds of times per goal. Pools are made from the world once and shared by episodes; nothing in them
is an episode's. Which constraints make a goal is in `choice`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Final

from shopsim_env.cache import BoundedCache
from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.column import Column
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.likeness import Traits
from shopsim_env.rlve.fact_model import Category, Good
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.safety import denied_path
from shopsim_env.rlve.wishes import BOUNDS

SMALLEST, LARGEST = 24, 20_000
# Slots of a bundle need fewer products; smaller categories are preferred, because all slots are read at once.
SMALLEST_SLOT: Final = 8
SLOT_SIZES: Final = (500, 4_000, LARGEST)
KEPT_POOLS: Final = 256
# Products that must share a value for it to be asked for.
SHARED: Final = 6
# Smallest difference of two bounds: whole units of money, tenths of a star.
_STEP: Final = {"price_low": 100, "rating": 10, "rating_count": 1, "ship_days": 1, "stock": 1}


class Pool:
    """Products of a category and below it; a set of them is an int with one bit per product.

    Args:
        world: Where the facts are.
        category: Number of the category.
    """

    def __init__(self, world: World, category: int) -> None:
        self.category: Category = world.category(category)
        self.goods: tuple[Good, ...] = tuple(world.goods(category))
        self._world = world
        self._traits: dict[int, Traits] = {}
        self._place = {good.number: place for place, good in enumerate(self.goods)}
        self._columns: dict[str, Column] = {}
        self.everything = (1 << len(self.goods)) - 1
        self.in_stock = _bits(good.stock > 0 for good in self.goods)
        self.priced = _bits(good.price_low is not None for good in self.goods)
        # Only these are ever chosen from: in stock in the shop, with a price.
        self.offered = self.in_stock & self.priced

    @cached_property
    def brands(self) -> Mapping[str, int]:
        """The products of each brand."""
        found: dict[str, int] = {}
        for place, good in enumerate(self.goods):
            if good.brand is not None:
                found[good.brand] = found.get(good.brand, 0) | 1 << place
        return found

    @cached_property
    def values(self) -> Mapping[str, Mapping[int, int]]:
        """The products that name each value of each attribute family."""
        places: dict[tuple[str, int], int] = {}
        for number, family, value in self._world.named_values(self.category.number):
            key = (family, value)
            places[key] = places.get(key, 0) | 1 << self._place[number]
        found: dict[str, dict[int, int]] = {}
        # Rows come in the order of an index; goals must not depend on it.
        for (family, value), bits in sorted(places.items()):
            found.setdefault(family, {})[value] = bits
        return found

    @cached_property
    def common(self) -> Mapping[str, tuple[tuple[int | str, int], ...]]:
        """By family, and for `brand`: values that some of the offered products share, with their products."""
        named: list[tuple[str, Iterable[tuple[int | str, int]]]] = [("brand", self.brands.items())]
        named += [(family, sets.items()) for family, sets in self.values.items()]
        found: dict[str, tuple[tuple[int | str, int], ...]] = {}
        for kind, sets in named:
            shared = tuple(item for item in sets if (item[1] & self.offered).bit_count() >= SHARED)
            if shared:
                found[kind] = shared
        return found

    def __len__(self) -> int:
        return len(self.goods)

    def column(self, fact: str) -> Column:
        """The products in order of a fact that bounds are about."""
        found = self._columns.get(fact)
        if found is None:
            values = map(attrgetter(fact), self.goods)
            given = [(value, place) for place, value in enumerate(values) if value is not None]
            found = self._columns[fact] = Column(given, _STEP[fact])
        return found

    def meeting(self, constraint: Constraint) -> int:
        """The products that meet a constraint, in stock or not."""
        if constraint.kind == "brand":
            return self.brands.get(str(constraint.value), 0)
        if constraint.kind == "value":
            return self.values.get(constraint.family, {}).get(int(constraint.value), 0)
        name, least = BOUNDS[constraint.kind]
        column = self.column(name)
        bound = int(constraint.value)
        return column.from_on(bound) if least else column.up_to(bound)

    def members(self, bits: int) -> Iterator[Good]:
        """The products of a set, in order of their numbers."""
        while bits:
            lowest = bits & -bits
            yield self.goods[lowest.bit_length() - 1]
            bits ^= lowest

    def place(self, number: int) -> int:
        """The bit of a product.

        Raises:
            UsageError: the product is not in this category (code `unknown_product`).
        """
        if number not in self._place:
            raise UsageError(
                f"expected a product of category {self.category.number}, found {number}",
                code="unknown_product",
            )
        return self._place[number]

    def find(self, number: int) -> Good | None:
        """The product with this number, None when it is not in this category."""
        place = self._place.get(number)
        return None if place is None else self.goods[place]

    def named(self, number: int) -> tuple[tuple[str, int], ...]:
        """Attribute families and values that a product names, in order."""
        bit = 1 << self.place(number)
        return tuple(
            (family, value)
            for family, sets in self.values.items()
            for value, bits in sets.items()
            if bits & bit
        )

    def traits(self, good: Good) -> Traits:
        """What is compared of a product of the category."""
        found = self._traits.get(good.number)
        if found is None:
            values: dict[str, set[int]] = {}
            for family, value in self.named(good.number):
                values.setdefault(family, set()).add(value)
            named = {family: frozenset(numbers) for family, numbers in values.items()}
            found = self._traits[good.number] = Traits(good.category, good.brand, good.price_low, named)
        return found


def _bits(flags: Iterable[bool]) -> int:
    """The set of the places at which a flag is set."""
    text = "".join(["1" if flag else "0" for flag in flags])
    return int(text[::-1] or "0", 2)


class Pools:
    """The pools of a world, made when first asked for. Threads may share one.

    Raises:
        UsageError: no category has enough products (code `no_pool`).
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: BoundedCache[int, Pool] = BoundedCache(2 * KEPT_POOLS)
        self._roomy: dict[int, tuple[int, ...]] = {}
        self._slots: dict[int, tuple[int, ...]] = {}
        # A path below a denied one has the denied segment itself.
        self._denied = [number for number, levels in world.paths() if denied_path(levels)]
        if not self._allowed(SMALLEST):
            raise UsageError(
                f"expected a catalogue with a category of {SMALLEST} to {LARGEST} products, found none; RLVE "
                "chooses its goals among the products of a category. Give the products categories.",
                code="no_pool",
            )

    @property
    def categories(self) -> tuple[int, ...]:
        """Numbers of the categories that goals are chosen from."""
        return self.with_room(SMALLEST)

    def with_room(self, products: int) -> tuple[int, ...]:
        """Categories of at least this many products; somewhat smaller ones if none has so many."""
        found = self._roomy.get(products, ())
        least = products
        while not found:
            found = self._allowed(least)
            least = least * 3 // 4
        self._roomy[products] = found
        return found

    def slots(self, wanted: int) -> tuple[int, ...]:
        """Categories without subcategories for the slots of a bundle: small ones, if so many are."""
        found = self._slots.get(wanted, ())
        for most in SLOT_SIZES:
            if len(found) < wanted:
                found = self._safe(self._world.leaves(SMALLEST_SLOT, most))
        self._slots[wanted] = found
        return found

    def pool(self, category: int) -> Pool:
        """The pool of a category."""
        found = self._kept.get(category)
        if found is None:
            found = Pool(self._world, category)
            self._kept.put(category, found)
        return found

    def _allowed(self, least: int) -> tuple[int, ...]:
        if least > LARGEST:
            return ()  # many constraints ask for more products than the database has numbers for
        return self._safe(self._world.categories(least, LARGEST))

    def _safe(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """Those that hold no denied category and lie in none."""
        if not self._denied:
            return numbers
        ranges = [(number, self._world.category(number).last) for number in numbers]
        return tuple(first for first, last in ranges if not any(first <= one <= last for one in self._denied))
