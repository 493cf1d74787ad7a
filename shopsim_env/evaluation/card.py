"""`shopsim-card-v1`: everything that a published figure needs beside it, as one JSON document.

Belongs here: what a card says. Its bytes are a function of the run, the release and the arguments: no clock,
no path, no host. How a card looks is in `card_view`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from shopsim_env.evaluation.measuring import METRICS, Draws, by_group, counts, metrics, passes
from shopsim_env.evaluation.results import SCORED, SHOP, SUCCESS, Group, Result, RunResults
from shopsim_env.evaluation.strata import TaskStrata, measured
from shopsim_env.release import Release
from shopsim_env.runs.figures import figures

CARD_SCHEMA: Final = "shopsim-card-v1"
STRATUM_METRICS: Final = ("r_strict", "r_success")


def make_card(
    run: RunResults,
    *,
    strata: TaskStrata | None = None,
    release: Release | None = None,
    floors: Sequence[Mapping[str, Any]] | None = None,
    ks: Sequence[int] = (),
    draws: Draws | None = None,
) -> dict[str, Any]:
    """The card of a run.

    Args:
        run: What was read.
        strata: Of the tasks of its release; None leaves strata out.
        release: The release of a run of the Shop, for ceilings and contamination.
        floors: Rows of agents without skill on the same tasks, or None when they were not played.
        ks: Sizes of pass@k and pass^k; none chooses by the number of samples.
        draws: Of the bootstrap.
    """
    draws = draws or Draws()
    groups = [
        _group(run.kind, group, results, strata, ks, draws)
        for group, results in by_group(run.results).items()
    ]
    return {
        **_played(run, release),
        "counts": counts(run.results),
        "reading": asdict(run.reading),
        "errors": _tally(result.error for result in run.results),
        "groups": groups,
        "overall": None if run.kind == SHOP else _figures(run.kind, run.results, ks, draws),
        "strata_source": strata.source if strata else None,
        **_costs(run),
        "floors": None if floors is None else [dict(row) for row in floors],
        "ceilings": _ceilings(run, release) if release else None,
        "contamination": _contamination(run, release) if release else None,
        "method": {
            "confidence": 0.95,
            "bootstrap": {"unit": "task", "resamples": draws.resamples, "seed": draws.seed},
        },
    }


def _played(run: RunResults, release: Release | None) -> dict[str, Any]:
    """What the run was: release, versions, environment, model, prompt, splits, plan."""
    return {
        "schema": CARD_SCHEMA,
        "kind": run.kind,
        "release": run.settings.release,
        "dataset": release.manifest["dataset"] if release else None,
        "versions": dict(run.settings.versions),
        "environment": dict(run.settings.environment),
        "model": run.settings.model,
        "prompt": run.settings.prompt,
        "splits": list(run.splits),
        "plan": {
            "planned": run.planned,
            "fingerprint": run.fingerprint,
            "created_at": run.created_at,
        },
    }


def _group(
    kind: str,
    group: Group,
    results: Sequence[Result],
    strata: TaskStrata | None,
    ks: Sequence[int],
    draws: Draws,
) -> dict[str, Any]:
    rows = measured(strata, results, lambda members: _stratum(members, draws)) if strata else []
    return {**group_names(kind, group), **_figures(kind, results, ks, draws), "strata": rows}


def group_names(kind: str, group: Group) -> dict[str, Any]:
    """The parts of a group by name."""
    if kind == SHOP:
        return {"task_mode": group[0], "interaction_mode": group[1]}
    return {"env_id": group[0], "difficulty": int(group[1])}


def _figures(kind: str, results: Sequence[Result], ks: Sequence[int], draws: Draws) -> dict[str, Any]:
    return {
        "counts": counts(results),
        "metrics": metrics(results, METRICS[kind], draws),
        "passes": passes(results, SUCCESS[kind], ks, draws),
        "termination_reasons": _tally(result.reason for result in results if result.state == SCORED),
    }


def _stratum(results: Sequence[Result], draws: Draws) -> dict[str, Any]:
    return {"counts": counts(results), "metrics": metrics(results, STRATUM_METRICS, draws)}


def _tally(texts: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(text for text in texts if text).items()))


def _costs(run: RunResults) -> dict[str, Any]:
    """Behaviour and cost of completed episodes, as the replay page shows them."""
    if run.kind != SHOP and not run.rows:
        return {"behaviour": None, "cost": None}
    found = figures(run.rows)
    return {"behaviour": found["behaviour"], "cost": found["cost"]}


def _ceilings(run: RunResults, release: Release) -> list[dict[str, Any]]:
    """How many tasks of the run's splits a known list of actions wins, by mode (W1), and grades W2 and W3.

    Counts are over whole splits, from the public metrics of the release; without a split, over all tasks.
    """
    witnesses = release.metrics.get("witnesses", {})
    modes = sorted({result.group[0] for result in run.results})
    return [
        {
            "split": split,
            "task_mode": mode,
            **{name: witnesses[split][mode][name] for name in ("tasks", "W1", "W2", "W3", "all_grades")},
        }
        for split in (run.splits or ("all",))
        for mode in modes
        if mode in witnesses.get(split, {})
    ]


def _contamination(run: RunResults, release: Release) -> list[dict[str, Any]]:
    """What the run's splits share with others of the release: numbers of values, by field."""
    shared = release.metrics.get("contamination", {}).get("shared", {})
    return [
        {"splits": pair, **{field: found["values"] for field, found in sorted(fields.items())}}
        for pair, fields in sorted(shared.items())
        if set(pair.split(", ")) & set(run.splits)
    ]
