"""What a product is at run time: an immutable view of one raw record.

Belongs here: reading a raw record (raw archive schema or a release row) into typed values, and the public
form of option values and listing prices. Does not belong here: price rules (`price_axes`, `prices`), search
documents, storage.
"""

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

# Fields of the raw record that a public catalogue row may carry. An allow list, because an unknown key of a
# future archive might hold goal text; such keys stay in the private cleaned export.
PUBLIC_FIELDS = (
    "asin",
    "title",
    "sub_title",
    "shop_name",
    "brand",
    "category",
    "attribute",
    "full_description",
    "small_description",
    "pricing",
    "domain_zh",
    "domain_en_short",
    "domain_en_long",
    "shop_facts",
)


@dataclass(frozen=True, slots=True)
class OptionValue:
    """One value of an axis. `price` is the recorded price in yuan (0 is a placeholder), None when absent."""

    raw: str
    public: str
    key: str
    price: Decimal | None


@dataclass(frozen=True, slots=True)
class Axis:
    """One option axis with its original name; values in source order."""

    name: str
    values: tuple[OptionValue, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """One product. Missing text is "", missing lists are empty; a price is never invented.

    `title_nouns` is None for a record that did not come from a release; the type reward then uses the
    literal terms of both titles.
    """

    asin: str
    title: str
    brand: str
    category: str
    attributes: tuple[str, ...]
    axes: tuple[Axis, ...]
    listing: tuple[Decimal, ...]
    description: str
    bullets: tuple[str, ...]
    title_nouns: tuple[str, ...] | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any], title_nouns: tuple[str, ...] | None = None) -> "Product":
        """Reads a record in the raw archive's schema (shapes: docs/pipeline.md)."""
        return cls(
            asin=str(record.get("asin") or ""),
            title=str(record.get("title") or ""),
            brand=str(record.get("brand") or record.get("shop_name") or ""),
            category=str(record.get("category") or ""),
            attributes=tuple(str(item) for item in record.get("attribute") or ()),
            axes=read_axes(record.get("customization_options")),
            listing=_listing(record.get("pricing")),
            description=str(record.get("full_description") or ""),
            bullets=_texts(record.get("small_description") or record.get("sub_title")),
            title_nouns=title_nouns,
        )

    @property
    def listing_text(self) -> str:
        """Listing price as shown: `29.0`, `115.0 to 1750.0`, or "" when unknown."""
        numbers = [str(float(price)) for price in self.listing[:2]]
        return " to ".join(dict.fromkeys(numbers))


def as_product(product: "Product | Mapping[str, Any]") -> Product:
    """Accepts both forms that public functions promise to accept."""
    return product if isinstance(product, Product) else Product.from_record(product)


def public_value(raw: str) -> str:
    """Public form of an option value: blanks collapsed, trimmed, `/` as ` | `, lower case.

    Source: contract 7.9. `"  灯/支架 XL "` becomes `"灯 | 支架 xl"`.
    """
    return " ".join(raw.replace("/", " | ").split()).lower()


def option_key(raw: str) -> str:
    """Key under which two spellings of an option value are the same value.

    NFKC, case folded, `/` as `|`, every blank removed; a raw value and its public form share one key.
    """
    # Twice and from decomposed letters, as Unicode defines caseless compatibility matching: folding takes
    # some letters apart, and the public form has lost its capitals before it gets here.
    folded = unicodedata.normalize("NFD", raw).casefold()
    folded = unicodedata.normalize("NFKC", folded).casefold()
    return "".join(unicodedata.normalize("NFKC", folded).replace("/", "|").split())


def read_price(value: Any) -> Decimal | None:
    """A recorded price: a finite number >= 0 or a plain numeric string; anything else is absent."""
    if value is None or isinstance(value, bool):
        return None
    try:
        price = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if not price.is_finite() or price < 0:
        return None
    # 1e400 and 1e-400 are decimals, but infinite and 0 as the JSON number that leaves the environment.
    number = float(price)
    return price if math.isfinite(number) and (number > 0) == (price > 0) else None


def read_axes(options: Any) -> tuple[Axis, ...]:
    """Axes of `customization_options` (axis name -> list of values) in source order."""
    if not isinstance(options, Mapping):
        return ()
    return tuple(
        Axis(str(name), tuple(_option_value(entry) for entry in entries or ()))
        for name, entries in options.items()
    )


def _option_value(entry: Any) -> OptionValue:
    is_object = isinstance(entry, Mapping)
    value = entry.get("value") if is_object else entry
    raw = "" if value is None else str(value)
    price = read_price(entry.get("price")) if is_object else None
    public, key = public_value(raw), option_key(raw)
    # Most values are written in their public form; one string for all three keeps products small.
    return OptionValue(raw, raw if public == raw else public, raw if key == raw else key, price)


def _listing(pricing: Any) -> tuple[Decimal, ...]:
    if not isinstance(pricing, (list, tuple)):
        return ()
    prices = [read_price(item) for item in pricing[:2]]
    known = tuple(price for price in prices if price is not None)
    # Half a range is no single price: [null, 50] must not verify a budget as 50 would.
    return known if len(known) == len(prices) else ()


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(item) for item in items if item)
