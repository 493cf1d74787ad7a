"""Search baseline of one split of a finished release: totals, domains, and why the failures failed.

Reads goals, so it belongs to the pipeline; what it returns names task ids, counts and causes, never a text.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from pipelines.stages.processes import ALONE, Workers
from pipelines.stages.search_metrics import (
    MODES,
    NOT_FOUND,
    Outcomes,
    TaskQuery,
    open_engine,
    rank_golds,
    summarise,
)
from shopsim_env.catalog.domain import domains_of
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.private import Goal
from shopsim_env.release import Release, load_release
from shopsim_env.release.layout import CATALOG, SEARCH_ARRAYS
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.schema import BM25_COLUMN_WEIGHTS, V2_COLUMN_WEIGHTS
from shopsim_env.sqlite import open_readonly
from shopsim_env.versions import TOP_K

WEIGHTS: Final = {"v3": BM25_COLUMN_WEIGHTS, "v2": V2_COLUMN_WEIGHTS}
OUTRANKED: Final = "outranked"
NO_SHARED_WORD: Final = "no_shared_word"


def measure_split(
    path: Path,
    split: str,
    *,
    weights: str = "v3",
    workers: Workers = ALONE,
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Recall and MRR of the gold products of one split.

    Args:
        path: A release with its private part.
        split: Name of a split, with its family: `source/NAME` or `project/NAME`.
        weights: Column weights: "v3", the contract, or "v2", the shifted ones that it replaced.
        workers: Processes that search.
        on_progress: Called with searches done and all searches.

    Returns:
        `release`, `split`, `weights`, the totals of `summarise`, `domains` (name to the same), and `failed`:
        per mode and cause the task ids. Causes: `empty_query`, `no_shared_word` (no word of the text is in
        the gold product), `outranked` (it is, but 150 products are better).

    Raises:
        TaskError: Code `unknown_split`.
        UsageError: Unknown weights.
        ReleaseError: A public copy, which has no goals.
    """
    if weights not in WEIGHTS:
        raise UsageError(f"weights: expected one of {', '.join(WEIGHTS)}, found {weights!r}")
    with load_release(path) as release:
        if split not in release.splits:
            raise TaskError(
                f"split {split!r}: expected one of {', '.join(sorted(release.splits))}", code="unknown_split"
            )
        goals = [release.private().goal(task_id) for task_id in release.splits[split]]
        queries = [_query(goal) for goal in goals]
        opener = partial(open_search, release.path, weights)
        with closing(opener()) as engine:
            outcomes = rank_golds(engine, queries, workers=workers, opener=opener, on_progress=on_progress)
        domains = _domains(release.path, goals)
        return {
            "release": release.id,
            "split": split,
            "weights": weights,
            **summarise(outcomes, list(outcomes)),
            "domains": {name: summarise(outcomes, ids) for name, ids in domains.items()},
            "failed": _failed(release, outcomes, queries),
        }


def open_search(root: Path, weights: str = "v3") -> SearchService | Fts5Engine:
    """The search of a release folder, without a cache; also for the workers.

    The arrays hold the contract's weights; others are ranked by FTS5.
    """
    if weights == "v3":
        return open_engine(root / CATALOG, root / SEARCH_ARRAYS)
    return Fts5Engine(open_readonly(root / CATALOG), column_weights=WEIGHTS[weights])


def _query(goal: Goal) -> TaskQuery:
    return goal.task_id, goal.product.asin, goal.instruction_simple or None, goal.instruction


def _domains(root: Path, goals: Sequence[Goal]) -> dict[str, list[int]]:
    """Task ids by domain of the gold product."""
    domains = domains_of(root / CATALOG, (goal.product.asin for goal in goals))
    found: dict[str, list[int]] = {}
    for goal in goals:
        found.setdefault(domains[goal.product.asin], []).append(goal.task_id)
    return dict(sorted(found.items()))


def _failed(release: Release, outcomes: Outcomes, queries: Iterable[TaskQuery]) -> dict[str, Any]:
    failed: dict[str, dict[str, list[int]]] = {mode: {} for mode in MODES}
    for task_id, asin, *texts in queries:
        for mode, text in zip(MODES, texts, strict=True):
            outcome = outcomes[task_id].get(mode)
            if isinstance(outcome, str):
                cause = _cause(release, asin, str(text)) if outcome == NOT_FOUND else outcome
                failed[mode].setdefault(cause, []).append(task_id)
    return {mode: dict(sorted(causes.items())) for mode, causes in failed.items()}


def _cause(release: Release, asin: str, text: str) -> str:
    """Whether the gold product matches the text at all."""
    alone = release.search(text, TOP_K, where=[asin])
    return OUTRANKED if alone.hits else NO_SHARED_WORD
