"""Group `catalog`: the raw archive, stable task ids, and products whose price cannot be known."""

from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import document, exclusion_list, origin
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.cleaned_source import (
    EXCLUSIONS_NAME,
    known_task_ids,
    open_origin,
    read_cleaned_source,
)
from pipelines.stages.human_exclusions import HUMAN_EXCLUSION, HumanExclusions, check_targets, read_document
from pipelines.stages.ingest import IngestReport, iter_records, read_archive, read_report
from pipelines.stages.products.read import read_products
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import TaskRow, assign_task_ids, set_aside, write_task_rows

RAW = code_version(
    "raw_products",
    "pipelines.stages.ingest",
    "pipelines.stages.cleaned_source",
    "pipelines.stages.products.read",
)
HUMAN = code_version("human_exclusions", "pipelines.stages.human_exclusions")
TASK_IDS = code_version("task_ids", "pipelines.stages.task_ids", "pipelines.stages.cleaned_source")
EXCLUSIONS = code_version("price_axis_exclusions", "pipelines.stages.price_axes")


@dg.asset(group_name="catalog", owners=OWNERS, kinds={"python", "parquet"}, code_version=RAW)
def raw_products(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Products of the raw archive, one row each in archive order; the first broken rule stops the run.

    A published cleaned archive can take the place of the raw one; then excluded products are not there. So
    can a product file; then rows that are no product are set aside, and there are no tasks.
    """
    work = workspace.open()

    def write(path: Path) -> Facts:
        return _raw_facts(work, path, _read_source(work, path))

    return materialize(work, "raw_products", "raw_products.parquet", RAW, write)


def _read_source(work: Workspace, path: Path) -> IngestReport:
    with work.progress("raw_products") as on_progress:
        if work.cleaned_manifest is not None:
            source = open_origin(work.archive, work.cleaned_manifest)
            return read_cleaned_source(work.archive, source, path, on_progress=on_progress)
        if work.settings.source == "products":
            return read_products(
                work.archive,
                path,
                currency=work.settings.currency,
                expected_sha256=work.settings.archive_sha256,
                on_progress=on_progress,
            )
        return read_archive(
            work.archive,
            path,
            lenient=work.settings.lenient,
            expected_sha256=work.settings.archive_sha256,
            on_progress=on_progress,
        )


def _raw_facts(work: Workspace, path: Path, report: IngestReport) -> Facts:
    domains: Counter[str] = Counter()

    def shown() -> Iterator[tuple[str, str]]:
        for row in iter_records(path):
            domains[row.record.get("domain_en_short") or "unknown"] += 1
            yield row.asin, row.category

    # Task ids count tasks in source order: products in that order, or with their tasks, would tell goals.
    preview = [{"asin": asin, "category": category} for asin, category in nsmallest(PREVIEW_ROWS, shown())]
    return Facts(
        report.product_count,
        numbers={
            "tasks": report.task_count,
            "persona_tasks": report.persona_task_count,
            "source": _source_name(work),
            "source_file": work.archive.name,
            "data_sha256": report.data_sha256,
            "archive_sha256": report.archive_sha256,
            "missing_fields": dg.MetadataValue.json(report.gaps),
            "unknown_keys": dg.MetadataValue.json(report.unknown_keys),
            "quarantined": dg.MetadataValue.json(report.quarantined),
        },
        preview=preview,
        bars={
            "products by domain": dict(domains.most_common()),
            "missing values by field": {name: sum(counts.values()) for name, counts in report.gaps.items()},
        },
    )


def _source_name(work: Workspace) -> str:
    if work.cleaned_manifest is not None:
        return "cleaned v2 archive"
    return "product file" if work.settings.source == "products" else "raw archive"


@dg.asset(
    deps=["raw_products"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=HUMAN,
)
def human_exclusions(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Products and tasks that people exclude, from configs/exclusions, each with reason and author."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        asins = {row.asin for row in iter_records(work.store.path("raw_products"))}
        before = origin(work)
        asins |= {item["asin"] for item in before.exclusions} if before is not None else set()
        check_targets(work.exclusions, asins, read_report(work.store.path("raw_products")).task_count)
        listed = work.exclusions.as_document()
        PublishedJson.of(listed).write(path)
        return _human_facts(work.exclusions, listed["exclude"])

    return materialize(
        work, "human_exclusions", "human_exclusions.json", HUMAN, write, parents=("raw_products",)
    )


def _human_facts(listed: HumanExclusions, rows: list[dict[str, Any]]) -> Facts:
    authors = Counter(entry.author for entry in listed.entries)
    # Reasons are free text about tasks, which may quote them.
    preview = [{name: row.get(name) for name in ("asin", "task", "author")} for row in rows]
    return Facts(
        len(rows),
        numbers={
            "versions": dg.MetadataValue.json(dict(listed.versions)),
            "products": len(listed.asins),
            "tasks": len(listed.tasks),
            "entries_sha256": listed.sha256(),
        },
        preview=preview,
        bars={"entries by author": dict(sorted(authors.items()))},
        columns={"asin": "str", "task": "int", "reason": "str", "author": "str"},
    )


@dg.asset(
    deps=["raw_products", "human_exclusions"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "parquet"},
    code_version=TASK_IDS,
)
def task_ids(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Stable task ids, numbered on the raw corpus before any filter; one row a task, gaps never closed."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        tasks = _numbered_tasks(work)
        write_task_rows(path, tasks)
        kinds = Counter(
            "quarantined" if task.quarantine else "persona" if task.persona else "standard" for task in tasks
        )
        preview = [
            {"task_id": task.task_id, "kind": "persona" if task.persona else "standard"} for task in tasks
        ]
        return Facts(len(tasks), numbers=dict(kinds), preview=preview, bars={"tasks by kind": dict(kinds)})

    parents = ("raw_products", "human_exclusions")
    return materialize(work, "task_ids", "task_ids.parquet", TASK_IDS, write, parents=parents)


def _numbered_tasks(work: Workspace) -> list[TaskRow]:
    rows, before = iter_records(work.store.path("raw_products")), origin(work)
    tasks = assign_task_ids(rows) if before is None else known_task_ids(rows, before)
    listed = read_document(document(work, "human_exclusions"))
    return set_aside(tasks, listed.tasks, HUMAN_EXCLUSION)


@dg.asset(
    deps=["raw_products", "task_ids", "human_exclusions"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=EXCLUSIONS,
)
def price_axis_exclusions(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Products with two or more price-varying axes or excluded by hand, with the tasks that leave too."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        exclusions = exclusion_list(work)
        published = PublishedJson.of(exclusions)
        published.write(path)
        return _exclusion_facts(exclusions, published)

    parents = ("raw_products", "task_ids", "human_exclusions")
    return materialize(work, "price_axis_exclusions", EXCLUSIONS_NAME, EXCLUSIONS, write, parents=parents)


def _exclusion_facts(exclusions: list[dict[str, Any]], published: PublishedJson) -> Facts:
    axes = Counter(f"{len(item['price_affecting_axes'])} axes" for item in exclusions)
    reasons = Counter(item["reason"] for item in exclusions)
    preview = [
        {
            "asin": item["asin"],
            "axes": ", ".join(item["price_affecting_axes"]),
        }
        for item in sorted(exclusions, key=lambda item: str(item["asin"]))
    ]
    return Facts(
        len(exclusions),
        numbers={
            "excluded_tasks": sum(len(item["task_ids"]) for item in exclusions),
            "sha256_crlf": published.crlf_sha256,
        },
        preview=preview,
        bars={
            "excluded products by price-varying axes": dict(sorted(axes.items())),
            "excluded products by reason": dict(sorted(reasons.items())),
        },
        columns=fields_of(exclusions[0]) if exclusions else {},
    )
