"""How good the products of a data set are: what is missing, repeated, set aside or left out.

Belongs here: the report over finished products, of any source. It holds counts, row numbers and ids, never a
text of a product.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import Any, Final

from pipelines.stages.ingest import RawRow
from pipelines.stages.products.mapping import NOTES, REASONS
from pipelines.stages.products.tally import EXAMPLES, MappingReport
from shopsim_env.catalog.product import Product
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR

SCHEMA_VERSION: Final = "shopsim-catalogue-quality-v1"
GAPS: Final[Mapping[str, str]] = {
    "price_missing": "neither a listing nor an option has a price",
    "price_zero": "a price of 0, which is a placeholder and no price",
    "title_repeated": "an earlier product has the same title",
    "rating_missing": "no rating; the world facts derive one",
    "rating_count_missing": "no number of ratings; the world facts derive one",
    "brand_missing": "neither brand nor shop",
    "category_missing": "no category",
    "description_missing": "no description",
    "options_missing": "nothing to choose",
}


def catalogue_quality(rows: Iterable[RawRow], mapping: MappingReport | None, currency: str) -> dict[str, Any]:
    """The quality report, ready for JSON.

    Args:
        rows: Products, consumed as a stream.
        mapping: How a product file became products; None for an archive, all of whose rows are products.
        currency: ISO code of the data set.

    Returns:
        `rows` of the source; `products`; `set_aside`: reason to `rows` (their numbers from 0), `examples`
        (ids) and `meaning`; `left_out` and `gaps`: issue to number of `products`, `examples` (asins) and
        `meaning`; `categories`: number of `paths` and products by `depth`; `columns_not_read`.
    """
    counts, examples, depths, paths, products = (
        Counter[str](),
        dict[str, list[str]](),
        Counter[int](),
        set(),
        0,
    )
    repeated = _Repeated()
    for row in rows:
        products += 1
        for issue in _gaps(row.record, repeated):
            counts[issue] += 1
            # The smallest ids, not the first: products in source order would tell which task is whose.
            examples[issue] = nsmallest(EXAMPLES, (*examples.get(issue, ()), row.asin))
        levels = tuple(level.strip() for level in row.category.split(CATEGORY_SEPARATOR) if level.strip())
        depths[len(levels)] += 1
        paths.add(levels)
    return {
        "schema_version": SCHEMA_VERSION,
        "currency": currency,
        "rows": products if mapping is None else mapping.rows,
        "products": products,
        **_mapped(mapping),
        "gaps": {
            issue: _entry(counts[issue], examples.get(issue, []), GAPS[issue])
            for issue in GAPS
            if counts[issue]
        },
        "categories": {
            "paths": len(paths - {()}),
            "depth": {str(depth): depths[depth] for depth in sorted(depths)},
        },
    }


def _entry(products: int, examples: list[str], meaning: str) -> dict[str, Any]:
    return {"products": products, "examples": examples, "meaning": meaning}


def _mapped(mapping: MappingReport | None) -> dict[str, Any]:
    if mapping is None:
        return {"set_aside": {}, "left_out": {}, "columns_not_read": []}
    return {
        "set_aside": {
            reason: {"rows": entry.rows, "examples": entry.examples, "meaning": REASONS[reason]}
            for reason, entry in mapping.set_aside.items()
        },
        "left_out": {
            note: _entry(entry.products, entry.examples, NOTES[note]) for note, entry in mapping.noted.items()
        },
        "columns_not_read": mapping.columns_not_read,
    }


class _Repeated:
    """Whether a title came before, in any letter case; 64 bits of its hash are kept in its place."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def __call__(self, title: str) -> bool:
        folded = " ".join(title.casefold().split()).encode()
        key = int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big")
        known = key in self._seen
        self._seen.add(key)
        return known


def _gaps(record: Mapping[str, Any], repeated: Callable[[str], bool]) -> Iterator[str]:
    product = Product.from_record(record)
    recorded = [value.price for axis in product.axes for value in axis.values if value.price is not None]
    prices = (*product.listing, *recorded)
    facts = record.get("shop_facts") or {}
    found = {
        "price_missing": not prices,
        "price_zero": 0 in prices,
        "title_repeated": repeated(product.title),
        "rating_missing": facts.get("rating") is None,
        "rating_count_missing": facts.get("rating_count") is None,
        "brand_missing": not product.brand.strip(),
        "category_missing": not product.category.strip(),
        "description_missing": not product.description.strip(),
        "options_missing": not any(axis.values for axis in product.axes),
    }
    yield from (issue for issue, holds in found.items() if holds)
