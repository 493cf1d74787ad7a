"""What must hold of the price annotations."""

from collections.abc import Iterator

from assets._inputs import audit_records, document, excluded_indices, task_rows
from assets.checks.blocking import blocking_check, warning_check
from pipelines.errors import DatasetError
from pipelines.resources.workspace import Workspace
from pipelines.stages.task_ids import active_tasks
from shopsim_env.release import layout

MOVED_WARNING = 0.05


@warning_check("annotation_drift")
def few_ceilings_moved(work: Workspace) -> Iterator[str]:
    """At most 5 % of the tasks have another ceiling than in the data set's latest release."""
    drift = document(work, "annotation_drift")
    before = work.released(layout.ANNOTATIONS_EXPORT)
    if before is not None and drift["changes"] is None:
        yield f"{before}: expected the annotations of a release, found a damaged file; nothing was compared"
    moved = len(drift["changes"]["ceilings_moved"]) if drift["changes"] else 0
    if moved > MOVED_WARNING * drift["tasks"]:
        yield f"{moved} of {drift['tasks']} ceilings moved"


@blocking_check("price_annotations")
def evidence_is_substring(work: Workspace) -> Iterator[str]:
    """Every recorded ceiling quotes its task's text verbatim and follows from it by the protocol."""
    try:
        audit_records(work)
    except DatasetError as error:
        yield str(error)


@blocking_check("price_annotations")
def every_persona_task_annotated(work: Workspace) -> Iterator[str]:
    """Exactly the active persona tasks are annotated; run-time fallbacks are listed or recorded."""
    try:
        found = {record.task.task_id for record in audit_records(work)}
    except DatasetError as error:
        yield str(error)
        return
    active = active_tasks(task_rows(work), excluded_indices(work))
    expected = {task.task_id for task in active if task.persona}
    yield from (
        f"task {task_id}: annotated but no active persona task" for task_id in sorted(found - expected)
    )
    yield from (f"task {task_id}: not annotated" for task_id in sorted(expected - found))
    wanted = work.settings.expected.active_persona_tasks
    if wanted is not None and wanted != len(found):
        yield f"active_persona_tasks: expected {wanted}, found {len(found)}"
