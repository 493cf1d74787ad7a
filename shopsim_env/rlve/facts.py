"""World facts of a release, read on demand: one product, its attributes, and products that fit wishes.

Belongs here: reading `rlve.sqlite` of a verified release through its indexes. Does not belong here: how facts
come about (`pipelines.stages.rlve_world`), ids and stock of an episode, and who asks for what.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from shopsim_env.cache import BoundedCache
from shopsim_env.errors import ReleaseError, UsageError
from shopsim_env.release import layout
from shopsim_env.release.opening import Release
from shopsim_env.rlve.fact_model import Attribute, Category, Facts, Family, Good, Value
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR, world_manifest
from shopsim_env.rlve.wishes import Query, Wishes, query
from shopsim_env.sqlite import ReadOnlyDatabase

KEPT_FACTS = 4_096
ROOT_CATEGORY = 1
_FACTS = (
    "SELECT id, asin, category, brand, price_low, price_high, rating, rating_count, ship_days, stock, "
    "rating_derived, rating_count_derived, ship_days_derived, stock_derived, title, attributes "
    "FROM fact WHERE "
)
# A statement names so many products, or one; what is missing is filled up with the last.
_TOGETHER: Final = 32
_DERIVABLE = ("rating", "rating_count", "ship_days", "stock")
_PROVENANCES: Final[Mapping[tuple[int, ...], Mapping[str, str]]] = {
    flags: MappingProxyType(
        {name: "derived" if flag else "source" for name, flag in zip(_DERIVABLE, flags, strict=True)}
    )
    for flags in product((0, 1), repeat=len(_DERIVABLE))
}
_Key = TypeVar("_Key", int, str)


class World:
    """World facts of a release. Opening costs the same for any catalogue; threads may share one.

    Args:
        path: `rlve.sqlite` of a release that was verified; `World.of` takes it from an open one.

    Raises:
        ReleaseError: The facts are of another version, or some are missing (code `world_mismatch`).
    """

    def __init__(self, path: Path) -> None:
        self._database = ReadOnlyDatabase(path)
        self._kept: BoundedCache[str, Facts] = BoundedCache(KEPT_FACTS)
        self._categories: BoundedCache[int, Category] = BoundedCache(KEPT_FACTS)
        self._attributes: BoundedCache[tuple[int, int, str], Attribute] = BoundedCache(KEPT_FACTS)
        try:
            self._size = self._check(path)
            self.families: Mapping[str, Family] = {item.name: item for item in self._families()}
        except ReleaseError:
            self.close()
            raise
        self._names = {item.number: item for item in self.families.values()}

    @classmethod
    def of(cls, release: Release) -> "World":
        """The world of an open release, whole or a public copy; it is closed on its own."""
        return cls(release.path / layout.RLVE)

    def __len__(self) -> int:
        return self._size

    def facts(self, asin: str) -> Facts:
        """Facts of the product with this asin.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        kept = self._kept.get(asin)
        return kept if kept is not None else self._read("asin = ?", asin)

    def facts_of(self, asins: Sequence[str]) -> list[Facts]:
        """Facts of these products, in their order: many are read at once.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        return self._read_all("asin", asins, attrgetter("asin"))

    def facts_at_all(self, numbers: Sequence[int]) -> list[Facts]:
        """Like `facts_of`, by number."""
        return self._read_all("id", numbers, attrgetter("number"))

    def facts_at(self, number: int) -> Facts:
        """Facts of the product with this number, from 1 to `len(world)`: a uniform draw needs no list.

        Raises:
            UsageError: No such product (code `unknown_product`).
        """
        return self._read("id = ?", number)

    def category(self, number: int) -> Category:
        """The category with this number; 1 is the root.

        Raises:
            UsageError: No such category (code `unknown_category`).
        """
        kept = self._categories.get(number)
        if kept is not None:
            return kept
        rows = self._database.rows("SELECT * FROM category WHERE id = ?", (number,))
        if not rows:
            raise UsageError(
                f"expected the number of a category of this release, found {number!r}",
                code="unknown_category",
            )
        category = _category(*rows[0])
        self._categories.put(number, category)
        return category

    def subcategories(self, number: int) -> tuple[Category, ...]:
        """Categories directly below one, in order of their names."""
        last = self.category(number).last
        sql = "SELECT * FROM category WHERE id BETWEEN ? AND ? AND parent = ? ORDER BY id"
        rows = self._database.rows(sql, (number + 1, last, number))
        return tuple(_category(*row) for row in rows)

    def paths(self) -> list[tuple[int, tuple[str, ...]]]:
        """Number and levels of every category, the root without levels first."""
        rows = self._database.rows("SELECT id, path FROM category ORDER BY id")
        return [(number, _levels(path)) for number, path in rows]

    def categories(self, least: int, most: int) -> tuple[int, ...]:
        """Numbers of the categories with this many products, in and below them, both bounds included.

        Of categories with the very same products, one below the other, only the lowest is given.
        """
        sql = (
            "SELECT id FROM category c WHERE products BETWEEN ? AND ? AND NOT EXISTS "
            "(SELECT 1 FROM category b WHERE b.id = c.id + 1 AND b.parent = c.id AND b.products = c.products)"
            " ORDER BY id"
        )
        return tuple(row[0] for row in self._database.rows(sql, (least, most)))

    def leaves(self, least: int, most: int) -> tuple[int, ...]:
        """Like `categories`, those without subcategories only: no product is in two of them."""
        sql = "SELECT id FROM category WHERE last = id AND products BETWEEN ? AND ? ORDER BY id"
        return tuple(row[0] for row in self._database.rows(sql, (least, most)))

    def goods(self, number: int) -> list[Good]:
        """The products of a category and below it, without their attributes, in order of their numbers."""
        sql = (
            "SELECT id, price_low, rating, rating_count, ship_days, stock, brand, category FROM fact "
            "INDEXED BY fact_by_category WHERE category BETWEEN ? AND ? ORDER BY id"
        )
        return [Good._make(row) for row in self._database.rows(sql, (number, self.category(number).last))]

    def named_values(self, number: int) -> list[tuple[int, str, int]]:
        """Product number, family and value for every attribute in a category and below it."""
        sql = (
            "SELECT a.id, a.family, a.value FROM fact f INDEXED BY fact_by_category "
            "CROSS JOIN attribute a ON a.id = f.id WHERE f.category BETWEEN ? AND ?"
        )
        rows = self._database.rows(sql, (number, self.category(number).last))
        return [(number, self._names[family].name, value) for number, family, value in rows]

    def matching(self, wishes: Wishes, *, limit: int) -> tuple[str, ...]:
        """Asins of products that meet all wishes, the cheapest first; those without a price come before.

        Products of one price are in asin order. With a category without subcategories the search walks an
        index in this order and stops at the limit; each step looks at the rows of one product.

        Args:
            wishes: What must hold.
            limit: Most products to give, at least 1.

        Raises:
            UsageError: An unknown family, value or category, or a limit below 1.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise UsageError(f"limit: expected a whole number of at least 1, found {limit!r}")
        built = self._query(wishes)
        rows = self._database.rows(f"{built.sql} LIMIT ?", (*built.parameters, limit))
        return tuple(row[0] for row in rows)

    def matching_numbers(self, wishes: Wishes) -> list[int]:
        """Numbers of all products that meet all wishes, in the order of `matching`.

        Raises:
            UsageError: An unknown family, value or category.
        """
        built = self._query(wishes)
        return [row[1] for row in self._database.rows(built.sql, built.parameters)]

    def unmet(self, wishes: Wishes, facts: Facts) -> tuple[str, ...]:
        """Names of the wishes that a product does not meet; empty when it meets all."""
        first = _asked(wishes)
        last = self.category(first).last
        return tuple(self._unmet(wishes, facts, first, last))

    def close(self) -> None:
        """Closes the file; further reads fail. Closing twice is fine."""
        self._kept.clear()
        self._database.close()

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, path: Path) -> int:
        """Number of products; ids run from 1 without gaps, so no row is counted."""
        try:
            found = json.loads(self._database.rows("SELECT payload FROM world")[0][0])
            size = self._database.rows("SELECT max(id) FROM fact")[0][0] or 0
        except (ReleaseError, IndexError, TypeError, ValueError) as error:
            raise ReleaseError(
                f"{path}: expected world facts, found none ({error})", code="world_mismatch"
            ) from error
        digest = found.get("product_data_sha256") if isinstance(found, dict) else None
        expected = world_manifest(size, str(digest))
        if found != expected:
            raise ReleaseError(
                f"{path}: expected the world facts {expected}, found {found}. Rebuild the release with this "
                "version of shopsim, or install the version that built it.",
                code="world_mismatch",
            )
        return int(size)

    def _families(self) -> Iterator[Family]:
        pools: dict[int, list[Value]] = {}
        rows = self._database.rows(
            "SELECT family, value, name, zh, en FROM family_value ORDER BY family, value"
        )
        for family, *value in rows:
            pools.setdefault(family, []).append(Value(*value))
        for row in self._database.rows("SELECT * FROM family ORDER BY id"):
            number, name, kind, zh, en, unit_zh, unit_en = row
            pool = tuple(pools.get(number, ()))
            yield Family(number, name, kind, zh, en, unit_zh, unit_en, pool)

    def _read(self, condition: str, key: object) -> Facts:
        rows = self._database.rows(_FACTS + condition, (key,))
        if not rows:
            raise UsageError(f"expected a product of this release, found {key!r}", code="unknown_product")
        return self._facts(*rows[0])

    def _read_all(self, column: str, keys: Sequence[_Key], key_of: Callable[[Facts], _Key]) -> list[Facts]:
        found: dict[_Key, Facts] = {}
        condition = f"{column} IN ({', '.join('?' * _TOGETHER)})"
        for start in range(0, len(keys), _TOGETHER):
            some = list(keys[start : start + _TOGETHER])
            some += [some[-1]] * (_TOGETHER - len(some))
            for row in self._database.rows(_FACTS + condition, some):
                facts = self._facts(*row)
                found[key_of(facts)] = facts
        missing = next((key for key in keys if key not in found), None)
        if missing is not None:
            raise UsageError(f"expected a product of this release, found {missing!r}", code="unknown_product")
        return [found[key] for key in keys]

    def _facts(self, number: int, asin: str, *columns: Any) -> Facts:
        category, brand, low, high, rating, rating_count, ship_days, stock, *rest = columns
        *flags, title, attributes = rest
        facts = Facts(
            *(number, asin, category, brand, low, high, rating, rating_count, ship_days, stock),
            _PROVENANCES[tuple(flags)],
            tuple([self._attribute(*named) for named in json.loads(attributes)]),
            title,
        )
        self._kept.put(asin, facts)
        return facts

    def _attribute(self, family: int, value: int, origin: str) -> Attribute:
        """Shared by all products that name it."""
        key = (family, value, origin)
        found = self._attributes.get(key)
        if found is None:
            named = self._names[family]
            found = Attribute(named.name, named.word(value), value, origin)
            self._attributes.put(key, found)
        return found

    def _query(self, wishes: Wishes) -> Query:
        category = self.category(_asked(wishes))
        return query(
            wishes, (category.number, category.last), {n: f.number for n, f in self.families.items()}
        )

    def _unmet(self, wishes: Wishes, facts: Facts, first: int, last: int) -> Iterator[str]:
        if not first <= facts.category <= last:
            yield "category"
        yield from (name for name, holds in wishes.plain(facts) if not holds)
        for family, value in wishes.values:
            if value not in facts.values(family):
                yield family
        for family, low, high in wishes.ranges:
            if not any(low <= value <= high for value in facts.values(family)):
                yield family


def _asked(wishes: Wishes) -> int:
    return ROOT_CATEGORY if wishes.category is None else wishes.category


def _category(
    number: int, path: str, parent: int | None, last: int, products: int, families: str
) -> Category:
    return Category(number, _levels(path), parent, last, products, tuple(json.loads(families)))


def _levels(path: str) -> tuple[str, ...]:
    return tuple(path.split(CATEGORY_SEPARATOR)) if path else ()
