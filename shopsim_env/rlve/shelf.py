"""`Shelf`: what the tools show of a product, and which products a filter leaves; shared by all episodes.

Belongs here: reading a product once for many episodes, categories by name, sets of products by filter. What an
episode changes (ids, stock, variants) is in `overlay`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.cache import BoundedCache
from shopsim_env.release.opening import Release
from shopsim_env.rlve.choosing.constraint import Constraint, as_wishes
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.fact_model import Facts
from shopsim_env.rlve.facts import ROOT_CATEGORY, World
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR
from shopsim_env.search.where import ProductSet

KEPT_ITEMS: Final = 32_768
KEPT_SELECTIONS: Final = 256
# Categories of at most so many products are filtered as bit sets, larger ones through the indexes.
LARGEST_POOL: Final = 50_000


@dataclass(frozen=True, slots=True)
class Item:
    """A product as the tools show it. `card` lacks what an episode decides: id and stock."""

    facts: Facts
    title: str
    card: dict[str, Any]


class Selection:
    """The products that meet a filter, those without a price first, then the cheapest."""

    __slots__ = ("_set", "numbers")

    def __init__(self, numbers: Sequence[int], products: ProductSet | None = None) -> None:
        self.numbers = numbers
        self._set = products

    def product_set(self, release: Release) -> ProductSet:
        """The same products for a search."""
        if self._set is None:
            self._set = release.product_set(self.numbers)
        return self._set


class Shelf:
    """Products of a release with their facts. Threads may share one.

    Args:
        release: An open release.
        world: Its facts.
        pools: Pools of the same world, when a caller has some.
    """

    def __init__(self, release: Release, world: World, pools: Pools | None = None) -> None:
        self.release = release
        self.world = world
        self._pools = pools
        self._by_number: BoundedCache[int, Item] = BoundedCache(KEPT_ITEMS)
        self._by_asin: BoundedCache[str, Item] = BoundedCache(KEPT_ITEMS)
        self._selections: BoundedCache[tuple[object, ...], Selection] = BoundedCache(KEPT_SELECTIONS)
        self._categories: dict[str, list[int]] | None = None
        self._sizes: dict[int, int] = {}

    @property
    def pools(self) -> Pools:
        """The pools of the world, made when first needed."""
        if self._pools is None:
            self._pools = Pools(self.world)
        return self._pools

    def item(self, number: int) -> Item:
        """The product with this number.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        found = self._by_number.get(number)
        return found if found is not None else self._read(self.world.facts_at(number))

    def item_of(self, asin: str) -> Item:
        """The product with this asin.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        found = self._by_asin.get(asin)
        return found if found is not None else self._read(self.world.facts(asin))

    def categories_named(self, text: str) -> list[int]:
        """Numbers of the categories with this path, else of those whose last level is this, in order."""
        if self._categories is None:
            self._categories = self._name_categories()
        wanted = text.strip().casefold()
        return self._categories.get(wanted.replace(" > ", CATEGORY_SEPARATOR), [])

    def is_small(self, category: int) -> bool:
        """Whether the products of a category are few enough to stand side by side in a pool."""
        size = self._sizes.get(category)
        if size is None:
            size = self._sizes[category] = self.world.category(category).products
        return size <= LARGEST_POOL

    def selection(
        self, category: int | None, constraints: tuple[Constraint, ...], in_stock: bool
    ) -> Selection:
        """The products of a category, None for all, that meet the constraints by the facts of the world.

        Raises:
            UsageError: An unknown family, value or category.
        """
        key = (category, constraints, in_stock)
        found = self._selections.get(key)
        if found is None:
            first = ROOT_CATEGORY if category is None else category
            pick = self._picked if self.is_small(first) else self._queried
            found = pick(first, constraints, in_stock)
            self._selections.put(key, found)
        return found

    def alternatives(self, category: int, constraints: tuple[Constraint, ...]) -> list[int]:
        """Numbers of the products of a category that meet the constraints; none for one that is no pool."""
        if not self.is_small(category):
            return []
        pool = self.pools.pool(category)
        bits = pool.everything
        for item in constraints:
            bits &= pool.meeting(item)
        return [good.number for good in pool.members(bits)]

    def _picked(self, category: int, constraints: tuple[Constraint, ...], in_stock: bool) -> Selection:
        pool = self.pools.pool(category)
        bits = pool.in_stock if in_stock else pool.everything
        for item in constraints:
            bits &= pool.meeting(item)
        priced = sorted(
            (-1 if good.price_low is None else good.price_low, good.number) for good in pool.members(bits)
        )
        products = None
        if category == ROOT_CATEGORY:
            # All products in order of their numbers: the bits are the mask already.
            products = ProductSet(bits.to_bytes((len(self.world) + 7) // 8, "little"), bits.bit_count())
        return Selection([number for _, number in priced], products)

    def _queried(self, category: int, constraints: tuple[Constraint, ...], in_stock: bool) -> Selection:
        return Selection(self.world.matching_numbers(as_wishes(category, constraints, in_stock=in_stock)))

    def _name_categories(self) -> dict[str, list[int]]:
        paths: dict[str, list[int]] = {}
        names: dict[str, list[int]] = {}
        for number, path in self.world.category_paths():
            paths.setdefault(path.casefold(), []).append(number)
            names.setdefault(path.split(CATEGORY_SEPARATOR)[-1].casefold(), []).append(number)
        return names | paths

    def _read(self, facts: Facts) -> Item:
        product = self.release.product(facts.asin)
        named: dict[str, list[str]] = {}
        for attribute in facts.attributes:
            named.setdefault(attribute.family, []).append(attribute.name)
        levels = self.world.category(facts.category).levels
        card = {
            "title": product.title,
            "price": units(facts.price_low),
            "rating": units(facts.rating),
            "rating_count": facts.rating_count,
            "ship_days": facts.ship_days,
            "category": CATEGORY_SEPARATOR.join(levels),
            "brand": facts.brand,
            "key_attrs": named,
        }
        item = Item(facts, product.title, card)
        self._by_number.put(facts.number, item)
        self._by_asin.put(facts.asin, item)
        return item


def units(hundredths: int | None) -> int | float | None:
    """Hundredths as the number that agents read: 12950 is 129.5, 300 is 3, None stays None."""
    if hundredths is None:
        return None
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
