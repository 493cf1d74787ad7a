"""Writes `rlve.sqlite`: the shop facts of every product, the categories and the attribute families.

Belongs here: what the source says, what is derived instead, and the order of rows. Does not belong here: the
tables (`shopsim_env.rlve.schema`), the derived values (`rlve_derived`), words (`rlve_families`).
"""

import json
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError
from pipelines.stages import rlve_derived
from pipelines.stages.rlve_families import (
    FAMILY_IDS,
    attributes_of,
    families_of,
    family_rows,
    value_rows,
)
from pipelines.stages.search_index import OnProgress, writable
from shopsim_env.canonical import compact_json
from shopsim_env.catalog.product import Product
from shopsim_env.release.layout import WORLD_ROWS
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR, INDEXES_DDL, TABLES_DDL, world_manifest
from shopsim_env.sqlite import open_readonly

# Beyond this a recorded number is no price of anything: ten thousand million, in hundredths.
_LARGEST_PRICE = 10**12
_STEP = 4_096
_FAMILY_NAMES = {number: name for name, number in FAMILY_IDS.items()}
_Row = tuple[Any, ...]
_Levels = tuple[str, ...]

DERIVED: Mapping[str, Callable[[str], int]] = {
    "rating": rlve_derived.rating,
    "rating_count": rlve_derived.rating_count,
    "ship_days": rlve_derived.ship_days,
    "stock": rlve_derived.stock,
}


@dataclass(frozen=True, slots=True)
class WorldReport:
    """What was written: rows, derived values by fact, products without a price, attribute rows by family."""

    products: int
    categories: int
    derived: dict[str, int]
    without_price: int
    attributes: dict[str, int]


def build_world(catalog: Path, out: Path, on_progress: OnProgress | None = None) -> WorldReport:
    """Writes the world facts of a catalogue to a new file; equal catalogues give equal bytes.

    Args:
        catalog: `catalog.sqlite` of `search_index`: public rows, in asin order.
        out: File to create; the caller moves it to its place. It is removed when building fails.
        on_progress: Called with the products done and their number.

    Raises:
        ArtifactError: `out` exists.
    """
    if out.exists():
        raise ArtifactError(f"expected no file at {out}, found one; remove it or choose another place")
    try:
        with closing(open_readonly(catalog)) as source, writable(out) as connection:
            connection.execute("BEGIN")
            report = _fill(source, connection, on_progress)
            connection.execute("COMMIT")
    except BaseException:
        out.unlink(missing_ok=True)
        raise
    return report


def differences(expected: Path, found: Path) -> Iterator[str]:
    """Rows in which two files differ, by table, number and column."""
    with closing(open_readonly(expected)) as left, closing(open_readonly(found)) as right:
        for table, query in WORLD_ROWS.items():
            wanted, present = left.execute(query), right.execute(query)
            columns = [column[0] for column in wanted.description]
            for number, rows in enumerate(zip_longest(wanted, present), 1):
                yield from (f"{table}, row {number}{text}" for text in _differences(columns, *rows))


def _differences(columns: list[str], wanted: _Row | None, present: _Row | None) -> Iterator[str]:
    if wanted is None or present is None:
        yield ": not expected" if wanted is None else ": missing"
        return
    for column, expected, found in zip(columns, wanted, present, strict=True):
        if expected != found:
            yield f", {column}: expected {expected!r}, found {found!r}"


def _fill(
    source: sqlite3.Connection, connection: sqlite3.Connection, on_progress: OnProgress | None
) -> WorldReport:
    for statement in TABLES_DDL:
        connection.execute(statement)
    index = json.loads(source.execute("SELECT payload FROM manifest").fetchone()[0])
    count, digest = index["product_count"], index["product_data_sha256"]
    connection.execute("INSERT INTO world VALUES (?)", (compact_json(world_manifest(count, digest)),))
    categories = _categories(source)
    connection.executemany("INSERT INTO category VALUES (?, ?, ?, ?, ?, ?)", _category_rows(categories))
    connection.executemany("INSERT INTO family VALUES (?, ?, ?, ?, ?, ?, ?)", family_rows())
    connection.executemany("INSERT INTO family_value VALUES (?, ?, ?, ?, ?)", value_rows())
    report = WorldReport(count, len(categories), dict.fromkeys(DERIVED, 0), 0, {})
    report = _fill_products(source, connection, sorted(categories), report, on_progress)
    for statement in INDEXES_DDL:
        connection.execute(statement)
    return report


def _fill_products(
    source: sqlite3.Connection,
    connection: sqlite3.Connection,
    paths: list[_Levels],
    report: WorldReport,
    on_progress: OnProgress | None,
) -> WorldReport:
    derived, families, without = Counter(report.derived), Counter(dict.fromkeys(FAMILY_IDS, 0)), 0
    families_by_path = [families_of(CATEGORY_SEPARATOR.join(path)) for path in paths]
    for number, body in source.execute("SELECT id, body FROM product ORDER BY id"):
        record = json.loads(body)
        product = Product.from_record(record)
        place = bisect_left(paths, levels(product.category))
        low, high = prices(product)
        without += low is None
        facts = _shop_facts(product.asin, record.get("shop_facts") or {})
        derived.update(name for name, (_, is_derived) in facts.items() if is_derived)
        flat = [part for pair in facts.values() for part in pair]
        named = sorted(
            (FAMILY_IDS[family], value, origin)
            for family, value, origin in attributes_of(product, families_by_path[place])
        )
        families.update(_FAMILY_NAMES[family] for family, _, _ in named)
        texts = (product.title, compact_json(named))
        row = (number, product.asin, place + 1, product.brand or None, low, high, *flat, *texts)
        connection.execute(f"INSERT INTO fact VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        connection.executemany(
            "INSERT INTO attribute VALUES (?, ?, ?, ?, ?, ?)",
            [(number, family, value, place + 1, low, origin) for family, value, origin in named],
        )
        if on_progress and number % _STEP == 0:
            on_progress(number, report.products)
    return WorldReport(report.products, report.categories, dict(derived), without, dict(families))


def levels(category: str) -> _Levels:
    """Levels of a category path; none for a product without category."""
    return tuple(level for level in (part.strip() for part in category.split(CATEGORY_SEPARATOR)) if level)


def prices(product: Product) -> tuple[int | None, int | None]:
    """Lowest and highest recorded price in hundredths: of the options, else of the listing.

    0 is a placeholder of the source and no price. A missing price stays missing.
    """
    recorded = [value.price for axis in product.axes for value in axis.values if value.price is not None]
    for amounts in (recorded, product.listing):
        known = [price for price in map(_hundredths, amounts) if 0 < price <= _LARGEST_PRICE]
        if known:
            return min(known), max(known)
    return None, None


def _hundredths(amount: Decimal) -> int:
    return int((amount * 100).to_integral_value(ROUND_HALF_UP)) if amount <= _LARGEST_PRICE else 0


def _shop_facts(asin: str, source: Mapping[str, Any]) -> dict[str, tuple[int, bool]]:
    """Each fact and whether it was derived; the ingest has checked what the source says."""
    facts = {}
    for name, derive in DERIVED.items():
        if source.get(name) is None:
            facts[name] = (derive(asin), True)
        else:
            # Stars become hundredths; the other facts are whole numbers already.
            facts[name] = (
                _hundredths(Decimal(str(source[name]))) if name == "rating" else source[name],
                False,
            )
    return facts


def _categories(source: sqlite3.Connection) -> dict[_Levels, int]:
    """Every category and everything above it, with the number of products below; the root is ()."""
    found: Counter[_Levels] = Counter({(): 0})
    for (body,) in source.execute("SELECT body FROM product ORDER BY id"):
        path = levels(str(json.loads(body).get("category") or ""))
        found.update(path[:depth] for depth in range(len(path) + 1))
    return dict(found)


def _category_rows(categories: Mapping[_Levels, int]) -> Iterator[_Row]:
    paths = sorted(categories)
    numbers = {path: number for number, path in enumerate(paths, 1)}
    last = dict(numbers)
    # In this order a category's last descendant comes last: later ones overwrite earlier ones.
    for path in paths:
        for depth in range(len(path)):
            last[path[:depth]] = numbers[path]
    for path in paths:
        name, parent = CATEGORY_SEPARATOR.join(path), numbers[path[:-1]] if path else None
        families = compact_json(list(families_of(name)))
        yield numbers[path], name, parent, last[path], categories[path], families
