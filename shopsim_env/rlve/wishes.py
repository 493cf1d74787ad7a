"""`Wishes`: what a product must be, and the statement that finds such products through the indexes.

Belongs here: the closed list of wishes and their SQL. Does not belong here: running it (`facts`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from shopsim_env.errors import UsageError

# Wish -> (fact, whether the bound is the least one). Money is in hundredths, ratings in hundredths of a star.
BOUNDS: Final[Mapping[str, tuple[str, bool]]] = {
    "price_max": ("price_low", False),
    "price_min": ("price_low", True),
    "rating_min": ("rating", True),
    "rating_count_min": ("rating_count", True),
    "rating_count_max": ("rating_count", False),
    "ship_days_max": ("ship_days", False),
    "ship_days_min": ("ship_days", True),
    "stock_min": ("stock", True),
}


class _Plain(Protocol):
    """The facts that wishes other than category and attributes are about."""

    @property
    def brand(self) -> str | None: ...
    @property
    def price_low(self) -> int | None: ...
    @property
    def rating(self) -> int: ...
    @property
    def rating_count(self) -> int: ...
    @property
    def ship_days(self) -> int: ...
    @property
    def stock(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Wishes:
    """What must hold of a product; None and () ask for nothing. Bounds are inclusive.

    `category` includes everything below it. A price wish is about the lowest price, and no product without a
    price meets it. `values` are pairs of family and value, each of which the product must name. `ranges` are
    (family, low, high) in thousandths of the unit; one value within is enough.
    """

    category: int | None = None
    brand: str | None = None
    price_min: int | None = None
    price_max: int | None = None
    rating_min: int | None = None
    rating_count_min: int | None = None
    rating_count_max: int | None = None
    ship_days_max: int | None = None
    ship_days_min: int | None = None
    stock_min: int | None = None
    in_stock: bool = False
    values: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[str, int, int], ...] = ()

    def plain(self, facts: _Plain) -> Iterator[tuple[str, bool]]:
        """The wishes apart from category and attributes that are asked for, and whether each is met."""
        for name, (column, least) in BOUNDS.items():
            bound, found = getattr(self, name), getattr(facts, column)
            if bound is not None:
                yield name, found is not None and (found >= bound if least else found <= bound)
        if self.brand is not None:
            yield "brand", facts.brand == self.brand
        if self.in_stock:
            yield "in_stock", facts.stock > 0


class Query(NamedTuple):
    """A statement that gives asins and numbers in order, without its limit."""

    sql: str
    parameters: tuple[Any, ...]


def query(wishes: Wishes, categories: tuple[int, int], families: Mapping[str, int]) -> Query:
    """The statement for these wishes.

    The first of `values` decides which index is walked, else the brand, else the category.

    Args:
        wishes: What must hold.
        categories: First and last number of the category asked for.
        families: Number of each family by name.

    Raises:
        UsageError: A family that the release does not have (code `unknown_attribute`).
    """
    where: list[tuple[str, tuple[Any, ...]]] = []
    first, last = categories
    driver = "a" if wishes.values else "f"
    if wishes.values:
        family, value = wishes.values[0]
        source = "attribute a INDEXED BY attribute_by_value CROSS JOIN fact f ON f.id = a.id"
        where.append(("a.family = ? AND a.value = ?", (_number(families, family), value)))
    else:
        index = "fact_by_category" if wishes.brand is None else "fact_by_brand"
        source = f"fact f INDEXED BY {index}"
    # Equality for a single category: the index then has the order, and the limit ends the walk.
    same = first == last
    where.append(
        (f"{driver}.category = ?", (first,))
        if same
        else (f"{driver}.category BETWEEN ? AND ?", (first, last))
    )
    if wishes.brand is not None:
        where.append(("f.brand = ?", (wishes.brand,)))
    where += _plain_conditions(wishes, driver)
    where += _attribute_conditions(wishes, families)
    conditions = " AND ".join(sql for sql, _ in where)
    order = f"{driver}.price_low, {driver}.id"
    text = f"SELECT f.asin, f.id FROM {source} WHERE {conditions} ORDER BY {order}"  # noqa: S608
    return Query(text, tuple(value for _, values in where for value in values))


def _plain_conditions(wishes: Wishes, driver: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, (column, least) in BOUNDS.items():
        bound = getattr(wishes, name)
        if bound is not None:
            table = driver if column == "price_low" else "f"
            yield f"{table}.{column} {'>=' if least else '<='} ?", (bound,)
    if wishes.in_stock:
        yield "f.stock > 0", ()


def _attribute_conditions(
    wishes: Wishes, families: Mapping[str, int]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    ranges = [(family, value, value) for family, value in wishes.values[1:]] + list(wishes.ranges)
    for family, low, high in ranges:
        yield (
            "EXISTS (SELECT 1 FROM attribute b WHERE b.id = f.id AND b.family = ? "
            "AND b.value BETWEEN ? AND ?)",
            (_number(families, family), low, high),
        )


def _number(families: Mapping[str, int], name: str) -> int:
    if name not in families:
        raise UsageError(
            f"expected an attribute family of {', '.join(families)}, found {name!r}",
            code="unknown_attribute",
        )
    return families[name]
