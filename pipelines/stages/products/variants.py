"""Variants of a product (one price per combination) as option axes with one price per value.

Belongs here: which values an axis has and which of them have a price. The raw record knows no price of a
combination; where only the combination decides, no value gets one (docs/decisions/0028).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from pipelines.stages.products.cells import whole_number
from pipelines.stages.products.money import read_money
from shopsim_env.catalog.product import option_key

BY_COMBINATION: Final = "price_by_combination"
UNREADABLE: Final = "variant_unreadable"
WITHOUT_PRICE: Final = "variant_without_price"
Note = Callable[[str], None]
# The same few colors and sizes stand in every product.
_key = lru_cache(maxsize=8192)(option_key)


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination: axis key to value key, its price and its stock where they are known."""

    values: Mapping[str, str]
    price: Decimal | None
    stock: int | None


@dataclass(slots=True)
class Variants:
    """All variants of a product, axes and values in the order of their first appearance.

    `axes` maps the key of an axis to its name and to its values (key to text): two spellings are one value.
    """

    axes: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    items: list[Variant] = field(default_factory=list)

    @property
    def prices(self) -> list[Decimal]:
        """Known prices, ascending and distinct."""
        return sorted({item.price for item in self.items if item.price is not None})

    @property
    def stock(self) -> int | None:
        """Pieces of all variants together; None when one of them does not say."""
        known = [item.stock for item in self.items if item.stock is not None]
        return sum(known) if known and len(known) == len(self.items) else None


def read_variants(entries: Sequence[Any], currency: str, stated: str, note: Note) -> Variants:
    """Reads `[{"options": {axis: value}, "price": …, "stock": …}]`.

    Args:
        entries: Variants of one product.
        currency: As for `read_money`, and so is `stated`.
        stated: Currency that the row states, "" for none.
        note: Takes each fault; a variant that is no object or names no option is left out.
    """
    found = Variants()
    for entry in entries:
        options = entry.get("options") if isinstance(entry, Mapping) else None
        values = _values(options, found.axes) if isinstance(options, Mapping) else {}
        if not values:
            note(UNREADABLE)
            continue
        amounts, fault = read_money(entry.get("price"), currency, stated)
        if fault or len(amounts) != 1:
            note(fault or WITHOUT_PRICE)
        price = amounts[0] if len(amounts) == 1 else None
        found.items.append(Variant(values, price, whole_number(entry.get("stock"))))
    return found


def _values(options: Mapping[str, Any], axes: dict[str, tuple[str, dict[str, str]]]) -> dict[str, str]:
    """Value key by axis key of one variant; new axes and values are added to `axes`."""
    values = {}
    for name, value in options.items():
        axis, text = " ".join(str(name).split()), " ".join(str("" if value is None else value).split())
        if axis and text:
            key = values[_key(axis)] = _key(text)
            axes.setdefault(_key(axis), (axis, {}))[1].setdefault(key, text)
    return values


def raw_options(variants: Variants, note: Note) -> dict[str, list[dict[str, Any]]]:
    """`customization_options` of the raw record.

    The prices stand on the first axis that decides them alone; other axes have none. Without such an axis no
    value has a price.
    """
    priced, prices = _deciding_axis(variants)
    if variants.prices and not priced:
        note(BY_COMBINATION)
    return {
        name: [_option(text, prices.get(key) if axis == priced else None) for key, text in values.items()]
        for axis, (name, values) in variants.axes.items()
    }


def _option(text: str, price: Decimal | None) -> dict[str, Any]:
    return {"value": text} if price is None else {"value": text, "price": float(price)}


def _deciding_axis(variants: Variants) -> tuple[str, dict[str, Decimal]]:
    """Key of the first axis on which every value has one price, and these prices; ("", {}) without one."""
    for axis in variants.axes:
        prices: dict[str, set[Decimal | None]] = {}
        for item in variants.items:
            prices.setdefault(item.values.get(axis, ""), set()).add(item.price)
        known = {key: found - {None} for key, found in prices.items()}
        if "" not in prices and all(len(found) <= 1 for found in known.values()):
            # A value of which one variant lacks its price is not known by the price of another.
            single = {key: next(iter(found)) for key, found in prices.items() if len(found) == 1}
            return axis, {key: price for key, price in single.items() if price is not None}
    return "", {}
