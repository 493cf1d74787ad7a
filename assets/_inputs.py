"""Verified reads of artifacts that several assets and checks share."""

from typing import Any

from pipelines.resources.workspace import Workspace
from pipelines.stages.annotation.audit_file import read_audit
from pipelines.stages.annotation.persona_tasks import persona_tasks
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.audit.findings import Finding, read_findings
from pipelines.stages.audit.labels import read_labels
from pipelines.stages.cleaned_source import CleanedOrigin, read_origin
from pipelines.stages.cleaning import inactive_tasks
from pipelines.stages.human_exclusions import Exclusion, read_document
from pipelines.stages.ingest import iter_records
from pipelines.stages.price_axes import excluded_products, exclusion_reasons, find_exclusions
from pipelines.stages.published_json import read_json
from pipelines.stages.task_ids import TaskRow, active_tasks, read_task_rows


def document(work: Workspace, asset: str) -> Any:
    """The value of a JSON artifact."""
    return read_json(work.store.path(asset))


def excluded_indices(work: Workspace) -> frozenset[int]:
    """Source indices of the excluded products."""
    return excluded_products(document(work, "price_axis_exclusions"))


def origin(work: Workspace) -> CleanedOrigin | None:
    """What came with a cleaned archive; None when the source is a raw one."""
    return read_origin(work.store.path("raw_products"))


def excluded_before(work: Workspace) -> frozenset[int]:
    """Source indices of the products that a cleaned archive had left out already."""
    before = origin(work)
    return excluded_products(before.exclusions) if before is not None else frozenset()


def exclusion_list(work: Workspace) -> list[dict[str, Any]]:
    """Products that leave: by the price axes, by hand, and those that a cleaned archive left out before."""
    listed = read_document(document(work, "human_exclusions"))
    found = find_exclusions(iter_records(work.store.path("raw_products")), task_rows(work), listed.asins)
    before = origin(work)
    found += before.exclusions if before is not None else []
    return sorted(found, key=lambda item: int(item["source_product_index"]))


def listed_by_hand(work: Workspace) -> list[tuple[str, Exclusion]]:
    """Entries of the exclusion list by hand, each with its product, which a listed task is of."""
    asin_of = {task.task_id: task.asin for task in task_rows(work)}
    entries = read_document(document(work, "human_exclusions")).entries
    products = [(entry.asin, entry) for entry in entries if entry.asin is not None]
    return products + [(asin_of[entry.task], entry) for entry in entries if entry.task is not None]


def task_rows(work: Workspace) -> list[TaskRow]:
    """All tasks of the raw corpus."""
    return list(read_task_rows(work.store.path("task_ids")))


def inactive(work: Workspace) -> dict[int, str]:
    """Task id to the reason code of every task that a release does not offer."""
    return inactive_tasks(task_rows(work), exclusion_reasons(document(work, "price_axis_exclusions")))


def audit_records(work: Workspace) -> list[AuditRecord]:
    """Final annotations, checked once more against the tasks."""
    tasks = persona_tasks(
        iter_records(work.store.path("raw_products")), task_rows(work), excluded_indices(work)
    )
    return read_audit(work.store.path("price_annotations"), tasks)


def derivable(work: Workspace) -> dict[tuple[int, str], bool]:
    """Task id and mode to whether the mode says everything that is graded."""
    rows = read_labels(work.store.path("task_labels"))
    return {(row.task_id, row.mode): row.derivable for row in rows}


def split_members(work: Workspace) -> dict[str, list[int]]:
    """Every published split: `source/NAME` and `project/NAME` to ascending ids of offered tasks."""
    not_offered = inactive(work)
    families = {"source": document(work, "source_splits"), "project": document(work, "persona_splits")}
    return {
        f"{family}/{name}": [task_id for task_id in split["task_ids"] if task_id not in not_offered]
        for family, manifest in families.items()
        for name, split in manifest["splits"].items()
    }


def all_splits(work: Workspace) -> dict[str, list[int]]:
    """The published splits and their clean variants."""
    return {**split_members(work), **document(work, "clean_splits")["splits"]}


def active_asins(work: Workspace) -> dict[int, str]:
    """Gold product of every active task."""
    return {task.task_id: task.asin for task in active_tasks(task_rows(work), excluded_indices(work))}


def findings(work: Workspace) -> list[Finding]:
    """All findings of the audit."""
    return list(read_findings(work.store.path("audit")))
