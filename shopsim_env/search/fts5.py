"""The normative search engine: SQLite FTS5 with `bm25()` over seven fields.

Every other engine must give the same scores and the same order. No reserved words: a query is text.
"""

import json
import sqlite3
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from shopsim_env.errors import SearchIndexError
from shopsim_env.locks import fork_safe_lock
from shopsim_env.search.result import EMPTY_QUERY, OK, SearchResult, match_text
from shopsim_env.search.schema import BM25_COLUMN_WEIGHTS, FIELD_WEIGHTS, FTS_COLUMNS, check_index_manifest
from shopsim_env.search.where import ProductSet
from shopsim_env.sqlite import open_readonly
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

# The row number alone: reading `asin` here would fetch a wide row for every match, also for those that never
# make the first `top_k`. Row numbers are ranks in asin order, so this order is "score, asin".
_RANKED = """
SELECT rowid, bm25(products, {}) AS score
FROM products WHERE products MATCH ? ORDER BY score, rowid LIMIT ?
"""
_ANY = "SELECT rowid FROM products WHERE products MATCH ? ORDER BY rowid LIMIT ?"
_COUNT = "SELECT count(*) FROM products WHERE products MATCH ?"
_DOCUMENT = f"SELECT {', '.join(FIELD_WEIGHTS)} FROM products WHERE rowid = ?"  # noqa: S608
# FTS5 keeps the number of rows and the tokens of each column in this record, as variable length integers.
_TOTALS = "SELECT block FROM products_data WHERE id = 1"
_ASIN = "SELECT asin FROM product WHERE id = ?"


class Fts5Engine:
    """Ranks the catalogue; safe to share between threads (searches take turns).

    Args:
        connection: Read-only connection to `catalog.sqlite`; the engine owns it from now on.
        expected_product_sha: Digest of the products that the index must belong to.
        column_weights: One weight for each column; other than the contract's only to compare with them.

    Raises:
        SearchIndexError: The index is missing or was built by other rules. The connection is closed then.
    """

    name = "fts5"

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        expected_product_sha: str | None = None,
        column_weights: Sequence[float] = BM25_COLUMN_WEIGHTS,
    ) -> None:
        self._connection = connection
        self._ranked = _RANKED.format(", ".join(map(str, column_weights)))
        self._lock = fork_safe_lock()
        try:
            self.manifest = _read_manifest(connection, expected_product_sha)
        except SearchIndexError:
            connection.close()
            raise

    @classmethod
    def open(cls, path: Path, *, expected_product_sha: str | None = None) -> "Fts5Engine":
        """Opens the index of a `catalog.sqlite`; a refusal names the file."""
        try:
            return cls(open_readonly(path), expected_product_sha=expected_product_sha)
        except SearchIndexError as error:
            raise SearchIndexError(f"{path}: {error}", code=error.code) from error

    def search(self, query: str, top_k: int = TOP_K, where: ProductSet | None = None) -> SearchResult:
        """The best `top_k` products for `query` (contract 7.10).

        Args:
            query: Any text; only its tokens count.
            top_k: Largest number of hits; 0 or less gives none.
            where: Products to rank; None ranks all.

        Returns:
            Status "empty_query" when the text has no token; a token that hits nothing is "ok" without hits.
        """
        tokens = tokenize(query)
        if not tokens:
            return SearchResult(EMPTY_QUERY, engine=self.name)
        limit = min(top_k, self.manifest["product_count"])
        if limit <= 0:
            return SearchResult(OK, engine=self.name)
        with self._lock:
            rows = self._rank(match_text(tokens), limit, where)
            asins = [self._connection.execute(_ASIN, (rowid,)).fetchone()[0] for rowid, _ in rows]
        return SearchResult(OK, asins, [-score for _, score in rows], self.name)

    def _rank(self, text: str, limit: int, where: ProductSet | None) -> list[tuple[int, float]]:
        if where is None:
            return self._connection.execute(self._ranked, (text, limit)).fetchall()
        cursor = self._connection.execute(self._ranked, (text, -1))
        try:
            return list(islice((row for row in cursor if where.holds(row[0] - 1)), limit))
        finally:
            cursor.close()

    def document(self, number: int) -> dict[str, str]:
        """The indexed fields of a product by catalogue id; empty when there is none."""
        with self._lock:
            row = self._connection.execute(_DOCUMENT, (number,)).fetchone()
        return dict(zip(FIELD_WEIGHTS, row, strict=True)) if row else {}

    def matching(self, token: str) -> int:
        """Number of products that match this one token."""
        with self._lock:
            row = self._connection.execute(_COUNT, (match_text([token]),)).fetchone()
        return int(row[0])

    def average_length(self) -> float:
        """Mean length of a document in tokens, over all fields, from FTS5's own bookkeeping."""
        with self._lock:
            block = self._connection.execute(_TOTALS).fetchone()[0]
        rows, *sizes = read_varints(block)
        return sum(sizes) / rows

    def rows(self, tokens: Sequence[str], limit: int) -> list[int]:
        """Catalogue ids of up to `limit` products that match any of the tokens, ascending."""
        with self._lock:
            found = self._connection.execute(_ANY, (match_text(tokens), limit)).fetchall()
        return [rowid for (rowid,) in found]

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._connection.close()


def read_varints(data: bytes) -> list[int]:
    """SQLite's variable length integers below 2^56: seven bits a byte, high bit set on all but the last."""
    numbers, value = [], 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers


def _read_manifest(connection: sqlite3.Connection, expected_product_sha: str | None) -> dict[str, Any]:
    try:
        payloads = connection.execute("SELECT payload FROM manifest").fetchall()
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(products)"))
    except sqlite3.DatabaseError as error:
        raise SearchIndexError(f"expected a search index, found none ({error})") from error
    if len(payloads) != 1:
        raise SearchIndexError(f"expected one manifest row in the search index, found {len(payloads)}")
    try:
        payload = json.loads(payloads[0][0])
    except (TypeError, ValueError) as error:
        raise SearchIndexError(f"expected an index manifest in JSON, found {payloads[0][0]!r}") from error
    manifest = check_index_manifest(payload, expected_product_sha)
    if columns != FTS_COLUMNS:
        raise SearchIndexError(f"table products: expected the columns {FTS_COLUMNS}, found {columns}")
    return manifest
