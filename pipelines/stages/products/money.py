"""Prices as English catalogues write them: numbers, `$1,299.00`, ranges; and what is no price.

Belongs here: one cell of a price. Nothing is guessed: a missing price stays missing, and text that is no
plain amount (`from 9.99`, `12,50`) is unreadable. What an amount means for options is in `variants`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from shopsim_env.catalog.product import read_price

UNREADABLE: Final = "price_unreadable"
OTHER_CURRENCY: Final = "price_other_currency"

# A bare `$` is the sign of several dollars; which one is meant, the data set says.
_SIGNS: Mapping[str, tuple[str, ...]] = {
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN"),
    "US$": ("USD",),
    "£": ("GBP",),
    "€": ("EUR",),
    "¥": ("CNY", "JPY"),
    "₹": ("INR",),
}
_MISSING = frozenset({"", "none", "null", "nan", "n/a", "-", "—"})
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_SIGN = r"US\$|[$£€¥₹]|[A-Z]{3}"
_AMOUNT = re.compile(rf"({_SIGN})?\s?({_NUMBER})\s?({_SIGN})?", re.ASCII)
_RANGE = re.compile(r"\s+[-–]\s+|\s*–\s*|(?<=[\d.])-(?=[$£€\d])|\s+to\s+")


def read_money(value: Any, currency: str, stated: str = "") -> tuple[tuple[Decimal, ...], str]:
    """Amounts of a price cell, and what is wrong with it.

    Args:
        value: Number, text or None.
        currency: ISO code of the data set; an amount with the sign or code of another one is left out.
        stated: Currency that the row states, "" for none.

    Returns:
        No amount, one, or the two ends of a range, in ascending order; and `price_unreadable`,
        `price_other_currency` or "".
    """
    if value is None or (isinstance(value, (float, Decimal)) and value != value):
        return (), ""
    text = " ".join(value.split()) if isinstance(value, str) else None
    if text is not None and text.casefold() in _MISSING:
        return (), ""
    if stated not in ("", currency):
        return (), OTHER_CURRENCY
    if text is not None:
        return _of_text(text, currency)
    price = read_price(value)
    return ((), UNREADABLE) if price is None else ((price,), "")


def _of_text(text: str, currency: str) -> tuple[tuple[Decimal, ...], str]:
    parts = [_AMOUNT.fullmatch(part) for part in _RANGE.split(text)]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts) or len(found) > 2:
        return (), UNREADABLE
    signs = {sign for part in found for sign in (part[1], part[3]) if sign}
    if any(currency not in _SIGNS.get(sign, (sign,)) for sign in signs):
        return (), OTHER_CURRENCY
    amounts = [read_price(part[2].replace(",", "")) for part in found]
    known = sorted(amount for amount in amounts if amount is not None)
    return (tuple(dict.fromkeys(known)), "") if len(known) == len(amounts) else ((), UNREADABLE)
