"""What must hold of the price annotations."""

from collections.abc import Iterator

import dagster as dg

from assets._inputs import audit_records, document, excluded_indices, task_rows
from assets.checks.blocking import blocking_check
from pipelines.errors import DatasetError
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.task_ids import active_tasks

MOVED_WARNING = 0.05


@dg.asset_check(asset="annotation_drift")
def few_ceilings_moved(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Warns when more than 5 % of the tasks have another ceiling than in the last release; stops nothing."""
    drift = document(workspace.open(), "annotation_drift")
    moved = len(drift["changes"]["ceilings_moved"]) if drift["changes"] else 0
    problems = [f"{moved} of {drift['tasks']} ceilings moved since the last release"]
    passed = moved <= MOVED_WARNING * drift["tasks"]
    return dg.AssetCheckResult(
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"problems": dg.MetadataValue.json([] if passed else problems)},
    )


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
