"""Group `quality`: what is wrong with products and tasks, and how far each task says what it grades."""

from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import audit_records, document, excluded_before, listed_by_hand, task_rows
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.codes import CODES
from pipelines.stages.audit.findings import Finding, write_findings
from pipelines.stages.audit.labels import TaskLabels, label_case, worst, write_labels
from pipelines.stages.audit.lineage import build_lineage
from pipelines.stages.audit.run import run_audit
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.ingest import iter_records
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.split_allocation import SplitPolicy
from pipelines.stages.splits import SourceBounds

AUDIT = code_version("audit", "pipelines.stages.audit.run")
LINEAGE = code_version("exclusion_lineage", "pipelines.stages.audit.lineage")
LABELS = code_version("task_labels", "pipelines.stages.audit.labels")


_AUDITED = ("raw_products", "price_annotations", "cleaned_v2")
_LABELLED = ("price_annotations", "cleaned_v2")
_EXCLUDED = ("raw_products", "task_ids", "price_axis_exclusions")


@dg.asset(
    deps=list(_AUDITED), group_name="quality", owners=OWNERS, kinds={"python", "parquet"}, code_version=AUDIT
)
def audit(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Every reason code of every product and task, with its evidence; shown are codes, counts and ids."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        found = run_audit(
            (row.record for row in iter_records(work.store.path("raw_products"))),
            iter_cleaned(work.store.path("cleaned_v2")),
            _annotations(work),
            listed_by_hand(work),
        )
        write_findings(path, found)
        return _audit_facts(found)

    parents = (*_AUDITED, "human_exclusions", "task_ids", "price_axis_exclusions")
    return materialize(work, "audit", "audit.parquet", AUDIT, write, parents=parents)


def _annotations(work: Workspace) -> dict[int, Annotation]:
    return {record.task.task_id: record.annotation for record in audit_records(work)}


def _audit_facts(found: list[Finding]) -> Facts:
    counts = Counter(item.code for item in found)
    ordered = {name: counts[name] for name in CODES if counts[name]}
    preview = [
        {"code": name, "severity": CODES[name].severity, "about": CODES[name].subject, "findings": count}
        for name, count in ordered.items()
    ]
    return Facts(len(found), preview=preview, preview_rows=len(CODES), bars={"findings by code": ordered})


@dg.asset(
    deps=list(_EXCLUDED), group_name="quality", owners=OWNERS, kinds={"python", "json"}, code_version=LINEAGE
)
def exclusion_lineage(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Excluded products: prices per axis, the tasks that left with them, and the splits that they miss."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        configured = work.settings.source_splits
        rows = build_lineage(
            iter_records(work.store.path("raw_products")),
            task_rows(work),
            document(work, "price_axis_exclusions"),
            [SourceBounds(name, **bound.model_dump()) for name, bound in configured.items()] or None,
            SplitPolicy(**work.settings.project_splits.model_dump()),
            excluded_before(work),
        )
        PublishedJson.of(rows).write(path)
        return _lineage_facts(rows)

    filename = "exclusion_lineage.json"
    return materialize(work, "exclusion_lineage", filename, LINEAGE, write, parents=_EXCLUDED)


def _lineage_facts(rows: list[dict[str, Any]]) -> Facts:
    lost = Counter(name for row in rows for names in row["would_have_gone"].values() for name in names)
    return Facts(
        len(rows),
        numbers={"tasks_lost": sum(len(row["task_ids"]) for row in rows)},
        preview=[
            {
                "asin": row["asin"],  # never together with a task
                "prices": "; ".join(f"{axis['axis']}: {axis['distinct_prices']}" for axis in row["axes"]),
                "would have gone to": ", ".join(sorted(set().union(*row["would_have_gone"].values()))),
            }
            for row in sorted(rows, key=lambda row: str(row["asin"]))
        ],
        bars={"tasks that the splits miss": dict(sorted(lost.items()))},
        columns=fields_of(rows[0]) if rows else {},
    )


@dg.asset(
    deps=list(_LABELLED),
    group_name="quality",
    owners=OWNERS,
    kinds={"python", "parquet"},
    code_version=LABELS,
)
def task_labels(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Every graded option, attribute and ceiling of a task, per mode: is it derivable from what is shown?"""
    work = workspace.open()

    def write(path: Path) -> Facts:
        cases, annotated = iter_cases(iter_cleaned(work.store.path("cleaned_v2"))), _annotations(work)
        rows = sorted(
            (row for case in cases for row in label_case(case, annotated.get(case.task_id))),
            key=lambda row: (row.task_id, row.mode != "standard"),
        )
        write_labels(path, rows)
        return _label_facts(rows)

    parents = (*_LABELLED, "raw_products", "task_ids", "price_axis_exclusions")
    return materialize(work, "task_labels", "task_labels.parquet", LABELS, write, parents=parents)


def _label_facts(rows: list[TaskLabels]) -> Facts:
    bars = {
        f"{kind} of tasks in {mode} mode, by worst label": _worst_counts(rows, mode, kind)
        for mode in ("standard", "persona")
        for kind in ("options", "attributes", "budget")
    }
    return Facts(
        len(rows),
        numbers={"derivable": sum(row.derivable for row in rows)},
        preview=[{"task_id": row.task_id, "mode": row.mode, **_worst_of(row)} for row in rows[:PREVIEW_ROWS]],
        bars=bars,
    )


def _worst_of(row: TaskLabels) -> dict[str, str]:
    return {
        "options": worst(row.option_labels),
        "attributes": worst(row.attribute_labels),
        "budget": row.budget_label,
    }


def _worst_counts(rows: list[TaskLabels], mode: str, kind: str) -> dict[str, float]:
    return dict(sorted(Counter(_worst_of(row)[kind] for row in rows if row.mode == mode).items()))
