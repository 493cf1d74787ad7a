"""What must hold of the audit."""

from collections.abc import Iterator

from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.labels import LABELS, NOT_GRADED, PERSONA, STANDARD, read_labels
from pipelines.stages.cleaning import iter_cleaned


@blocking_check("task_labels")
def every_graded_fact_labelled(work: Workspace) -> Iterator[str]:
    """Each task has one row per mode, with a known label for each option, attribute and ceiling it grades."""
    found = {(row.task_id, row.mode): row for row in read_labels(work.store.path("task_labels"))}
    for case in iter_cases(iter_cleaned(work.store.path("cleaned_v2"))):
        goal = case.goal
        for mode in (STANDARD, PERSONA) if goal.has_persona else (STANDARD,):
            row = found.pop((goal.task_id, mode), None)
            if row is None:
                yield f"task {goal.task_id}: not labelled for {mode} mode"
                continue
            sizes = (len(row.option_labels), len(row.attribute_labels), row.budget_label != NOT_GRADED)
            if sizes != (len(goal.options), len(goal.attributes), goal.budget_upper is not None):
                yield f"task {goal.task_id}, {mode}: not one label per graded fact"
            if not {*row.option_labels, *row.attribute_labels, row.budget_label} <= {*LABELS, NOT_GRADED}:
                yield f"task {goal.task_id}, {mode}: an unknown label"
    yield from (f"task {task_id}: labelled for {mode} mode without having it" for task_id, mode in found)
