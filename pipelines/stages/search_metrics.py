"""Search baseline: how often, and how high, a task's own product is found from the task's text.

A proxy that shows a damaged index. It is no judgement on agents: another product may satisfy a task too.
Texts and gold products go in; only counts come out.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from pipelines.stages.processes import ALONE, Workers, in_processes
from shopsim_env.errors import UsageError
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import EMPTY_QUERY, SearchEngine
from shopsim_env.versions import PAGE_SIZE, TOP_K

MODES: Final = ("instruction_simple", "instruction")
NOT_FOUND: Final = "not_found"
_CHUNK = 16
_Z = 1.959963984540054  # two-sided 95 % of the normal distribution

TaskQuery = tuple[int, str, str | None, str | None]
"""Task id, gold asin, simple text, full text; a mode without text is None."""
Outcome = int | str
"""Rank of the gold product from 1, or the cause of failure: "not_found", "empty_query"."""
Outcomes = Mapping[int, Mapping[str, Outcome]]
"""Task id to mode to outcome; a mode without text is absent."""


def open_engine(catalog: Path, arrays: Path) -> SearchService:
    """The search of a catalogue and its arrays, without a cache; for this process or another."""
    return SearchService(Fts5Engine.open(catalog), arrays, cache_hits=0)


def evaluate_search(
    engine: SearchEngine,
    queries: Iterable[TaskQuery],
    top_k: int = TOP_K,
    workers: Workers = ALONE,
    *,
    opener: Callable[[], SearchEngine] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Metrics over all `queries`; see `rank_golds` and `summarise`."""
    outcomes = rank_golds(engine, queries, top_k, workers, opener=opener, on_progress=on_progress)
    return summarise(outcomes, list(outcomes), top_k)


def rank_golds(
    engine: SearchEngine,
    queries: Iterable[TaskQuery],
    top_k: int = TOP_K,
    workers: Workers = ALONE,
    *,
    opener: Callable[[], SearchEngine] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Outcomes:
    """Searches every text of every task once; splits that overlap share the result.

    Args:
        engine: Searches in this process.
        queries: The tasks.
        top_k: Depth of the search, at least one page.
        workers: Processes that search instead, where there are several; the result is the same.
        opener: Opens the same engine in another process; picklable, needed for other processes.
        on_progress: Called with searches done and all searches.

    Raises:
        UsageError: `top_k` below one page, a repeated task id, or several workers without `opener`.
    """
    if top_k < PAGE_SIZE:
        raise UsageError(f"top_k: expected at least {PAGE_SIZE}, found {top_k}")
    tasks = list(queries)
    repeated = [task_id for task_id, count in Counter(task[0] for task in tasks).items() if count > 1]
    if repeated:
        raise UsageError(f"expected every task once, found again {repeated[:5]}")
    jobs = [
        (task_id, mode, asin, text)
        for task_id, asin, *texts in tasks
        for mode, text in zip(MODES, texts, strict=True)
        if text is not None
    ]
    outcomes: dict[int, dict[str, Outcome]] = {task[0]: {} for task in tasks}
    found = _search_all(engine, [(asin, text) for *_, asin, text in jobs], top_k, workers, opener)
    for done, ((task_id, mode, _, _), outcome) in enumerate(zip(jobs, found, strict=True), start=1):
        outcomes[task_id][mode] = outcome
        if on_progress is not None:
            on_progress(done, len(jobs))
    return outcomes


def summarise(outcomes: Outcomes, task_ids: Iterable[int], top_k: int = TOP_K) -> dict[str, Any]:
    """Recall@1/20/top_k (counts, rates, Wilson intervals) and MRR@top_k of some tasks, ready for JSON.

    Rates are None for a mode that no task has. Failures are counted by cause.
    """
    rows = [outcomes[task_id] for task_id in task_ids]
    return {
        "top_k": top_k,
        "task_count": len(rows),
        "modes": {mode: _mode_metrics([row.get(mode) for row in rows], top_k) for mode in MODES},
    }


def _mode_metrics(outcomes: Sequence[Outcome | None], top_k: int) -> dict[str, Any]:
    searched = [outcome for outcome in outcomes if outcome is not None]
    ranks = [outcome for outcome in searched if isinstance(outcome, int)]
    failures = Counter(outcome for outcome in searched if isinstance(outcome, str))
    total = len(searched)
    recall = {}
    for depth in sorted({1, PAGE_SIZE, top_k}):
        hits = sum(rank <= depth for rank in ranks)
        rate = hits / total if total else None
        recall[str(depth)] = {"hits": hits, "rate": rate, "interval": wilson_interval(hits, total)}
    return {
        "task_count": total,
        "tasks_without_text": len(outcomes) - total,
        "recall": recall,
        # fsum rounds once, so that the order of tasks cannot matter.
        "mrr": math.fsum(1 / rank for rank in ranks) / total if total else None,
        "failures": {cause: failures[cause] for cause in (EMPTY_QUERY, NOT_FOUND)},
    }


def wilson_interval(hits: int, total: int) -> list[float] | None:
    """Score interval of 95 % for a rate (E. B. Wilson, 1927): low and high; None without trials."""
    if not total:
        return None
    rate, square = hits / total, _Z * _Z
    middle = rate + square / (2 * total)
    spread = _Z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    # At the ends rounding would leave the range of a rate by an ulp.
    low, high = (middle - spread) / (1 + square / total), (middle + spread) / (1 + square / total)
    return [max(low, 0.0) if hits else 0.0, min(high, 1.0) if hits < total else 1.0]


def _search_all(
    engine: SearchEngine,
    jobs: Sequence[tuple[str, str]],
    top_k: int,
    workers: Workers,
    opener: Callable[[], SearchEngine] | None,
) -> Iterator[Outcome]:
    if not workers.apart:
        for asin, text in jobs:
            yield _gold_rank(engine, asin, text, top_k)
        return
    if opener is None:
        raise UsageError("several workers: expected an opener of the engine, found none")
    with in_processes(workers, chunk=_CHUNK, prepare=partial(_open_in_worker, opener)) as each:
        yield from each(partial(_rank_in_worker, top_k), jobs)


def _gold_rank(engine: SearchEngine, asin: str, text: str, top_k: int) -> Outcome:
    result = engine.search(text, top_k)
    if result.status == EMPTY_QUERY:
        return EMPTY_QUERY
    return result.asins.index(asin) + 1 if asin in result.asins else NOT_FOUND


_worker_engines: list[SearchEngine] = []


def _open_in_worker(opener: Callable[[], SearchEngine]) -> None:
    _worker_engines.append(opener())


def _rank_in_worker(top_k: int, job: tuple[str, str]) -> Outcome:
    return _gold_rank(_worker_engines[0], *job, top_k)
