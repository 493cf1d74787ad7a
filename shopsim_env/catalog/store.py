"""Products of a release, read on demand.

Belongs here: opening `catalog.sqlite` read-only and turning rows into products. Does not belong here: search
(`search.fts5`), hashing and trust (`release`).
"""

import json
from collections.abc import Iterator
from pathlib import Path

from shopsim_env.cache import BoundedCache
from shopsim_env.catalog.product import Product
from shopsim_env.errors import ReleaseError, UsageError
from shopsim_env.locks import fork_safe_lock
from shopsim_env.sqlite import open_readonly

KEPT_PRODUCTS = 2_048
_TABLES = ("product", "title_noun")
_SELECT = """
SELECT product.body, title_noun.nouns
FROM product JOIN title_noun ON title_noun.id = product.id
WHERE product.asin = ?
"""


class CatalogStore:
    """Read-only products by asin; safe to share between threads.

    Args:
        path: `catalog.sqlite` with the tables `product` and `title_noun`.
        keep: Products kept in memory at most.

    Raises:
        ReleaseError: File or table missing, or the two tables do not hold the same products.
    """

    def __init__(self, path: Path, *, keep: int = KEPT_PRODUCTS) -> None:
        self._lock = fork_safe_lock()
        self._kept: BoundedCache[str, Product] = BoundedCache(keep)
        self._connection = open_readonly(path)
        try:
            self._size = self._check(path)
        except ReleaseError:
            self.close()
            raise

    def _check(self, path: Path) -> int:
        rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        missing = sorted(set(_TABLES) - {name for (name,) in rows})
        if missing:
            raise ReleaseError(
                f"expected the tables {', '.join(_TABLES)} in {path}, found no {', '.join(missing)}",
                code="catalog_incomplete",
            )
        # Ids run from 1 without gaps, so the largest one is the count; counting would read the whole table.
        sizes = [self._connection.execute(f"SELECT max(id) FROM {name}").fetchone()[0] for name in _TABLES]  # noqa: S608
        if sizes[0] != sizes[1]:
            raise ReleaseError(
                f"expected title nouns for {sizes[0] or 0} products in {path}, found {sizes[1] or 0}",
                code="catalog_incomplete",
            )
        return sizes[0] or 0

    def product(self, asin: str) -> Product:
        """The product with this asin.

        Raises:
            UsageError: Code `unknown_product`; the release has no such asin.
        """
        kept = self._kept.get(asin)
        if kept is not None:
            return kept
        with self._lock:
            row = self._connection.execute(_SELECT, (asin,)).fetchone()
        if row is None:
            raise _unknown(asin)
        product = Product.from_record(json.loads(row[0]), tuple(json.loads(row[1])))
        self._kept.put(asin, product)
        return product

    def number(self, asin: str) -> int | None:
        """Catalogue id of a product (the rank of its asin, from 1), or None."""
        with self._lock:
            row = self._connection.execute("SELECT id FROM product WHERE asin = ?", (asin,)).fetchone()
        return int(row[0]) if row else None

    def known_number(self, asin: str) -> int:
        """Like `number`.

        Raises:
            UsageError: Code `unknown_product`; the release has no such asin.
        """
        number = self.number(asin)
        if number is None:
            raise _unknown(asin)
        return number

    def asins(self) -> Iterator[str]:
        """All asins in code point order."""
        with self._lock:
            rows = self._connection.execute("SELECT asin FROM product ORDER BY id").fetchall()
        return (asin for (asin,) in rows)

    def __contains__(self, asin: object) -> bool:
        with self._lock:
            return (
                self._connection.execute("SELECT 1 FROM product WHERE asin = ?", (asin,)).fetchone()
                is not None
            )

    def __len__(self) -> int:
        return self._size

    def close(self) -> None:
        """Closes the connection; calling this again is harmless."""
        self._kept.clear()
        with self._lock:
            self._connection.close()


def _unknown(asin: str) -> UsageError:
    return UsageError(
        f"expected the asin of a product of this release, found {asin!r}", code="unknown_product"
    )
