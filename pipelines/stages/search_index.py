"""Writes `catalog.sqlite`: public products, search table, index manifest, and later the title nouns.

Belongs here: the order of rows, the statements that make the file reproducible, the digest of the products.
Does not belong here: what a public row or a field is (`shopsim_env.catalog.schema`, `shopsim_env.search`).
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError, DatasetError
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
_FIELDS = tuple(FIELD_WEIGHTS)
_INSERT_DOCUMENT = (
    f"INSERT INTO products(rowid, {', '.join(FTS_COLUMNS)}) VALUES (?{', ?' * len(FTS_COLUMNS)})"  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What was indexed; `tokens` counts the stored tokens of each field."""

    product_count: int
    product_data_sha256: str
    tokens: dict[str, int]


def build_search_index(records: Iterable[Mapping[str, Any]], out: Path) -> IndexReport:
    """Writes products, search table and manifest to a new file.

    Args:
        records: Cleaned raw records in any order, each asin once.
        out: File to create; the caller moves it to its place. It is removed when building fails.

    Returns:
        Counts and the digest of the public rows in asin order; the same for any order of `records`.

    Raises:
        DatasetError: A record without asin, or an asin that comes twice.
        ArtifactError: `out` exists.
    """
    if out.exists():
        raise ArtifactError(f"expected no file at {out}, found one; remove it or choose another place")
    try:
        with _writable(out) as connection:
            _stage(connection, records)
            report = _fill(connection)
            connection.execute("COMMIT")
            connection.execute("DETACH staging")
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
    with _writable(path) as connection:
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
def _writable(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection without implicit transactions; a clean exit compacts the file, which fixes its bytes."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        yield connection
        connection.execute("VACUUM")
    finally:
        connection.close()


def _stage(connection: sqlite3.Connection, records: Iterable[Mapping[str, Any]]) -> None:
    """Sorts the public rows on disk: a private temporary database, so that memory stays bounded."""
    connection.execute("ATTACH '' AS staging")
    connection.execute("PRAGMA staging.journal_mode = OFF")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE staging.row (asin TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")
    for position, record in enumerate(records):
        row = public_record(record)
        asin = row.get("asin")
        if not isinstance(asin, str) or not asin.strip():
            raise DatasetError(f"expected a text, found {asin!r}", record=position, field="asin")
        try:
            connection.execute("INSERT INTO staging.row VALUES (?, ?)", (asin, compact_json(row)))
        except sqlite3.IntegrityError as error:
            raise DatasetError(
                f"expected an asin that no earlier record has, found {asin!r} again",
                record=position,
                field="asin",
            ) from error


def _fill(connection: sqlite3.Connection) -> IndexReport:
    for statement in (PRODUCT_DDL, FTS_DDL, MANIFEST_DDL):
        connection.execute(statement)
    digest, tokens, count = sha256(), Counter(dict.fromkeys(_FIELDS, 0)), 0
    for count, (asin, body) in enumerate(
        connection.execute("SELECT asin, body FROM staging.row ORDER BY asin"), start=1
    ):
        fields = document_fields(json.loads(body))
        connection.execute("INSERT INTO product VALUES (?, ?, ?)", (count, asin, body))
        connection.execute(_INSERT_DOCUMENT, (count, asin, *(fields[name] for name in _FIELDS)))
        digest.update(body.encode("utf-8") + b"\n")
        tokens.update({name: len(text.split()) for name, text in fields.items()})
    connection.execute("INSERT INTO products(products) VALUES ('optimize')")
    report = IndexReport(count, digest.hexdigest(), dict(tokens))
    payload = compact_json(index_manifest(report.product_count, report.product_data_sha256))
    connection.execute("INSERT INTO manifest VALUES (?)", (payload,))
    return report


def _same_products(products: set[str], tagged: set[str]) -> None:
    missing, unknown = sorted(products - tagged), sorted(tagged - products)
    if missing or unknown:
        raise ArtifactError(
            f"expected title nouns for exactly the {len(products)} products of the catalogue, found "
            f"{len(missing)} without nouns {missing[:5]} and {len(unknown)} unknown {unknown[:5]}",
            code="title_nouns_mismatch",
        )
