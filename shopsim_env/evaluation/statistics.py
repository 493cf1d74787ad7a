"""The formulas: pass@k, pass^k, McNemar's exact test, bootstrap intervals over tasks.

Belongs here: arithmetic on numbers, without episodes or words. Counts are exact (integers and fractions);
draws come from `random.Random(seed).random()` alone, whose sequence Python promises for every version, and
sums are rounded once (`fsum`), so an interval is the same everywhere. Wilson's is in `shopsim_env.intervals`.
"""

import random
from collections.abc import Sequence
from fractions import Fraction
from math import comb, fsum
from typing import Final, NamedTuple

from shopsim_env.errors import UsageError

RESAMPLES: Final = 2_000
_TAIL: Final = 0.025


class Interval(NamedTuple):
    """A two-sided 95 % interval."""

    low: float
    high: float


class Cluster(NamedTuple):
    """What the episodes of one task add to a mean: the sum of their values, and how many they are."""

    total: float
    episodes: int


class Turned(NamedTuple):
    """Tasks that the second run succeeds in more often, less often, equally often, and the exact p-value."""

    gained: int
    lost: int
    tied: int
    p: float | None


def pass_at_k(samples: int, successes: int, k: int) -> float | None:
    """Chance that at least one of k samples of a task succeeds; None where it has fewer than k.

    The unbiased estimator 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    Raises:
        UsageError: k below 1, or successes that are not between 0 and samples (code `bad_count`).
    """
    _check(samples, successes, k)
    if samples < k:
        return None
    return float(1 - Fraction(comb(samples - successes, k), comb(samples, k)))


def pass_hat_k(samples: int, successes: int, k: int) -> float | None:
    """Chance that all of k samples of a task succeed, pass^k; None where it has fewer than k.

    The unbiased estimator C(c, k) / C(n, k) (Yao et al. 2024).

    Raises:
        UsageError: as `pass_at_k`.
    """
    _check(samples, successes, k)
    if samples < k:
        return None
    return float(Fraction(comb(successes, k), comb(samples, k)))


def mcnemar(gained: int, lost: int) -> float:
    """Two-sided p-value of McNemar's exact test: the binomial test of the discordant pairs against one half.

    Twice the smaller tail, at most 1; without a discordant pair 1.

    Raises:
        UsageError: a negative number (code `bad_count`).
    """
    if gained < 0 or lost < 0:
        raise UsageError(f"expected counts from 0, found {gained} and {lost}", code="bad_count")
    pairs = gained + lost
    tail = sum(comb(pairs, number) for number in range(min(gained, lost) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**pairs)))


def turned(differences: Sequence[float]) -> Turned:
    """McNemar's exact test over tasks, of the difference in successes of each (second minus first).

    With one sample a task this is McNemar's test. With more, the sign of a task's difference counts, once:
    samples of one task are not independent.
    """
    gained = sum(value > 0 for value in differences)
    lost = sum(value < 0 for value in differences)
    tied = len(differences) - gained - lost
    return Turned(gained, lost, tied, mcnemar(gained, lost) if differences else None)


def bootstrap(
    columns: Sequence[Sequence[Cluster]], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Interval | None]:
    """Percentile bootstrap of means over tasks: whole tasks are drawn, with all their episodes.

    Args:
        columns: For each mean, one cluster per task; the same tasks in the same order in every column. A
            task without a value in a column has 0 episodes there.
        seed: Of the draws. All columns share them.
        resamples: How many times as many tasks are drawn as there are.

    Returns:
        For each column its interval; None where fewer than two tasks have a value.

    Raises:
        UsageError: fewer than 40 resamples, which have no 2.5 % tail (code `bad_count`), or columns of
            different lengths (code `bad_columns`).
    """
    if resamples < 1 / _TAIL:
        raise UsageError(f"resamples: expected at least 40, found {resamples}", code="bad_count")
    tasks = len(columns[0]) if columns else 0
    if any(len(column) != tasks for column in columns):
        raise UsageError("expected the same tasks in every column", code="bad_columns")
    sums = [([one.total for one in column], [one.episodes for one in column]) for column in columns]
    means: list[list[float]] = [[] for _ in columns]
    draw = random.Random(seed).random  # noqa: S311
    for _ in range(resamples if tasks > 1 else 0):
        picks = [int(draw() * tasks) for _ in range(tasks)]
        for (totals, counts), found in zip(sums, means, strict=True):
            count = sum(map(counts.__getitem__, picks))
            if count:
                found.append(fsum(map(totals.__getitem__, picks)) / count)
    return [
        _percentiles(found) if sum(one.episodes > 0 for one in column) > 1 else None
        for column, found in zip(columns, means, strict=True)
    ]


def _percentiles(means: list[float]) -> Interval:
    means.sort()
    place = int(_TAIL * len(means))
    return Interval(means[place], means[-1 - place])


def _check(samples: int, successes: int, k: int) -> None:
    if k < 1 or not 0 <= successes <= samples:
        raise UsageError(
            f"expected k of at least 1 and 0 to n successes, found k={k} and {successes} of {samples}",
            code="bad_count",
        )
