"""Writes `catalog.sqlite`: public products, search table, index manifest, and later the title nouns.

Belongs here: the order of rows, the statements that make the file reproducible, the digest of the products.
Does not belong here: what a public row or a field is (`shopsim_env.catalog.schema`, `shopsim_env.search`).
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError, DatasetError
from pipelines.stages.processes import ALONE, Each, Workers, in_processes
from shopsim_env.canonical import compact_json
from shopsim_env.catalog.schema import PRODUCT_DDL, TITLE_NOUN_DDL, public_record
from shopsim_env.search.documents import document_fields
from shopsim_env.search.schema import FIELD_WEIGHTS, FTS_COLUMNS, FTS_DDL, MANIFEST_DDL, index_manifest

# Everything that decides the layout of the file is set here: equal rows give equal bytes for one SQLite
# version. No journal, because an unfinished file is thrown away.
_PRAGMAS = (
    "PRAGMA page_size = 4096",
    "PRAGMA auto_vacuum = NONE",
    "PRAGMA encoding = 'UTF-8'",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
)
# FTS5 writes a segment for each step, as this holds more, and merges none before the last row is in: one
# merge of everything at the end, instead of merging the same postings again and again. Half the time.
_BULK = (("hashsize", 128 << 20), ("automerge", 0), ("crisismerge", 2_000))
_FIELDS = tuple(FIELD_WEIGHTS)
_CHUNK = 500
_STEP = 4_096
# Starting processes costs as much as this many records.
_ALONE = 20_000
_STAGE_PRODUCT = "INSERT INTO staging.product VALUES (?, ?)"
# The number of a row is the rank of its asin, from 1, in both tables.
_FILL_PRODUCT = (
    "INSERT INTO product SELECT row_number() OVER (ORDER BY asin), asin, body "
    "FROM staging.product ORDER BY asin"
)
_PRODUCTS = "SELECT id, asin, body FROM product ORDER BY id"
_FILL_DOCUMENT = f"INSERT INTO products(rowid, {', '.join(FTS_COLUMNS)}) VALUES (?, ?{', ?' * len(_FIELDS)})"  # noqa: S608

_Row = tuple[Any, ...]
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What was indexed; `tokens` counts the stored tokens of each field."""

    product_count: int
    product_data_sha256: str
    tokens: dict[str, int]


def build_search_index(
    records: Iterable[Mapping[str, Any]],
    out: Path,
    *,
    workers: Workers = ALONE,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Writes products, search table and manifest to a new file.

    Args:
        records: Cleaned raw records in any order, each asin once.
        out: File to create; the caller moves it to its place. It is removed when building fails.
        workers: Processes that make rows and tokens of all but the first 20,000 records. The file is the
            same.
        on_progress: Called with records done and all records, twice over: while they are read, when their
            number is not known yet and given as 0, and while they are indexed.

    Returns:
        Counts and the digest of the public rows in asin order; the same for any order of `records`.

    Raises:
        DatasetError: A record without asin, or an asin that comes twice.
        ArtifactError: `out` exists.
    """
    if out.exists():
        raise ArtifactError(f"expected no file at {out}, found one; remove it or choose another place")
    try:
        # In a private temporary database, which is written to its place once, compact.
        with _connected("") as connection, in_processes(workers, alone=_ALONE, chunk=_CHUNK) as each:
            _stage(connection, each(_product, records), on_progress or _no_progress)
            report = _fill(connection, each, on_progress or _no_progress)
            connection.execute("COMMIT")
            connection.execute("VACUUM main INTO ?", (str(out),))
        with _connected(out) as connection:
            payload = compact_json(index_manifest(report.product_count, report.product_data_sha256))
            connection.execute("INSERT INTO manifest VALUES (?)", (payload,))
    except BaseException:
        out.unlink(missing_ok=True)
        raise
    return report


def add_title_nouns(path: Path, nouns: Mapping[str, tuple[str, ...]]) -> int:
    """Adds the table `title_noun` to a copy of the catalogue.

    Args:
        path: File made by `build_search_index`; changed in place.
        nouns: Title terms per asin; exactly the products of the file.

    Returns:
        Number of products.

    Raises:
        ArtifactError: Products without nouns or nouns without product; nothing is written then.
    """
    with writable(path) as connection:
        products = connection.execute("SELECT id, asin FROM product ORDER BY id").fetchall()
        _same_products({asin for _, asin in products}, set(nouns))
        connection.execute("BEGIN")
        connection.execute(TITLE_NOUN_DDL)
        connection.executemany(
            "INSERT INTO title_noun VALUES (?, ?)",
            ((id_, compact_json(nouns[asin])) for id_, asin in products),
        )
        connection.execute("COMMIT")
    return len(products)


@contextmanager
def writable(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection without implicit transactions; a clean exit compacts the file, which fixes its bytes."""
    with _connected(path) as connection:
        yield connection
        connection.execute("VACUUM")


@contextmanager
def _connected(path: Path | str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        yield connection
    finally:
        connection.close()


def _no_progress(_done: int, _total: int) -> None:
    pass


def _stage(connection: sqlite3.Connection, products: Iterable[_Row], on_progress: OnProgress) -> None:
    """Sorts the products on disk: a private temporary database, so that memory stays bounded."""
    connection.execute("ATTACH '' AS staging")
    connection.execute("PRAGMA staging.journal_mode = OFF")
    connection.execute("BEGIN")
    # In order of arrival, which is quick; only the asins are sorted.
    connection.execute("CREATE TABLE staging.product (asin TEXT, body TEXT)")
    connection.executemany(_STAGE_PRODUCT, _checked(products, on_progress))
    try:
        connection.execute("CREATE UNIQUE INDEX staging.product_asin ON product(asin)")
    except sqlite3.IntegrityError:
        raise _repeated_asin(connection) from None


def _checked(products: Iterable[_Row], on_progress: OnProgress) -> Iterator[_Row]:
    for position, row in enumerate(products):
        if not isinstance(row[0], str) or not row[0].strip():
            raise DatasetError(f"expected a text, found {row[0]!r}", record=position, field="asin")
        yield row
        if position % _STEP == _STEP - 1:
            on_progress(position + 1, 0)


def _repeated_asin(connection: sqlite3.Connection) -> DatasetError:
    """The first record whose asin an earlier record has."""
    asin, position = connection.execute(
        "SELECT asin, number - 1 FROM (SELECT asin, rowid AS number, row_number() OVER "
        "(PARTITION BY asin ORDER BY rowid) AS nth FROM staging.product) "
        "WHERE nth = 2 ORDER BY number LIMIT 1"
    ).fetchone()
    return DatasetError(
        f"expected an asin that no earlier record has, found {asin!r} again", record=position, field="asin"
    )


def _product(record: Mapping[str, Any]) -> _Row:
    """Asin and public row as JSON."""
    public = public_record(record)
    return public.get("asin"), compact_json(public)


def _document(product: _Row) -> _Row:
    """Number, asin and the text of each field."""
    number, asin, body = product
    fields = document_fields(json.loads(body))
    return (number, asin, *(fields[name] for name in _FIELDS))


def _fill(connection: sqlite3.Connection, each: Each, on_progress: OnProgress) -> IndexReport:
    """Products, then documents: one process fills the search table while the others make tokens for it."""
    for statement in (PRODUCT_DDL, FTS_DDL, MANIFEST_DDL, _FILL_PRODUCT):
        connection.execute(statement)
    connection.executemany("INSERT INTO products(products, rank) VALUES (?, ?)", _BULK)
    count = connection.execute("SELECT count(*) FROM product").fetchone()[0]
    digest, tokens = sha256(), Counter(dict.fromkeys(_FIELDS, 0))
    documents = each(_document, _digested(connection.execute(_PRODUCTS), digest))
    for first in range(0, count, _STEP):
        # FTS5 writes what is waiting when a savepoint begins: a segment for each step, which fixes the bytes.
        connection.execute("SAVEPOINT step")
        connection.executemany(_FILL_DOCUMENT, _tallied(islice(documents, _STEP), tokens))
        connection.execute("RELEASE step")
        on_progress(min(first + _STEP, count), count)
    connection.execute("INSERT INTO products(products) VALUES ('optimize')")
    # How the table was filled is no property of it: a reader finds the defaults.
    connection.execute("DELETE FROM products_config WHERE k <> 'version'")
    return IndexReport(count, digest.hexdigest(), dict(tokens))


def _digested(products: Iterable[_Row], digest: "hashlib._Hash") -> Iterator[_Row]:
    for row in products:
        digest.update(row[2].encode("utf-8") + b"\n")
        yield row


def _tallied(documents: Iterable[_Row], tokens: Counter[str]) -> Iterator[_Row]:
    for row in documents:
        for name, text in zip(_FIELDS, row[2:], strict=True):
            tokens[name] += text.count(" ") + 1 if text else 0
        yield row


def _same_products(products: set[str], tagged: set[str]) -> None:
    missing, unknown = sorted(products - tagged), sorted(tagged - products)
    if missing or unknown:
        raise ArtifactError(
            f"expected title nouns for exactly the {len(products)} products of the catalogue, found "
            f"{len(missing)} without nouns {missing[:5]} and {len(unknown)} unknown {unknown[:5]}",
            code="title_nouns_mismatch",
        )
