"""Group `annotations`: price ceilings of persona tasks."""

from collections import Counter
from pathlib import Path

import dagster as dg

from assets._code_version import code_version
from assets._inputs import excluded_indices
from assets._materialize import OWNERS, Facts, materialize
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.annotation.audit_file import audit_json, check_audit, read_audit
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.ingest import iter_records
from pipelines.stages.task_ids import read_task_rows

ANNOTATIONS = code_version("pipelines.stages.annotation")


@dg.asset(
    deps=["raw_products", "task_ids", "price_axis_exclusions"],
    group_name="annotations",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=ANNOTATIONS,
)
def price_annotations(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """One price ceiling per active persona task, each validated against the text it quotes."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        tasks = persona_tasks(
            iter_records(work.store.path("raw_products")),
            read_task_rows(work.store.path("task_ids")),
            excluded_indices(work),
        )
        audit = _audit(work, tasks)
        document = audit_json(audit)
        document.write(path)
        kinds = Counter(record.annotation.kind for record in audit)
        preview = [
            {
                "task_id": record.task.task_id,
                "kind": record.annotation.kind,
                "text": record.annotation.source_field,
            }
            for record in audit[:8]
        ]
        bars = {"tasks by kind": dict(sorted(kinds.items()))}
        return Facts(len(audit), numbers={"sha256_crlf": document.crlf_sha256}, preview=preview, bars=bars)

    return materialize(
        work,
        "price_annotations",
        "persona_price_annotations.v2.json",
        ANNOTATIONS,
        write,
        parents=("raw_products", "task_ids", "price_axis_exclusions"),
    )


def _audit(work: Workspace, tasks: list[PersonaTask]) -> list[AuditRecord]:
    """Recorded annotations, or the explicit decision to read every budget at run time."""
    listed = work.settings.runtime_regex_task_ids
    fallback = frozenset(task.task_id for task in tasks) if listed == "all" else frozenset(listed)
    if work.annotations is None:
        return check_audit([], tasks, fallback)
    return read_audit(work.annotations, tasks, fallback)
