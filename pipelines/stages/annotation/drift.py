"""How annotations moved since the last release, and how often the run-time parser agrees with them.

Belongs here: comparisons of final annotations. Only ids, kinds and amounts leave this module, never a text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.stages.annotation.protocol import FALLBACK_KIND
from pipelines.stages.annotation.resolution import AuditRecord
from shopsim_env.tasks.budget import parse_budget, task_budget

DRIFT_VERSION = "shopsim-annotation-drift-v1"


def annotation_drift(
    audit: Sequence[AuditRecord], before: Sequence[Mapping[str, Any]] | None
) -> dict[str, Any]:
    """What changed, which ceilings moved, agreement with the run-time parser by kind.

    Args:
        audit: Final annotations of now, in id order.
        before: Records of the last release's audit file; None: there is no release yet.
    """
    return {
        "version": DRIFT_VERSION,
        "tasks": len(audit),
        "changes": None if before is None else _changes(audit, before),
        "parser_agreement": parser_agreement(audit),
    }


def parser_agreement(audit: Sequence[AuditRecord]) -> dict[str, dict[str, int]]:
    """How often the run-time parser agrees, per annotated kind.

    `same_kind` and `same_ceiling` count tasks where it reads the very text that the annotation quotes,
    `same_at_run_time` where it reads both texts, as it would without annotations. Run-time fallbacks have
    nothing to agree with and are left out.
    """
    found: dict[str, Counter[str]] = {}
    for record in audit:
        annotation, task = record.annotation, record.task
        if annotation.kind == FALLBACK_KIND:
            continue
        read = parse_budget(task.request(annotation.source_field).text)
        both = task_budget(task.instruction_simple, task.instruction)
        counts = found.setdefault(annotation.kind, Counter())
        counts["tasks"] += 1
        counts["same_kind"] += read.kind == annotation.kind
        counts["same_ceiling"] += _same(read.upper, annotation.price_upper)
        counts["same_at_run_time"] += _same(both.upper, annotation.price_upper)
    names = ("tasks", "same_kind", "same_ceiling", "same_at_run_time")
    return {kind: {name: counts[name] for name in names} for kind, counts in sorted(found.items())}


def _same(read: Any, annotated: Any) -> bool:
    """Ceilings are JSON numbers outside; both are compared as such."""
    return (None if read is None else float(read)) == (None if annotated is None else float(annotated))


def _changes(audit: Sequence[AuditRecord], before: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    old = {record["task_id"]: record for record in before}
    new = {record.task.task_id: record.as_record() for record in audit}
    common = sorted(old.keys() & new.keys())
    moved = [
        _move(task_id, old[task_id], new[task_id]) for task_id in common if _moved(old[task_id], new[task_id])
    ]
    kinds = Counter(
        f"{old[task_id]['kind']} > {new[task_id]['kind']}"
        for task_id in common
        if old[task_id]["kind"] != new[task_id]["kind"]
    )
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "instruction_changed": [
            task_id for task_id in common if old[task_id]["task_uid"] != new[task_id]["task_uid"]
        ],
        "evidence_changed": sum(old[task_id]["evidence"] != new[task_id]["evidence"] for task_id in common),
        "kinds": dict(sorted(kinds.items())),
        "ceilings_moved": moved,
    }


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return bool(old["price_upper"] != new["price_upper"])


def _move(task_id: int, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "kind_before": old["kind"],
        "kind": new["kind"],
        "price_upper_before": old["price_upper"],
        "price_upper": new["price_upper"],
    }
