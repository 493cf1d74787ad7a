"""Numbers as fractions, so that scores compare exactly. Belongs here: the one conversion and the clip."""

import math
from decimal import Decimal
from fractions import Fraction

from shopsim_env.errors import UsageError

Number = int | float | Decimal | Fraction


def exact(value: object, name: str) -> Fraction:
    """`value` as the fraction that its decimal notation says: 0.95 is 19/20, not the nearest binary number.

    Args:
        value: An int, float, Decimal or Fraction.
        name: What the value is, for the message.

    Raises:
        UsageError: another type, a bool, NaN or an infinity (code `not_a_number`).
    """
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, (float, Decimal)) and math.isfinite(value):
        return Fraction(str(value))
    raise UsageError(f"{name}: expected a finite number, found {value!r}", code="not_a_number")


def clip(value: Fraction, low: int = -1, high: int = 1) -> Fraction:
    """`value` moved into [low, high]."""
    return max(Fraction(low), min(Fraction(high), value))


def within(value: object, name: str, low: int = -1, high: int = 1) -> Fraction:
    """`value` as a fraction of [low, high].

    Raises:
        UsageError: not a number (code `not_a_number`) or outside (code `out_of_range`).
    """
    number = exact(value, name)
    if not low <= number <= high:
        raise UsageError(f"{name}: expected within [{low}, {high}], found {value!r}", code="out_of_range")
    return number
