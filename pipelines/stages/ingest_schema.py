"""The raw archive's schema as tables, and the check of one record against them.

Belongs here: types, gaps (missing, null, empty) and unknown keys of a single record. Rules between records
and between fields (duplicates, persona and simple text) belong to `ingest`.

Source: contract 7.18, the seed's product fields, the audit of the public archive. Fields that only the
crawler used (images, SKU ids, `is_available`) are known but carry no promise about their type.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from shopsim_env.catalog.product import read_price
from shopsim_env.rlve.schema import SOURCE_FACTS


class FieldMismatch(Exception):  # noqa: N818 (never leaves the stage: `ingest` turns it into a DatasetError)
    """A value of the wrong type or range; the dotted path grows while it climbs out of the record."""

    def __init__(self, path: str, expected: str, found: Any, code: str = "wrong_type") -> None:
        super().__init__(path)
        self.path = path
        self.expected = expected
        self.found = describe(found)
        self.code = code

    def under(self, prefix: str) -> "FieldMismatch":
        """Puts `prefix` in front of the path."""
        dot = "" if not self.path or self.path.startswith("[") else "."
        self.path = f"{prefix}{dot}{self.path}"
        return self


@dataclass(slots=True)
class SchemaCounts:
    """What was absent or unknown, over all records: (field, reason) -> n and key -> n."""

    gaps: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown_keys: Counter[str] = field(default_factory=Counter)


Check = Callable[[Any], None]
Gap = Callable[[Any], str]


def describe(value: Any) -> str:
    """Type of a JSON value in words; numbers with their value, texts never (they may be goal text)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a string" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def check_anything(value: Any) -> None:
    """Accepts every value: fields that no rule reads."""


def check_text(value: Any) -> None:
    """A string."""
    if not isinstance(value, str):
        raise FieldMismatch("", "a string", value)


def check_texts(value: Any) -> None:
    """A list of strings."""
    check_list(value, check_text)


def check_text_or_texts(value: Any) -> None:
    """A string or a list of strings."""
    if isinstance(value, list):
        check_texts(value)
    elif not isinstance(value, str):
        raise FieldMismatch("", "a string or a list of strings", value)


def check_object(value: Any) -> None:
    """An object with any content."""
    if not isinstance(value, dict):
        raise FieldMismatch("", "an object", value)


def check_shop_facts(value: Any) -> None:
    """An object with any of the facts of `SOURCE_FACTS` and no other key; each a number in its range."""
    check_object(value)
    for name, found in value.items():
        if name not in SOURCE_FACTS:
            raise FieldMismatch(name, f"one of {', '.join(SOURCE_FACTS)}", found)
        low, high, whole = SOURCE_FACTS[name]
        number = isinstance(found, int) or (isinstance(found, float) and not whole)
        if isinstance(found, bool) or not number or not low <= found <= high:
            kind = "a whole number" if whole else "a number"
            raise FieldMismatch(name, f"{kind} from {low} to {high}", found)


def check_price(value: Any) -> None:
    """A finite number or a string; a string that spells NaN or Infinity is refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise FieldMismatch("", "a number or a numeric string", value)
    if not _is_finite(value):
        raise FieldMismatch("", "a finite number", value, code="non_finite_number")


def check_prices(value: Any) -> None:
    """A list of prices."""
    check_list(value, check_price)


def check_list(value: Any, check: Check) -> None:
    """A list whose items all pass `check`; the path of a bad one starts with its index."""
    if not isinstance(value, list):
        raise FieldMismatch("", "a list", value)
    for position, item in enumerate(value):
        try:
            check(item)
        except FieldMismatch as mismatch:
            raise mismatch.under(f"[{position}]") from None


def _is_finite(value: float | str) -> bool:
    if isinstance(value, str):
        try:
            return Decimal(value.strip()).is_finite()
        except InvalidOperation:
            return True  # no number at all: counted as `not_a_price`, never used
    return math.isfinite(value)


def gap(value: Any) -> str:
    """Reason why a present, well-typed value says nothing: `empty`, or "" when it says something."""
    items = value if isinstance(value, list) else [value]
    blank = all(item in ({}, []) or (isinstance(item, str) and not item.strip()) for item in items)
    return "empty" if blank else ""


def price_gap(value: Any) -> str:
    """`empty`, `not_a_price` (text without a number, negative) or ""."""
    return gap(value) or ("not_a_price" if read_price(value) is None else "")


@dataclass(frozen=True, slots=True)
class Field:
    """One known key: its type check, whether its absence is counted, and what else counts as a gap."""

    check: Check
    counted: bool = True
    gap: Gap = gap


_UNREAD = Field(check_anything, counted=False)

OPTION_FIELDS: Mapping[str, Field] = {
    "value": Field(check_text),
    "price": Field(check_price, gap=price_gap),
    **dict.fromkeys(("asin", "image", "is_available", "is_selected", "price_string", "url"), _UNREAD),
}

INSTRUCTION_FIELDS: Mapping[str, Field] = {
    "instruction": Field(check_text),
    "instruction_simple": Field(check_text),
    "attributes": Field(check_texts),
    "instruction_options": Field(check_texts),
    "asin": Field(check_text),
    **dict.fromkeys(("options", "worker_id", "price_constraint"), _UNREAD),
}

PRODUCT_FIELDS: Mapping[str, Field] = {
    "asin": Field(check_text),
    "title": Field(check_text),
    "sub_title": Field(check_text_or_texts),
    "shop_name": Field(check_text),
    "category": Field(check_text),
    "attribute": Field(check_texts),
    "customization_options": Field(check_object),
    "pricing": Field(check_prices),
    "images": Field(check_anything),
    "full_description": Field(check_text),
    "small_description": Field(check_text_or_texts),
    "instructions": Field(lambda value: check_list(value, check_object)),
    "user_persona": Field(check_object),
    "tag": Field(check_text),
    "domain_zh": Field(check_text),
    "domain_en_short": Field(check_text),
    "domain_en_long": Field(check_text),
    # In no record of the public archive, read where present.
    "brand": Field(check_text, counted=False),
    "shop_facts": Field(check_shop_facts, counted=False),
    **dict.fromkeys(("query", "reason_key", "instruction_sample", "source_id"), _UNREAD),
}


def check_record(record: dict[str, Any], counts: SchemaCounts) -> None:
    """Checks every field of one product object and counts its gaps and unknown keys.

    Raises:
        FieldMismatch: With the dotted path, for example `customization_options.颜色[3].price`.
    """
    _check_keys(record, PRODUCT_FIELDS, "", counts)
    for position, instruction in enumerate(record.get("instructions") or ()):
        try:
            _check_keys(instruction, INSTRUCTION_FIELDS, "instructions[].", counts)
        except FieldMismatch as mismatch:
            raise mismatch.under(f"instructions[{position}]") from None
    for axis, entries in (record.get("customization_options") or {}).items():
        try:
            _check_axis(entries, counts)
        except FieldMismatch as mismatch:
            raise mismatch.under(axis).under("customization_options") from None


def _check_axis(entries: Any, counts: SchemaCounts) -> None:
    if entries is None:
        counts.gaps["customization_options.*", "null"] += 1
        return

    def check_entry(entry: Any) -> None:
        check_object(entry)
        _check_keys(entry, OPTION_FIELDS, "customization_options.*[].", counts)

    check_list(entries, check_entry)


def _check_keys(value: dict[str, Any], table: Mapping[str, Field], name: str, counts: SchemaCounts) -> None:
    for key, known in table.items():
        item = value.get(key)
        if item is not None:
            try:
                known.check(item)
            except FieldMismatch as mismatch:
                raise mismatch.under(key) from None
        if known.counted:
            reason = known.gap(item) if item is not None else "null" if key in value else "missing"
            if reason:
                counts.gaps[name + key, reason] += 1
    if not value.keys() <= table.keys():
        counts.unknown_keys.update(name + key for key in value.keys() - table.keys())
