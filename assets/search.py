"""Group `search`: the FTS5 index and how well it finds the tasks' own products."""

from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import split_members
from assets._materialize import OWNERS, Facts, materialize
from pipelines.errors import ConfigError
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.search_arrays import build_search_arrays
from pipelines.stages.search_index import build_search_index
from pipelines.stages.search_metrics import TaskQuery, open_engine, rank_golds, summarise
from shopsim_env.canonical import pretty_json
from shopsim_env.search.schema import FTS_COLUMNS

INDEX = code_version("search_index", "pipelines.stages.search_index")
ARRAYS = code_version("search_arrays", "pipelines.stages.search_arrays")
BASELINE = code_version("search_baseline", "pipelines.stages.search_metrics", "shopsim_env.search.engines")
_SPLIT_ASSETS = ("source_splits", "persona_splits", "task_ids", "price_axis_exclusions")
# Below so many tasks other processes cost more than they save.
_TASKS_FOR_PROCESSES = 10_000


@dg.asset(
    deps=["cleaned_v2"],
    group_name="search",
    owners=OWNERS,
    kinds={"python", "sqlite"},
    code_version=INDEX,
)
def search_index(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Public product rows and their FTS5 documents: Chinese bigrams, seven weighted fields."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        records = iter_cleaned(work.store.path("cleaned_v2"))
        with work.progress("search_index") as on_progress:
            report = build_search_index(records, path, workers=work.workers(), on_progress=on_progress)
        return Facts(
            report.product_count,
            numbers={"product_data_sha256": report.product_data_sha256},
            preview=[{"field": name, "tokens": count} for name, count in report.tokens.items()],
            bars={"tokens by field": report.tokens},
            columns=dict.fromkeys(FTS_COLUMNS, "TEXT"),
        )

    return materialize(work, "search_index", "catalog.sqlite", INDEX, write, parents=("cleaned_v2",))


@dg.asset(
    deps=["search_index"],
    group_name="search",
    owners=OWNERS,
    kinds={"python", "numpy"},
    code_version=ARRAYS,
)
def search_arrays(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Arrays of the fast engine: every (token, product) contribution of FTS5's bm25, computed once."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        catalog = work.store.path("search_index")
        with work.progress("search_arrays") as on_progress:
            report = build_search_arrays(catalog, path, on_progress, workers=work.workers())
        numbers = {name: value for name, value in asdict(report).items() if name not in ("products", "bytes")}
        return Facts(report.products, numbers=numbers)

    return materialize(work, "search_arrays", "arrays.bin", ARRAYS, write, parents=("search_index",))


@dg.asset(
    deps=["search_index", "search_arrays", "cleaned_v2", *_SPLIT_ASSETS],
    group_name="search",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=BASELINE,
)
def search_baseline(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Recall@1/20/150 and MRR@150 of the gold product, for the simple and the full text, by split."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        metrics = _measure(work)
        path.write_bytes(pretty_json({"search_baseline": metrics}).encode("utf-8"))
        preview = [
            {"split": split, "text": mode, "tasks": values["task_count"], **_rates(values)}
            for split, result in metrics.items()
            for mode, values in result["modes"].items()
        ]
        return Facts(len(metrics), preview=preview, bars=_recall_bars(metrics), columns={"split": "object"})

    parents = ("search_index", "search_arrays", "cleaned_v2", *_SPLIT_ASSETS)
    return materialize(work, "search_baseline", "search_baseline.json", BASELINE, write, parents=parents)


def _recall_bars(metrics: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        f"{split}: recall": {
            f"{'simple' if mode == 'instruction_simple' else 'full'} @{depth}": round(entry["rate"], 4)
            for mode, values in result["modes"].items()
            for depth, entry in values["recall"].items()
            if entry["rate"] is not None
        }
        for split, result in metrics.items()
    }


def _rates(values: dict[str, Any]) -> dict[str, float | None]:
    recall = {f"recall@{depth}": entry["rate"] for depth, entry in values["recall"].items()}
    return {**recall, "mrr": values["mrr"]}


def _measure(work: Workspace) -> dict[str, Any]:
    members = split_members(work)
    unknown = sorted(set(work.settings.baseline.splits) - members.keys())
    if unknown:
        raise ConfigError(f"baseline.splits: expected some of {sorted(members)}, found {unknown}")
    wanted = {name: members[name] for name in work.settings.baseline.splits}
    needed = {task_id for ids in wanted.values() for task_id in ids}
    workers = work.workers().for_work(len(needed), _TASKS_FOR_PROCESSES)
    opener = partial(open_engine, work.store.path("search_index"), work.store.path("search_arrays"))
    with closing(opener()) as engine, work.progress("search_baseline") as on_progress:
        queries = _queries(work, needed)
        outcomes = rank_golds(engine, queries, workers=workers, opener=opener, on_progress=on_progress)
    return {name: summarise(outcomes, ids) for name, ids in wanted.items()}


def _queries(work: Workspace, needed: set[int]) -> list[TaskQuery]:
    return [
        (task["task_id"], record["asin"], task.get("instruction_simple") or None, task["instruction"])
        for record in iter_cleaned(work.store.path("cleaned_v2"))
        for task in record.get("instructions") or ()
        if task["task_id"] in needed
    ]
