"""What the reader of world facts hands out: facts of a product, its attributes, categories and families.

Values only. Reading them is in `facts`, asking for products in `wishes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shopsim_env.errors import UsageError
from shopsim_env.rlve.schema import NUMBER, number_name


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value that the product's own texts name.

    `value` numbers a word of the family, or is in thousandths of its unit; `origin` is `option` (one of
    several to choose from), `attribute` or `title`.
    """

    family: str
    name: str
    value: int
    origin: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Shop facts of one product.

    Prices are in hundredths of the data set's currency, None when the source has none; `rating` is in
    hundredths of a star; `ship_days` counts days. `category` numbers its path; `provenance` has `source` or
    `derived` for each fact that may be derived.
    """

    number: int
    asin: str
    category: int
    brand: str | None
    price_low: int | None
    price_high: int | None
    rating: int
    rating_count: int
    ship_days: int
    stock: int
    provenance: Mapping[str, str]
    attributes: tuple[Attribute, ...]
    title: str

    def values(self, family: str) -> tuple[int, ...]:
        """Values of one family, ascending."""
        return tuple(item.value for item in self.attributes if item.family == family)


class Good(NamedTuple):
    """The facts of a product that bounds are about; units as in `Facts`."""

    number: int
    price_low: int | None
    rating: int
    rating_count: int
    ship_days: int
    stock: int
    brand: str | None
    category: int = 0


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its levels, products in it and below, and families, the best for variants first.

    `number` to `last` are the category and all below it. Number 1 is the root, without levels.
    """

    number: int
    levels: tuple[str, ...]
    parent: int | None
    last: int
    products: int
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value to choose from, with its words; for numbers, in thousandths of the unit."""

    value: int
    name: str
    zh: str
    en: str


@dataclass(frozen=True, slots=True)
class Family:
    """An attribute family; `kind` is `word` or `number`, `pool` are the values for variants."""

    number: int
    name: str
    kind: str
    zh: str
    en: str
    unit_zh: str
    unit_en: str
    pool: tuple[Value, ...] = field(repr=False)

    def word(self, value: int) -> str:
        """Name of a value: of its word, or the number in units.

        Raises:
            UsageError: No word of the family has this number (code `unknown_attribute`).
        """
        if self.kind == NUMBER:
            return number_name(value)
        # The words are numbered from 1 without gaps.
        if not 1 <= value <= len(self.pool):
            raise UsageError(
                f"{self.name}: expected a value from 1 to {len(self.pool)}, found {value!r}",
                code="unknown_attribute",
            )
        return self.pool[value - 1].name
