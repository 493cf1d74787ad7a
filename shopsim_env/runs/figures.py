"""Figures of a run, and the paired differences of two.

Belongs here: arithmetic over rows. Means are over completed episodes alone, as in the summary of a run
(docs/runs.md); an episode without a result is counted and never a zero.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from shopsim_env.runs.rows import COMPLETED, COMPONENTS, FAILED, TOKENS, Row
from shopsim_env.runs.select import sample_ids, succeeded

_BINS: Final = 10
_Z: Final = 1.959963984540054  # two-sided 95 %


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Cards and charts of a run."""
    completed = [row for row in rows if row.status == COMPLETED]
    rewards = _known(row.reward for row in completed)
    # Rewards of RLVE go down to -1, those of the Shop to 0.
    least = -1.0 if any(row.world for row in rows) else 0.0
    actions = sum(row.steps for row in completed if row.invalid is not None)
    return {
        "counts": {
            "recorded": len(rows),
            "completed": len(completed),
            "failed": sum(row.status == FAILED for row in rows),
            "scored": len(rewards),
        },
        "reward": {**spread(rewards), "success": _success(completed)},
        "components": _components(completed),
        "behaviour": {
            "steps_mean": mean([row.steps for row in completed]),
            "invalid_actions": sum(row.invalid or 0 for row in completed),
            "invalid_rate": sum(row.invalid or 0 for row in completed) / actions if actions else None,
            "protocol_errors": sum(row.protocol_errors for row in completed),
        },
        "cost": {**_durations(completed), "tokens": _tokens(completed)},
        "termination_reasons": _tally(row.reason for row in completed),
        "errors": _tally(row.error for row in rows),
        "reward_histogram": histogram(rewards, least),
        "reward_least": least,
        "steps_histogram": sorted(Counter(row.steps for row in completed).items()),
    }


def compared(ours: Sequence[Row], theirs: Sequence[Row]) -> dict[str, Any]:
    """Two runs side by side: pairs of episodes of one task, and their differences (second minus first).

    Episodes of a task are paired by sample id, and those without one by their order in the file. Only pairs
    of which both were scored count. `tasks` is ordered by the size of the difference.
    """
    first, second = _by_task(ours), _by_task(theirs)
    pairs = [
        (task, one, two)
        for task in sorted(first.keys() & second.keys())
        for one, two in _pairs(first[task], second[task])
    ]
    differences = [two - one for _, one, two in _rewards(pairs)]
    return {
        "pairs": len(differences),
        "only_first": len(first.keys() - second.keys()),
        "only_second": len(second.keys() - first.keys()),
        "unpaired": _unpaired(ours, theirs, len(differences)),
        "difference": {**spread(differences), "interval": interval(differences)},
        "better": sum(difference > 0 for difference in differences),
        "equal": sum(difference == 0 for difference in differences),
        "worse": sum(difference < 0 for difference in differences),
        "success_gained": sum(_turned(one, two) == 1 for _, one, two in pairs),
        "success_lost": sum(_turned(one, two) == -1 for _, one, two in pairs),
        "tasks": _tasks(pairs),
    }


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and its standard error (n - 1); None where there are too few values."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return {"mean": middle, "sem": None}
    variance = math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
    return {"mean": middle, "sem": math.sqrt(variance / len(values))}


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean by the normal distribution; None of fewer than two values."""
    found = spread(values)
    middle, error = found["mean"], found["sem"]
    if middle is None or error is None:
        return None
    return middle - _Z * error, middle + _Z * error


def histogram(rewards: Iterable[float], least: float = 0.0) -> list[int]:
    """Numbers of rewards in ten bins of [`least`, 1]; the last holds 1 as well. Others are at the ends."""
    bins = [0] * _BINS
    for reward in rewards:
        place = math.floor((reward - least) / (1 - least) * _BINS)
        bins[min(max(place, 0), _BINS - 1)] += 1
    return bins


def percentile(values: Sequence[float], part: float) -> float | None:
    """The value at `part` of the sorted values, by nearest rank of n - 1."""
    return sorted(values)[round(part * (len(values) - 1))] if values else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _success(rows: Sequence[Row]) -> float | None:
    return mean([float(found) for found in map(succeeded, rows) if found is not None])


def _components(rows: Sequence[Row]) -> dict[str, float | None]:
    details = [row.components for row in rows if row.components is not None]
    return {name: mean(_known(detail[place] for detail in details)) for place, name in enumerate(COMPONENTS)}


def _durations(rows: Sequence[Row]) -> dict[str, float | None]:
    durations = _known(row.duration_ms for row in rows)
    return {"duration_ms_mean": mean(durations), "duration_ms_p95": percentile(durations, 0.95)}


def _tokens(rows: Sequence[Row]) -> dict[str, int] | None:
    counts = [row.tokens for row in rows if row.tokens is not None]
    if not counts:
        return None
    return {name: sum(count[place] for count in counts) for place, name in enumerate(TOKENS)}


def _tally(texts: Iterable[str]) -> list[tuple[str, int]]:
    counted = Counter(text for text in texts if text)
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


_Task = tuple[str, int]


def _by_task(rows: Sequence[Row]) -> dict[_Task, list[Row]]:
    found: dict[_Task, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.world, row.task_id].append(row)
    return found


def _pairs(first: list[Row], second: list[Row]) -> Iterable[tuple[Row, Row]]:
    ours, theirs = (sample_ids((row.task_id, row.sample_id) for row in rows) for rows in (first, second))
    others = dict(zip(theirs, second, strict=True))
    return [(row, others[sample]) for sample, row in zip(ours, first, strict=True) if sample in others]


def _rewards(pairs: Iterable[tuple[_Task, Row, Row]]) -> list[tuple[_Task, float, float]]:
    return [
        (task, one.reward, two.reward)
        for task, one, two in pairs
        if one.reward is not None and two.reward is not None
    ]


def _unpaired(ours: Sequence[Row], theirs: Sequence[Row], pairs: int) -> int:
    return len(ours) + len(theirs) - 2 * pairs


def _turned(one: Row, two: Row) -> int:
    before, after = succeeded(one), succeeded(two)
    return 0 if before is None or after is None else int(after) - int(before)


def _tasks(pairs: Sequence[tuple[_Task, Row, Row]]) -> list[dict[str, Any]]:
    found: dict[_Task, list[tuple[float, float]]] = defaultdict(list)
    names = {task: row.task for task, row, _ in pairs}
    for task, one, two in _rewards(pairs):
        found[task].append((one, two))
    rows = [
        {
            "task_id": task[1],
            "task": names[task],
            "pairs": len(both),
            "first": math.fsum(one for one, _ in both) / len(both),
            "second": math.fsum(two for _, two in both) / len(both),
            "difference": math.fsum(two - one for one, two in both) / len(both),
        }
        for task, both in sorted(found.items())
    ]
    return sorted(rows, key=lambda row: -abs(row["difference"]))
