"""Group `annotations`: price ceilings of persona tasks."""

from collections import Counter
from pathlib import Path

import dagster as dg

from assets._code_version import code_version
from assets._inputs import excluded_indices
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.annotation.audit_file import audit_json, check_audit, read_audit
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.ingest import iter_records
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import read_task_rows

_UPSTREAM = ("raw_products", "task_ids", "price_axis_exclusions")
ANNOTATIONS = code_version("price_annotations", "pipelines.stages.annotation.audit_file")


@dg.asset(
    deps=list(_UPSTREAM),
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
        published = audit_json(audit)
        published.write(path)
        return _facts(audit, published)

    filename = "persona_price_annotations.v2.json"
    return materialize(work, "price_annotations", filename, ANNOTATIONS, write, parents=_UPSTREAM)


def _facts(audit: list[AuditRecord], published: PublishedJson) -> Facts:
    kinds = Counter(record.annotation.kind for record in audit)
    preview = [
        {
            "task_id": record.task.task_id,
            "kind": record.annotation.kind,
            "text": record.annotation.source_field,
        }
        for record in audit[:PREVIEW_ROWS]
    ]
    return Facts(
        len(audit),
        numbers={"sha256_crlf": published.crlf_sha256},
        preview=preview,
        bars={"tasks by kind": dict(sorted(kinds.items()))},
        columns=fields_of(audit[0].as_record()) if audit else {},
    )


def _audit(work: Workspace, tasks: list[PersonaTask]) -> list[AuditRecord]:
    """Recorded annotations, or the explicit decision to read every budget at run time."""
    listed = work.settings.runtime_regex_task_ids
    fallback = frozenset(task.task_id for task in tasks) if listed == "all" else frozenset(listed)
    if work.annotations is None:
        return check_audit([], tasks, fallback)
    return read_audit(work.annotations, tasks, fallback)
