"""Writes an English sample: JSON lines with plain columns, or parquet with those of the public catalogue.

Belongs here: the two shapes and the truth beside the file, which counts what was planted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.stages.sample.english import CURRENCY, EnglishRow, generate_english
from pipelines.stages.sample.writer import packed, replaced
from pipelines.stages.tables import write_rows
from shopsim_env.canonical import compact_json, pretty_json
from shopsim_env.errors import UsageError

ENGLISH_PRODUCTS = 1200
_LINES, _PARQUET = ".jsonl.gz", ".parquet"
_TEXTS = pa.list_(pa.string())
_SCHEMA = pa.schema(
    {
        "main_category": pa.string(),
        "title": pa.string(),
        "average_rating": pa.float64(),
        "rating_number": pa.int64(),
        "features": _TEXTS,
        "description": _TEXTS,
        "price": pa.string(),
        "images": _TEXTS,
        "videos": _TEXTS,
        "store": pa.string(),
        "categories": _TEXTS,
        "details": pa.string(),
        "parent_asin": pa.string(),
        "bought_together": _TEXTS,
        "subtitle": pa.string(),
        "author": pa.string(),
        # Not in the public catalogue: what an own export would add.
        "variants": pa.string(),
    }
)
_LEFT_OUT = ("price_unreadable", "price_other_currency", "price_by_combination")


@dataclass(frozen=True, slots=True)
class EnglishFiles:
    """The product file and the truth beside it."""

    archive: Path
    truth: Path


def english_files(out: Path) -> EnglishFiles:
    """Names of the two files for `out`, which must end in `.jsonl.gz` or `.parquet`.

    Raises:
        UsageError: another ending.
    """
    ending = next((end for end in (_LINES, _PARQUET) if out.name.endswith(end) and out.name != end), None)
    if ending is None:
        raise UsageError(
            f"expected an output name like catalog_en{_LINES} or big{_PARQUET}, found {out.name}"
        )
    return EnglishFiles(out, out.with_name(f"{out.name.removesuffix(ending)}.truth.json"))


def write_english(out: Path, products: int, seed: int) -> EnglishFiles:
    """Generates an English product file; existing files are replaced.

    Args:
        out: `NAME.jsonl.gz` or `NAME.parquet`; `NAME.truth.json` goes beside it.
        products: Number of products; a few rows that are none come on top.
        seed: Any integer; (products, seed) fixes every byte.

    Raises:
        UsageError: a wrong name or number.
    """
    files, truth = english_files(out), _Truth(products, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = truth.counted(generate_english(products, seed))
    with replaced(files.archive) as raw:
        if out.name.endswith(_LINES):
            with packed(raw) as stream:
                for row in rows:
                    stream.write(f"{json.dumps(row.columns, ensure_ascii=False)}\n".encode())
        else:
            write_rows(Path(raw.name), _SCHEMA, (_marketplace(row.columns) for row in rows))
    with replaced(files.truth) as stream:
        stream.write(pretty_json(truth.as_dict()).encode())
    return files


def _marketplace(columns: dict[str, Any]) -> tuple[Any, ...]:
    """The row in the columns of the public catalogue: price and details as text, descriptions as lists."""
    price = columns["price"]
    sign = "£" if columns["currency"] != CURRENCY else "$"
    values = {
        "parent_asin": columns["id"],
        "average_rating": columns["rating"],
        "rating_number": columns["rating_count"],
        "description": [columns["description"]] if columns["description"] else [],
        "price": f"{sign}{price:,.2f}" if isinstance(price, float) else price,
        "categories": columns["category"],
        "details": compact_json(
            columns["attributes"] | ({"Brand": columns["brand"]} if columns["brand"] else {})
        ),
        "variants": compact_json([_signed(entry, sign) for entry in columns["variants"]]),
    }
    named = ("main_category", "title", "features", "store")
    values |= {name: columns[name] for name in named}
    return tuple(values.get(name) for name in _SCHEMA.names)


def _signed(variant: dict[str, Any], sign: str) -> dict[str, Any]:
    price = variant["price"]
    return variant if price is None else {**variant, "price": f"{sign}{price:.2f}"}


class _Truth:
    """Counts what was planted while rows pass by."""

    def __init__(self, products: int, seed: int) -> None:
        self._products, self._seed, self._rows = products, seed, 0
        self._aside: Counter[str] = Counter()
        self._planted: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._without_options = self._without_variant_price = 0

    def counted(self, rows: Iterable[EnglishRow]) -> Iterator[EnglishRow]:
        """The rows as they are."""
        for row in rows:
            self._rows += 1
            if row.is_product:
                self._planted[row.fault] += 1
                self._categories["›".join(row.columns["category"])] += 1
                variants = row.columns["variants"]
                self._without_options += not variants
                self._without_variant_price += any(entry["price"] is None for entry in variants)
            else:
                self._aside[row.fault] += 1
            yield row

    def as_dict(self) -> dict[str, Any]:
        """The truth file: what a quality report must say."""
        planted = self._planted
        priceless = sum(
            planted[name] for name in ("price_missing", "price_unreadable", "price_other_currency")
        )
        gaps = {
            "price_missing": priceless,
            "price_zero": planted["price_zero"],
            "title_repeated": planted["title_repeated"],
            "rating_missing": planted["rating_missing"],
            "rating_count_missing": planted["rating_missing"],
            "brand_missing": planted["brand_missing"],
            "description_missing": planted["description_missing"],
            "options_missing": self._without_options,
        }
        return {
            "products": self._products,
            "seed": self._seed,
            "rows": self._rows,
            "set_aside": dict(sorted(self._aside.items())),
            "left_out": {name: planted[name] for name in _LEFT_OUT}
            | {"variant_without_price": self._without_variant_price},
            "gaps": gaps,
            "categories": dict(sorted(self._categories.items())),
        }
