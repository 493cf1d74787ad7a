"""Group `audit`: what is wrong with products and tasks, and how far each task says what it grades."""

from collections import Counter
from pathlib import Path

import dagster as dg

from assets._code_version import code_version
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, materialize
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.labels import TaskLabels, label_case, worst, write_labels
from pipelines.stages.cleaning import iter_cleaned

LABELS = code_version("task_labels", "pipelines.stages.audit.labels")


@dg.asset(
    deps=["cleaned_v2"], group_name="audit", owners=OWNERS, kinds={"python", "parquet"}, code_version=LABELS
)
def task_labels(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Every graded option, attribute and ceiling of a task, per mode: can it be derived from what it shows?"""
    work = workspace.open()

    def write(path: Path) -> Facts:
        cases = iter_cases(iter_cleaned(work.store.path("cleaned_v2")))
        rows = sorted(
            (row for case in cases for row in label_case(case)),
            key=lambda row: (row.task_id, row.mode != "standard"),
        )
        write_labels(path, rows)
        return _label_facts(rows)

    return materialize(work, "task_labels", "task_labels.parquet", LABELS, write, parents=("cleaned_v2",))


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
