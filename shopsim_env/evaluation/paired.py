"""`shopsim-comparison-v1`: two runs of the same tasks under the same rules, held against each other in pairs.

Belongs here: what may be compared, pairs of episodes (task, sample), their differences (second minus first).
Only pairs of which both were scored enter a mean; the others are counted.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from shopsim_env.errors import UsageError
from shopsim_env.evaluation.card import STRATUM_METRICS, group_names
from shopsim_env.evaluation.measuring import METRICS, Draws, by_group, counts
from shopsim_env.evaluation.results import LOWEST, SCORED, SHOP, SUCCESS, Group, Result, RunResults
from shopsim_env.evaluation.settings import rule_differences, shown, subject_differences
from shopsim_env.evaluation.statistics import Cluster, turned
from shopsim_env.evaluation.strata import TaskStrata, measured
from shopsim_env.runs.figures import mean

COMPARISON_SCHEMA: Final = "shopsim-comparison-v1"
_SHOWN: Final = 5


class Pair(NamedTuple):
    """The same planned episode in both runs; None where a run does not have it."""

    task: str
    group: Group
    first: Result | None
    second: Result | None

    def scored(self) -> bool:
        """Whether both runs have a result."""
        return _is_scored(self.first) and _is_scored(self.second)


def compare_runs(
    first: RunResults,
    second: RunResults,
    *,
    strata: TaskStrata | None = None,
    draws: Draws | None = None,
) -> dict[str, Any]:
    """The comparison of two runs.

    Raises:
        UsageError: they differ in kind, release, versions, environment, modes or tasks (code
            `not_comparable`); the message names every kind of difference.
    """
    refuse_unlike(first, second)
    draws = draws or Draws()
    pairs = pairs_of(first.results, second.results)
    groups: dict[Group, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.group, []).append(pair)
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": first.kind,
        "release": first.settings.release,
        "versions": dict(first.settings.versions),
        "environment": dict(first.settings.environment),
        "splits": sorted({*first.splits, *second.splits}),
        "first": _side(first),
        "second": _side(second),
        "differs": subject_differences(first.settings, second.settings),
        "groups": [
            {
                **group_names(first.kind, group),
                **_figures(first.kind, members, draws),
                "strata": measured(strata, members, lambda some: _stratum(first.kind, some, draws))
                if strata
                else [],
            }
            for group, members in groups.items()
        ],
        "overall": None if first.kind == SHOP else _figures(first.kind, pairs, draws),
        "strata_source": strata.source if strata else None,
        "method": {
            "confidence": 0.95,
            "bootstrap": {"unit": "task", "resamples": draws.resamples, "seed": draws.seed},
            "test": "mcnemar_exact_by_task",
        },
    }


def refuse_unlike(first: RunResults, second: RunResults) -> None:
    """Refuses runs whose figures may not be held against each other.

    Raises:
        UsageError: as `compare_runs`.
    """
    odd = []
    if first.kind != second.kind:
        odd.append(f"kind: {first.kind} in A, {second.kind} in B")
    odd += rule_differences(first.settings, second.settings)
    ours, theirs = by_group(first.results), by_group(second.results)
    if ours.keys() != theirs.keys():
        odd.append(f"modes: {_listed(map('/'.join, ours))} in A, {_listed(map('/'.join, theirs))} in B")
    else:
        for group in ours:
            odd += _task_differences(group, ours[group], theirs[group])
    if odd:
        raise UsageError(
            "expected two runs of the same tasks under the same rules, found " + shown(odd, len(odd)),
            code="not_comparable",
        )


def _task_differences(group: Group, ours: Sequence[Result], theirs: Sequence[Result]) -> list[str]:
    """Tasks that only one run was asked to play."""
    sides = {"A": {one.task for one in ours}, "B": {one.task for one in theirs}}
    only = {"A": sides["A"] - sides["B"], "B": sides["B"] - sides["A"]}
    return [
        f"tasks ({'/'.join(group)}): {len(tasks)} only in {side} ({_listed(tasks)})"
        for side, tasks in only.items()
        if tasks
    ]


def _listed(names: Any) -> str:
    found = sorted(names, key=lambda name: (len(name), name))
    return ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")


def pairs_of(first: Sequence[Result], second: Sequence[Result]) -> list[Pair]:
    """Every (task, sample) of either run, in the order of the runs."""
    ours = {(one.group, one.task, one.sample): one for one in first}
    theirs = {(one.group, one.task, one.sample): one for one in second}
    return [Pair(key[1], key[0], ours.get(key), theirs.get(key)) for key in dict.fromkeys([*ours, *theirs])]


def _side(run: RunResults) -> dict[str, Any]:
    return {
        "model": run.settings.model,
        "prompt": run.settings.prompt,
        "counts": counts(run.results),
        "fingerprint": run.fingerprint,
    }


def _figures(kind: str, pairs: Sequence[Pair], draws: Draws) -> dict[str, Any]:
    return {
        **_sizes(pairs),
        "metrics": differences(pairs, METRICS[kind], draws),
        "success": _turned(pairs, SUCCESS[kind]),
    }


def _stratum(kind: str, pairs: Sequence[Pair], draws: Draws) -> dict[str, Any]:
    return {
        **_sizes(pairs),
        "metrics": differences(pairs, STRATUM_METRICS, draws),
        "success": _turned(pairs, SUCCESS[kind]),
    }


def _sizes(pairs: Sequence[Pair]) -> dict[str, Any]:
    scored = [pair for pair in pairs if pair.scored()]
    first = sum(_is_scored(pair.first) for pair in pairs)
    second = sum(_is_scored(pair.second) for pair in pairs)
    return {
        "pairs": len(scored),
        "tasks": len({pair.task for pair in scored}),
        "unpaired": {
            "only_first": first - len(scored),
            "only_second": second - len(scored),
            "neither": len(pairs) - first - second + len(scored),
        },
        "other_seeds": sum(
            pair.first.seed != pair.second.seed
            for pair in scored
            if pair.first is not None and pair.second is not None
        ),
    }


def differences(pairs: Sequence[Pair], names: Sequence[str], draws: Draws) -> dict[str, Any]:
    """For each metric both means over the pairs, their difference, its interval, and the worst case.

    `missing_as_failures` is the difference of the means over all planned episodes, where one without a result
    counts as a failure in the run that lacks it.
    """
    columns = [_clusters(pairs, name) for name in names]
    intervals = draws.intervals(columns)
    return {name: _difference(pairs, name, interval) for name, interval in zip(names, intervals, strict=True)}


def _difference(pairs: Sequence[Pair], name: str, interval: Any) -> dict[str, Any]:
    both = _both(pairs, name)
    gaps = [two - one for _, one, two in both]
    filled = [_filled(pair.second, name) - _filled(pair.first, name) for pair in pairs]
    return {
        "first": mean([one for _, one, _ in both]),
        "second": mean([two for _, _, two in both]),
        "difference": mean(gaps),
        "bootstrap": interval,
        "better": sum(gap > 0 for gap in gaps),
        "equal": sum(gap == 0 for gap in gaps),
        "worse": sum(gap < 0 for gap in gaps),
        "missing_as_failures": mean(filled),
    }


def _both(pairs: Sequence[Pair], name: str) -> list[tuple[str, float, float]]:
    return [
        (pair.task, pair.first.values[name], pair.second.values[name])
        for pair in pairs
        if pair.first is not None
        and pair.second is not None
        and name in pair.first.values
        and name in pair.second.values
    ]


def _clusters(pairs: Sequence[Pair], name: str) -> list[Cluster]:
    found: dict[str, list[float]] = {pair.task: [] for pair in pairs if pair.scored()}
    for task, one, two in _both(pairs, name):
        found[task].append(two - one)
    return [Cluster(math.fsum(gaps), len(gaps)) for gaps in found.values()]


def _turned(pairs: Sequence[Pair], success: str) -> Mapping[str, Any]:
    return turned([one.total for one in _clusters(pairs, success)])._asdict()


def _filled(result: Result | None, name: str) -> float:
    return LOWEST.get(name, 0.0) if result is None else result.values.get(name, LOWEST.get(name, 0.0))


def _is_scored(result: Result | None) -> bool:
    return result is not None and result.state == SCORED
