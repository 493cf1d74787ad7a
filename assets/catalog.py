"""Group `catalog`: the raw archive, stable task ids, and products whose price cannot be known."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.ingest import IngestReport, iter_records, read_archive
from pipelines.stages.price_axes import find_exclusions
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import assign_task_ids, read_task_rows, write_task_rows

RAW = code_version("raw_products", "pipelines.stages.ingest")
TASK_IDS = code_version("task_ids", "pipelines.stages.task_ids")
EXCLUSIONS = code_version("price_axis_exclusions", "pipelines.stages.price_axes")


@dg.asset(group_name="catalog", owners=OWNERS, kinds={"python", "parquet"}, code_version=RAW)
def raw_products(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Products of the raw archive, one row each in archive order; the first broken rule stops the run."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        with work.progress("raw_products") as on_progress:
            report = read_archive(
                work.archive,
                path,
                lenient=work.settings.lenient,
                expected_sha256=work.settings.archive_sha256,
                on_progress=on_progress,
            )
        return _raw_facts(path, report)

    return materialize(work, "raw_products", "raw_products.parquet", RAW, write)


def _raw_facts(path: Path, report: IngestReport) -> Facts:
    preview = [
        {"asin": row.asin, "category": row.category, "tasks": row.instruction_count}
        for row in islice(iter_records(path), PREVIEW_ROWS)
    ]
    domains = Counter(row.record.get("domain_en_short") or "unknown" for row in iter_records(path))
    return Facts(
        report.product_count,
        numbers={
            "tasks": report.task_count,
            "persona_tasks": report.persona_task_count,
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


@dg.asset(
    deps=["raw_products"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "parquet"},
    code_version=TASK_IDS,
)
def task_ids(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Stable task ids, numbered on the raw corpus before any filter; one row a task, gaps never closed."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        tasks = assign_task_ids(iter_records(work.store.path("raw_products")))
        write_task_rows(path, tasks)
        kinds = Counter(
            "quarantined" if task.quarantine else "persona" if task.persona else "standard" for task in tasks
        )
        preview = [
            {"task_id": task.task_id, "kind": "persona" if task.persona else "standard"} for task in tasks
        ]
        return Facts(len(tasks), numbers=dict(kinds), preview=preview, bars={"tasks by kind": dict(kinds)})

    return materialize(work, "task_ids", "task_ids.parquet", TASK_IDS, write, parents=("raw_products",))


@dg.asset(
    deps=["raw_products", "task_ids"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=EXCLUSIONS,
)
def price_axis_exclusions(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Products with two or more price-varying axes, with the axes and the tasks that leave with them."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        tasks = read_task_rows(work.store.path("task_ids"))
        exclusions = find_exclusions(iter_records(work.store.path("raw_products")), tasks)
        published = PublishedJson.of(exclusions)
        published.write(path)
        return _exclusion_facts(exclusions, published)

    parents = ("raw_products", "task_ids")
    filename = "catalog_exclusions.v2.json"
    return materialize(work, "price_axis_exclusions", filename, EXCLUSIONS, write, parents=parents)


def _exclusion_facts(exclusions: list[dict[str, Any]], published: PublishedJson) -> Facts:
    axes = Counter(f"{len(item['price_affecting_axes'])} axes" for item in exclusions)
    preview = [
        {
            "asin": item["asin"],
            "axes": ", ".join(item["price_affecting_axes"]),
            "tasks": len(item["task_ids"]),
        }
        for item in exclusions
    ]
    return Facts(
        len(exclusions),
        numbers={
            "excluded_tasks": sum(len(item["task_ids"]) for item in exclusions),
            "sha256_crlf": published.crlf_sha256,
        },
        preview=preview,
        bars={"excluded products by price-varying axes": dict(sorted(axes.items()))},
        columns=fields_of(exclusions[0]) if exclusions else {},
    )
