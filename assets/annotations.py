"""Group `annotations`: price ceilings of persona tasks, and how they moved."""

from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets._code_version import code_version
from assets._failures import intended_failures
from assets._inputs import audit_records, excluded_indices, origin
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize, table
from pipelines.errors import ArtifactError, ConfigError
from pipelines.resources.annotation_run import AnnotationJob, left_to_parser
from pipelines.resources.annotator import RunReport
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.settings import FROM_CACHE
from pipelines.stages.annotation.audit_file import audit_json, read_audit
from pipelines.stages.annotation.drift import annotation_drift as find_drift
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.resolution import AuditRecord, resolve_all
from pipelines.stages.cleaned_source import AUDIT_NAME, check_companion
from pipelines.stages.ingest import iter_records, read_report
from pipelines.stages.published_json import PublishedJson, read_json
from pipelines.stages.task_ids import read_task_rows
from shopsim_env.release import layout

API_POOL = "annotation_api"
_UPSTREAM = ("raw_products", "task_ids", "price_axis_exclusions")
ANNOTATIONS = code_version(
    "price_annotations", "pipelines.stages.annotation.audit_file", "pipelines.stages.annotation.cache"
)
DRIFT = code_version("annotation_drift", "pipelines.stages.annotation.drift")
_PROGRESS_EVERY = 25


class PaidRun(dg.Config):
    """Run config of `price_annotations`: without `confirm_paid_api` nothing is ever asked."""

    confirm_paid_api: bool = False
    max_requests: int | None = Field(default=None, ge=1)


@dg.asset(
    deps=list(_UPSTREAM),
    group_name="annotations",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=ANNOTATIONS,
    pool=API_POOL,
)
def price_annotations(workspace: WorkspaceResource, config: PaidRun) -> dg.MaterializeResult:
    """One price ceiling per active persona task, each validated against the text it quotes."""
    work = workspace.open()
    with intended_failures():
        _refuse_unused(work, config)

    def write(path: Path) -> Facts:
        tasks = persona_tasks(
            iter_records(work.store.path("raw_products")),
            read_task_rows(work.store.path("task_ids")),
            excluded_indices(work),
        )
        audit, numbers = _audit(work, tasks, config)
        published = audit_json(audit)
        published.write(path)
        return _facts(audit, published, numbers)

    # The cache of bought answers grows apart from builds.
    volatile = work.annotations is None
    name = "persona_price_annotations.v2.json"
    return materialize(
        work, "price_annotations", name, ANNOTATIONS, write, parents=_UPSTREAM, volatile=volatile
    )


def _refuse_unused(work: Workspace, config: PaidRun) -> None:
    """A confirmation that could buy nothing: a recorded file takes the place of the cache."""
    if config.confirm_paid_api and work.annotations is not None:
        raise ConfigError(
            f"data set {work.settings.name}: confirm_paid_api is set, but the annotations come from the "
            f"recorded file {work.annotations.name}, so that nothing would be asked; set the workspace's "
            f"annotations to {FROM_CACHE!r}, or leave the confirmation out",
            code="paid_api_unused",
        )


def _audit(
    work: Workspace, tasks: list[PersonaTask], config: PaidRun
) -> tuple[list[AuditRecord], dict[str, Any]]:
    """Annotations of the recorded file, else of the cache; and what to show about where they come from."""
    fallback = left_to_parser(work.settings.runtime_regex_task_ids, tasks)
    if work.annotations is not None:
        _check_source(work, work.annotations)
        return read_audit(work.annotations, tasks, fallback), {"source": work.annotations.name}
    return _answered(work, tasks, fallback, config)


def _check_source(work: Workspace, annotations: Path) -> None:
    """Annotations beside the manifest of a cleaned archive must be those that the manifest vouches for."""
    manifest, before = work.cleaned_manifest, origin(work)
    if manifest is not None and before is not None and annotations == manifest.with_name(AUDIT_NAME):
        check_companion(annotations, before.manifest, "persona_price_audit")


def _answered(
    work: Workspace, tasks: list[PersonaTask], fallback: frozenset[int], config: PaidRun
) -> tuple[list[AuditRecord], dict[str, Any]]:
    """Annotations from the cache of bought answers; with confirmation, missing ones are bought first."""
    cap = work.annotation.max_requests if config.max_requests is None else config.max_requests
    job = AnnotationJob(
        settings=work.annotation,
        cache=work.answers,
        source_archive_sha256=read_report(work.store.path("raw_products")).archive_sha256,
        tasks=tasks,
        skip=fallback,
        max_requests=cap,
    )
    numbers: dict[str, Any] = {"source": "cache"}
    # Plan and paid run are wanted most when something is missing and no artifact can carry them.
    with intended_failures(numbers):
        plan = job.plan(job.read())
        numbers["plan"] = dg.MetadataValue.json(plan.as_dict())
        if config.confirm_paid_api and plan.requests:
            _buy(job, numbers)
        return resolve_all(tasks, job.read().valid, fallback), numbers


def _buy(job: AnnotationJob, numbers: dict[str, Any]) -> None:
    """The paid run; its report joins `numbers` however it ends."""
    with job.annotator(_log_progress) as annotator:
        try:
            job.run(annotator)
        finally:
            numbers["paid_run"] = dg.MetadataValue.json(annotator.report.as_dict())


def _log_progress(report: RunReport, total: int) -> None:
    if report.stored % _PROGRESS_EVERY == 0:
        dg.get_dagster_logger().info(
            f"annotations: {report.stored} of {total} stored in {report.requests} requests"
        )


def _facts(audit: list[AuditRecord], published: PublishedJson, numbers: dict[str, Any]) -> Facts:
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
        numbers={"sha256_crlf": published.crlf_sha256, **numbers},
        preview=preview,
        bars={"tasks by kind": dict(sorted(kinds.items()))},
        columns=fields_of(audit[0].as_record()) if audit else {},
    )


@dg.asset(
    deps=["price_annotations"],
    group_name="annotations",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=DRIFT,
)
def annotation_drift(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Against the last release: which ceilings moved; and how often the run-time parser agrees, by kind."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        drift = find_drift(audit_records(work), _last_release(work))
        PublishedJson.of(drift).write(path)
        return _drift_facts(drift)

    parents = ("price_annotations", *_UPSTREAM)
    return materialize(work, "annotation_drift", "annotation_drift.json", DRIFT, write, parents=parents)


def _last_release(work: Workspace) -> list[dict[str, Any]] | None:
    """Annotations of the release before; None without one, and where they are damaged (a check says so)."""
    path = work.released(layout.ANNOTATIONS_EXPORT)
    try:
        return None if path is None else list(read_json(path))
    except ArtifactError:
        # The damaged release must not keep this build from replacing it.
        return None


def _drift_facts(drift: dict[str, Any]) -> Facts:
    agreement = drift["parser_agreement"]
    changes = drift["changes"] or {"added": [], "removed": [], "kinds": {}, "ceilings_moved": []}
    moved = changes["ceilings_moved"]
    shares = {kind: round(100 * row["same_ceiling"] / row["tasks"], 1) for kind, row in agreement.items()}
    return Facts(
        drift["tasks"],
        numbers={
            "compared_with_a_release": drift["changes"] is not None,
            "added": len(changes["added"]),
            "removed": len(changes["removed"]),
            "ceilings_moved": len(moved),
            "moved": dg.MetadataValue.md(table(moved, 50) if moved else "none"),
            "kind_changes": dg.MetadataValue.json(changes["kinds"]),
        },
        preview=[{"kind": kind, **row} for kind, row in agreement.items()],
        bars={
            "parser reads the same ceiling, % of tasks by kind": shares,
            "kind changes since the last release": changes["kinds"],
        },
        columns=fields_of(drift),
    )
