"""Filters of the search tool as constraints on facts.

Belongs here: reading names, words and numbers of a filter, exactly, and refusing what the shop does not know.
Which products meet the constraints is the shelf's answer.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Final

from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.fact_model import Family
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR, NUMBER
from shopsim_env.rlve.shelf import Shelf
from shopsim_env.rlve.tools.arguments import Filters

_NAMED: Final = 5
_HUNDREDTHS: Final = {"price_min": ROUND_CEILING, "price_max": ROUND_FLOOR, "rating_min": ROUND_CEILING}
_COUNTS: Final = ("rating_count_min", "rating_count_max", "ship_days_max", "ship_days_min", "stock_min")


@dataclass(frozen=True, slots=True)
class Picked:
    """A filter that was read: category number or None, constraints, and whether it must be in stock."""

    category: int | None = None
    constraints: tuple[Constraint, ...] = ()
    in_stock: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it filters nothing."""
        return self == Picked()


def read_filters(shelf: Shelf, filters: Filters | None) -> Picked:
    """The filter of a call.

    Raises:
        RefusalError: A category (`unknown_category`, `ambiguous_category`) or an attribute
            (`unknown_attribute`) that this shop does not have.
    """
    if filters is None:
        return Picked()
    category = None if filters.category is None else _category(shelf, filters.category)
    constraints = [*_bounds(filters), *_attributes(shelf, filters.attributes or {})]
    return Picked(category, tuple(constraints), bool(filters.in_stock))


def _bounds(filters: Filters) -> Iterator[Constraint]:
    for name, rounding in _HUNDREDTHS.items():
        value = getattr(filters, name)
        if value is not None:
            # The shortest decimal text of a float is what the agent wrote.
            hundredths = (Decimal(repr(value)) * 100).to_integral_value(rounding)
            yield Constraint(name, int(hundredths))
    for name in _COUNTS:
        value = getattr(filters, name)
        if value is not None:
            yield Constraint(name, value)
    if filters.brand is not None:
        yield Constraint("brand", filters.brand)


def _category(shelf: Shelf, text: str) -> int:
    found = shelf.categories_named(text)
    if len(found) == 1:
        return found[0]
    if not found:
        raise RefusalError(
            f"expected a category of this shop: its path, levels joined by {CATEGORY_SEPARATOR}, or its last "
            f"level, found {text!r}; the cards of a search say their categories",
            code="unknown_category",
        )
    paths = [CATEGORY_SEPARATOR.join(shelf.world.category(number).levels) for number in found[:_NAMED]]
    raise RefusalError(
        f"{len(found)} categories are called {text!r}; give the path of one, such as {'; '.join(paths)}",
        code="ambiguous_category",
    )


def _attributes(shelf: Shelf, wanted: Mapping[str, str | int | float]) -> Iterator[Constraint]:
    families = shelf.world.families
    for name, value in wanted.items():
        family = families.get(name) or next((f for f in families.values() if _same(name, f.zh, f.en)), None)
        if family is None:
            raise RefusalError(
                f"expected attributes among {', '.join(families)}, found {name!r}", code="unknown_attribute"
            )
        yield Constraint("value", _value(family, value), family.name)


def _value(family: Family, value: str | int | float) -> int:
    found = _number(value) if family.kind == NUMBER else _word(family, value)
    if found is None:
        names = [item.name for item in family.pool]
        close = difflib.get_close_matches(str(value), names, 3) or names[:_NAMED]
        kind = "a number" if family.kind == NUMBER else f"one of its values, such as {', '.join(close)}"
        raise RefusalError(f"{family.name}: expected {kind}, found {value!r}", code="unknown_attribute")
    return found


def _word(family: Family, value: str | int | float) -> int | None:
    text = str(value)
    return next((item.value for item in family.pool if _same(text, item.name, item.zh, item.en)), None)


def _number(value: str | int | float) -> int | None:
    """Thousandths; None for what is no number, has more decimals, or is beyond what a fact can be."""
    try:
        thousandths = Decimal(repr(value) if isinstance(value, float) else str(value).strip()) * 1000
    except InvalidOperation:
        return None
    if not thousandths.is_finite() or not 0 <= thousandths <= 10**15 or thousandths != int(thousandths):
        return None
    return int(thousandths)


def _same(text: str, *names: str) -> bool:
    return text.strip().casefold() in (name.casefold() for name in names)
