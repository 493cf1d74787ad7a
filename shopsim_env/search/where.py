"""A set of products to search in: exact filtering before ranking.

A set is one bit per product, made once and used for many searches. Which products belong to it (price, brand,
stock, anything) is the caller's business.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from shopsim_env.errors import UsageError


@dataclass(frozen=True, slots=True)
class ProductSet:
    """Products of one catalogue; `mask` has one bit per product in asin order, lowest bit first."""

    mask: bytes
    size: int

    def __len__(self) -> int:
        return self.size

    def holds(self, row: int) -> bool:
        """Whether the product with this number, counted from 0, belongs to the set."""
        return bool(self.mask[row >> 3] >> (row & 7) & 1)

    def without(self, rows: Iterable[int]) -> "ProductSet":
        """The set without some products, by numbers counted from 0."""
        mask, size = bytearray(self.mask), self.size
        for row in rows:
            size -= mask[row >> 3] >> (row & 7) & 1
            mask[row >> 3] &= ~(1 << (row & 7))
        return ProductSet(bytes(mask), size)


Where: TypeAlias = ProductSet | Iterable[str | int]


def everything_of(products: int) -> ProductSet:
    """The set of all products; the bits behind the last one are 0."""
    mask = bytearray(b"\xff" * ((products + 7) // 8))
    if products % 8:
        mask[-1] = (1 << products % 8) - 1
    return ProductSet(bytes(mask), products)


def product_set(
    members: Iterable[str | int], products: int, row_of: Callable[[str], int | None]
) -> ProductSet:
    """The set of these products.

    Args:
        members: Asins, or catalogue ids (the rank of the asin, from 1).
        products: Number of products of the catalogue.
        row_of: Catalogue id of an asin, or None.

    Raises:
        UsageError: Code `unknown_product`; the catalogue has no such asin or id.
    """
    mask, size = bytearray((products + 7) // 8), 0
    for member in members:
        number = row_of(member) if isinstance(member, str) else member
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= products:
            raise UsageError(
                f"where: expected asins, or ids from 1 to {products}, found {member!r}",
                code="unknown_product",
            )
        byte, bit = (number - 1) >> 3, 1 << ((number - 1) & 7)
        size += not mask[byte] & bit
        mask[byte] |= bit
    return ProductSet(bytes(mask), size)
