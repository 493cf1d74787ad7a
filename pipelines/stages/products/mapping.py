"""One row of a product file as a record of the raw archive's schema.

Belongs here: which column feeds which field, and the reasons for which a row cannot be mapped. Nothing is
filled in. Columns are those of the large public catalogue and plain names for the same.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pipelines.stages.ingest_rules import usable_asin
from pipelines.stages.products.cells import (
    decimal_cell,
    list_cell,
    object_cell,
    text_cell,
    texts,
    whole_number,
)
from pipelines.stages.products.money import read_money
from pipelines.stages.products.variants import Variants, raw_options, read_variants
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR

# Meaning -> columns that may hold it; the first one present counts.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("parent_asin", "id"),
    "title": ("title",),
    "subtitle": ("subtitle",),
    "brand": ("brand",),
    "store": ("store",),
    "author": ("author",),
    "main_category": ("main_category",),
    "categories": ("categories", "category"),
    "features": ("features",),
    "description": ("description",),
    "details": ("details", "attributes"),
    "tags": ("tags",),
    "price": ("price",),
    "currency": ("currency",),
    "rating": ("average_rating", "rating"),
    "rating_count": ("rating_number", "rating_count"),
    "stock": ("stock",),
    "variants": ("variants",),
}
KNOWN_COLUMNS: Final = frozenset(name for names in COLUMNS.values() for name in names)

REASONS: Final[Mapping[str, str]] = {
    "not_an_object": "the row is no object",
    "not_json": "the line is no JSON, or no UTF-8",
    "missing_id": "no id",
    "missing_title": "no title",
    "wrong_type": "the id or the title is no text",
    "duplicate_id": "an earlier row has this id, perhaps in other letter case",
}
NOTES: Final[Mapping[str, str]] = {
    "id_replaced": "the id is no asin; `x` and 19 digits of its SHA-256 stand for it",
    "price_unreadable": "a price that is no plain amount; left out",
    "price_other_currency": "a price in another currency than the data set's; left out",
    "price_by_combination": "no option alone decides the price: options have none, the listing the range",
    "variant_unreadable": "a variant without options; left out",
    "variant_without_price": "a variant without a price",
    "variants_unreadable": "variants that are no list; left out",
    "details_unreadable": "details that are no object; left out",
    "rating_unreadable": "a rating that is no number from 1 to 5; left out",
    "rating_count_unreadable": "a number of ratings that is no whole number; left out",
}
_BRAND_DETAILS = ("brand", "brand name", "manufacturer")
_SHOWN_ID = 40
Note = Callable[[str], None]


class RowRefused(Exception):  # noqa: N818 (never leaves the stage: the row is set aside)
    """A row that cannot be mapped: a key of `REASONS`."""

    def __init__(self, reason: str, source_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.source_id = source_id[:_SHOWN_ID]


def cell(row: Mapping[str, Any], meaning: str) -> Any:
    """The first column of a meaning that is present and not null."""
    return next((row[name] for name in COLUMNS[meaning] if row.get(name) is not None), None)


def map_row(row: Any, currency: str, note: Note) -> dict[str, Any]:
    """The raw record of a row.

    Args:
        row: An object with columns of `COLUMNS`; others are not read.
        currency: ISO code of the data set's currency.
        note: Takes a key of `NOTES` for each value that is left out or changed.

    Raises:
        RowRefused: The row has no usable id or title.
    """
    if not isinstance(row, Mapping):
        raise RowRefused("not_an_object")
    source_id, title = text_cell(cell(row, "id")), text_cell(cell(row, "title"))
    if source_id is None or title is None:
        raise RowRefused("wrong_type", source_id or "")
    if not source_id or not title:
        raise RowRefused("missing_title" if source_id else "missing_id", source_id)
    details = object_cell(cell(row, "details"))
    if details is None:
        note("details_unreadable")
    fields = {
        **_identity(source_id, note),
        "title": title,
        **_texts(row, details or {}),
        **_goods(row, currency, note),
    }
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}


def _identity(source_id: str, note: Note) -> dict[str, str]:
    """The id as it is, else one that the runtime can click, with the source's beside it."""
    if usable_asin(source_id):
        return {"asin": source_id}
    note("id_replaced")
    return {"asin": f"x{hashlib.sha256(source_id.encode()).hexdigest()[:19]}", "source_id": source_id}


def _texts(row: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    known = {str(name).strip().casefold(): value for name, value in details.items()}
    brands = (next(texts(known.get(name)), "") for name in _BRAND_DETAILS)
    author = cell(row, "author")
    named = author.get("name") if isinstance(author, Mapping) else author
    return {
        "sub_title": next(texts(cell(row, "subtitle")), ""),
        "brand": next(texts(cell(row, "brand")), "") or next(filter(None, brands), ""),
        "shop_name": next(texts(cell(row, "store")), "") or next(texts(named), ""),
        "category": CATEGORY_SEPARATOR.join(_levels(row)),
        "domain_en_short": next(texts(cell(row, "main_category")), ""),
        "small_description": list(texts(cell(row, "features"))),
        "full_description": "\n".join(texts(cell(row, "description"))),
        "attribute": [*_attributes(details), *texts(cell(row, "tags"))],
    }


def _levels(row: Mapping[str, Any]) -> Iterator[str]:
    """Levels of the category path; the main category alone where there is no path.

    Level names must not hold the two characters that separate levels elsewhere.
    """
    path = cell(row, "categories")
    if isinstance(path, str) and not path.lstrip().startswith("["):
        path = path.replace(CATEGORY_SEPARATOR, ">").split(">")
    levels = list(texts(path)) or list(texts(cell(row, "main_category")))
    yield from (level.replace(CATEGORY_SEPARATOR, "/").replace(">", "/") for level in levels)


def _attributes(details: Mapping[str, Any]) -> Iterator[str]:
    """`Name: value` of each detail that says something; objects below, such as sales ranks, are no values."""
    for name, value in details.items():
        if str(name).strip().casefold() not in _BRAND_DETAILS:
            text = ", ".join(texts(value))
            if text:
                yield f"{' '.join(str(name).split())}: {text}"


def _goods(row: Mapping[str, Any], currency: str, note: Note) -> dict[str, Any]:
    """Options, listing and shop facts."""
    stated = (text_cell(cell(row, "currency")) or "").upper()
    entries = list_cell(cell(row, "variants"))
    if entries is None:
        note("variants_unreadable")
    variants = read_variants(entries or (), currency, stated, note)
    amounts, fault = read_money(cell(row, "price"), currency, stated)
    if fault:
        note(fault)
    prices = variants.prices or list(amounts)
    return {
        "customization_options": raw_options(variants, note),
        "pricing": [float(price) for price in dict.fromkeys((*prices[:1], *prices[-1:]))],
        "shop_facts": _shop_facts(row, variants, note),
    }


def _shop_facts(row: Mapping[str, Any], variants: Variants, note: Note) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    rating = decimal_cell(cell(row, "rating"))
    if rating is not None and 1 <= rating <= 5:
        facts["rating"] = float(rating)
    elif text_cell(cell(row, "rating")) != "":
        note("rating_unreadable")
    count = whole_number(cell(row, "rating_count"))
    if count is not None:
        facts["rating_count"] = count
    elif text_cell(cell(row, "rating_count")) != "":
        note("rating_count_unreadable")
    stock = variants.stock if variants.stock is not None else whole_number(cell(row, "stock"))
    return facts if stock is None else {**facts, "stock": stock}
