"""What every task score shares: its result, exact numbers and counts.

Belongs here: conversion to fractions, clipping, F1 over counts. Not here: the rule of any environment.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from shopsim_env.errors import UsageError

Number = int | float | Fraction


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Outcome of one task.

    Args:
        score: Task score in [-1, 1]. Never decides success: the published scores of two environments cannot
            reach their pass line, and rounding kept others below it.
        success: The environment's own exact condition.
        parts: Named terms of the score, for reports.
    """

    score: float
    success: bool
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)


# The published score of an episode that ends without an answer, whatever was done in it.
UNANSWERED = TaskScore(-1.0, False, {"answered": 0.0})


def finite(value: Number, name: str) -> Number:
    """`value`, a finite number.

    Raises:
        UsageError: `score_not_finite` for NaN and infinities, `score_not_a_number` for anything else, also
            booleans.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise UsageError(
            f"{name} must be a number, found {type(value).__name__}; pass an int, float or Fraction",
            code="score_not_a_number",
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name} must be finite, found {value}; mend its source", code="score_not_finite")
    return value


def exact(value: Number, name: str) -> Fraction:
    """The fraction that a finite number stands for; errors as `finite`."""
    return Fraction(finite(value, name))


def clip(value: Fraction) -> Fraction:
    """`value` limited to [-1, 1]."""
    return max(Fraction(-1), min(Fraction(1), value))


def count(value: int, name: str, least: int = 0) -> int:
    """`value`, an integer of at least `least`.

    Raises:
        UsageError: `score_bad_count` for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(
            f"{name} must be an integer of at least {least}, found {value!r}; pass a count",
            code="score_bad_count",
        )
    return value


def unreachable(what: str) -> UsageError:
    """The error for a goal that no answer can meet: a fault of the generator, never a score of the agent."""
    return UsageError(f"{what}; the generator must not make such a goal", code="score_empty_goal")


def f1(matched: int, given: int, wanted: int) -> Fraction:
    """F1 of counts without any added constant: 2·matched / (given + wanted), `wanted` at least 1."""
    return Fraction(2 * matched, given + wanted)
