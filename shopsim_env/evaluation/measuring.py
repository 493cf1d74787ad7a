"""Figures of a set of results: counts, metrics with intervals, worst cases, pass@k and pass^k.

Belongs here: what is averaged over what. Means are over scored episodes alone and say how many they are; the
worst case counts every other planned episode as a failure. Formulas are in `statistics`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.evaluation.results import LOWEST, RLVE, SCORED, SHOP, STATES, Result
from shopsim_env.evaluation.statistics import (
    RESAMPLES,
    Cluster,
    Interval,
    bootstrap,
    pass_at_k,
    pass_hat_k,
)
from shopsim_env.intervals import wilson
from shopsim_env.runs.figures import mean

# The order of the paper: totals, success, finished, then the four components.
METRICS: Final = {
    SHOP: ("r_loose", "r_strict", "r_success", "finish", "r_type", "r_att", "r_option", "r_price"),
    RLVE: ("success", "total", "task_score", "hallucination"),
}
RATES: Final = frozenset({"r_success", "finish", "success"})


@dataclass(frozen=True, slots=True)
class Draws:
    """How bootstrap intervals are drawn."""

    seed: int = 0
    resamples: int = RESAMPLES

    def intervals(self, columns: Sequence[Sequence[Cluster]]) -> list[Interval | None]:
        """The interval of every column."""
        return bootstrap(columns, seed=self.seed, resamples=self.resamples)


def counts(results: Sequence[Result]) -> dict[str, Any]:
    """How many episodes were asked for, and what became of them; `coverage` is scored / requested."""
    states = Counter(result.state for result in results)
    return {
        "requested": len(results),
        **{state: states[state] for state in STATES},
        "tasks": len({result.task for result in results}),
        "coverage": states[SCORED] / len(results) if results else None,
    }


def metrics(results: Sequence[Result], names: Sequence[str], draws: Draws) -> dict[str, Any]:
    """For each metric its mean over scored episodes, intervals, sizes and worst case."""
    columns = [clusters(results, name) for name in names]
    intervals = draws.intervals(columns)
    return {
        name: _metric(results, name, column, interval)
        for name, column, interval in zip(names, columns, intervals, strict=True)
    }


def clusters(results: Sequence[Result], name: str) -> list[Cluster]:
    """What each scored task adds to the mean of a metric, in the order of the results."""
    found: dict[str, list[float]] = {}
    for result in results:
        if result.state == SCORED:
            values = found.setdefault(result.task, [])
            if name in result.values:
                values.append(result.values[name])
    return [Cluster(math.fsum(values), len(values)) for values in found.values()]


def _metric(
    results: Sequence[Result], name: str, column: Sequence[Cluster], interval: Interval | None
) -> dict[str, Any]:
    episodes = sum(one.episodes for one in column)
    tasks = sum(one.episodes > 0 for one in column)
    total = math.fsum(one.total for one in column)
    middle = total / episodes if episodes else None
    absent = len(results) - episodes
    worst = (total + absent * LOWEST.get(name, 0.0)) / len(results) if results else None
    figures: dict[str, Any] = {
        "mean": middle,
        "episodes": episodes,
        "tasks": tasks,
        "bootstrap": interval,
        "worst_case": worst,
    }
    if name in RATES:
        # Samples of one task are not independent: they count as one, the widest that can be true.
        figures["wilson"] = None if middle is None else wilson(middle * tasks, tasks)
    return figures


def sample_counts(results: Iterable[Result], success: str) -> dict[str, tuple[int, int]]:
    """By task: scored samples, and successes among them."""
    found: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if result.state == SCORED:
            found[result.task].append(result.values[success] == 1)
    return {task: (len(won), sum(won)) for task, won in found.items()}


def passes(results: Sequence[Result], success: str, ks: Sequence[int], draws: Draws) -> list[dict[str, Any]]:
    """pass@k and pass^k: means over the tasks that have at least k scored samples.

    Args:
        results: Of one group.
        success: Name of the metric that is 1 for a success.
        ks: Sizes to report; none means 1, 2, 4 and so on up to the most samples of a task, and these.
        draws: Of the intervals.
    """
    samples = sample_counts(results, success)
    return [
        _passes(samples, k, draws) for k in ks or _powers(max((n for n, _ in samples.values()), default=0))
    ]


def _passes(samples: Mapping[str, tuple[int, int]], k: int, draws: Draws) -> dict[str, Any]:
    have = [(n, c) for n, c in samples.values() if n >= k]
    formulas: dict[str, Callable[[int, int, int], float | None]] = {
        "pass_at_k": pass_at_k,
        "pass_hat_k": pass_hat_k,
    }
    values = [[formula(n, c, k) or 0.0 for n, c in have] for formula in formulas.values()]
    intervals = draws.intervals([[Cluster(value, 1) for value in column] for column in values])
    return {
        "k": k,
        "tasks": len(have),
        "tasks_with_fewer": len(samples) - len(have),
        **{
            name: {"mean": mean(column), "bootstrap": interval}
            for name, column, interval in zip(formulas, values, intervals, strict=True)
        },
    }


def _powers(most: int) -> list[int]:
    return sorted({2**power for power in range(most.bit_length())} | ({most} if most else set()))


def by_group(results: Iterable[Result]) -> dict[tuple[str, ...], list[Result]]:
    """Results of each scenario, or of each environment and difficulty, in their order."""
    found: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        found[result.group].append(result)
    return dict(found)
