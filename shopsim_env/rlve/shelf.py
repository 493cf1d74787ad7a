"""`Shelf`: what the tools show of a product; shared by all episodes.

Belongs here: reading a product once for many episodes, and categories by name. Which products a filter leaves
is in `selection`; what an episode changes (ids, stock, variants) is in `overlay`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from shopsim_env.cache import BoundedCache
from shopsim_env.release.opening import Release
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.fact_model import Facts
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR
from shopsim_env.rlve.selection import Selections

KEPT_ITEMS: Final = 32_768
_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True, slots=True)
class Item:
    """A product as the tools show it. `card` lacks what an episode decides: id and stock."""

    facts: Facts
    card: dict[str, Any]

    @property
    def title(self) -> str:
        """As in the catalogue."""
        return self.facts.title


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
        self._selections: Selections | None = None
        self._categories: dict[str, list[int]] | None = None

    @property
    def pools(self) -> Pools:
        """The pools of the world, made when first needed."""
        if self._pools is None:
            self._pools = Pools(self.world)
        return self._pools

    @property
    def selections(self) -> Selections:
        """Sets of products by filter."""
        if self._selections is None:
            self._selections = Selections(self.world, self.pools)
        return self._selections

    def item(self, number: int) -> Item:
        """The product with this number.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        found = self._by_number.get(number)
        return found if found is not None else self._put(self.world.facts_at(number))

    def item_of(self, asin: str) -> Item:
        """The product with this asin.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        found = self._by_asin.get(asin)
        return found if found is not None else self._put(self.world.facts(asin))

    def items(self, numbers: Sequence[int]) -> list[Item]:
        """The products with these numbers, in their order; those not kept are read together.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        return _together(numbers, self._by_number, self._read_at)

    def items_of(self, asins: Sequence[str]) -> list[Item]:
        """Like `items`, by asin."""
        return _together(asins, self._by_asin, self._read_of)

    def categories_named(self, text: str) -> list[int]:
        """Numbers of the categories with this path, else of those whose last level is this, in order."""
        if self._categories is None:
            self._categories = self._name_categories()
        wanted = text.strip().casefold()
        return self._categories.get(wanted.replace(" > ", CATEGORY_SEPARATOR), [])

    def _name_categories(self) -> dict[str, list[int]]:
        paths: dict[str, list[int]] = {}
        names: dict[str, list[int]] = {}
        for number, levels in self.world.paths():
            if levels:
                paths.setdefault(CATEGORY_SEPARATOR.join(levels).casefold(), []).append(number)
                names.setdefault(levels[-1].casefold(), []).append(number)
        return names | paths

    def _read_at(self, numbers: Sequence[int]) -> list[Item]:
        return [self._put(facts) for facts in self.world.facts_at_all(numbers)]

    def _read_of(self, asins: Sequence[str]) -> list[Item]:
        return [self._put(facts) for facts in self.world.facts_of(asins)]

    def _put(self, facts: Facts) -> Item:
        named: dict[str, list[str]] = {}
        for attribute in facts.attributes:
            named.setdefault(attribute.family, []).append(attribute.name)
        levels = self.world.category(facts.category).levels
        card = {
            "title": facts.title,
            "price": units(facts.price_low),
            "rating": units(facts.rating),
            "rating_count": facts.rating_count,
            "ship_days": facts.ship_days,
            "category": CATEGORY_SEPARATOR.join(levels),
            "brand": facts.brand,
            "key_attrs": named,
        }
        item = Item(facts, card)
        self._by_number.put(facts.number, item)
        self._by_asin.put(facts.asin, item)
        return item


def _together(
    keys: Sequence[_Key], kept: BoundedCache[_Key, Item], read: Callable[[Sequence[_Key]], list[Item]]
) -> list[Item]:
    found = {key: kept.get(key) for key in keys}
    missing = [key for key, item in found.items() if item is None]
    found.update(zip(missing, read(missing), strict=True))
    return [item for key in keys if (item := found[key]) is not None]


def units(hundredths: int | None) -> int | float | None:
    """Hundredths as the number that agents read: 12950 is 129.5, 300 is 3, None stays None."""
    if hundredths is None:
        return None
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
