"""Records of the seed's first cache format, in today's shape where they may join.

Belongs here: what is known of that format. It stated a relation where a kind stands today, and held no hash
of its text, so that only a record of the same model and archive can be placed. Text and evidence are checked
by the import, as for any other record.

Source: seed section on offline cleaning; prior art section 4.
"""

from collections.abc import Mapping
from typing import Any

from pipelines.stages.annotation.cache import Identity, key_of
from pipelines.stages.annotation.persona_tasks import PersonaTask

FIRST_VERSION = "qwen-price-upper-v1"
_KINDS = {
    "upper": "hard_upper",
    "exact": "hard_upper",
    "range": "hard_upper",
    "approximate": "approximate_upper",
}


def is_first(record: Mapping[str, Any]) -> bool:
    """Whether the record names that version; under which key is not handed down."""
    return FIRST_VERSION in record.values()


def translated(
    record: Mapping[str, Any], identity: Identity, by_id: Mapping[int, PersonaTask]
) -> dict[str, Any] | None:
    """The record in the cache's shape, None when it may not join.

    Args:
        record: Any record that `is_first`, with its answer below `annotation` or beside the other fields.
        identity: Model and archive that it must share.
        by_id: Eligible tasks, for a record without a uid; the archive is the same, so ids are.

    Returns:
        None for another model or archive, a status that is not `valid`, a relation that gives no ceiling
        (the full text may still have one), or a record that names no task and field.
    """
    answer = record.get("annotation")
    fields: dict[str, Any] = {**record, **(answer if isinstance(answer, dict) else {})}
    relation, key = fields.get("relation"), key_of(fields)
    kind = _KINDS.get(relation) if isinstance(relation, str) else None
    same = (fields.get("source_archive_sha256"), fields.get("model")) == (
        identity.source_archive_sha256,
        identity.model,
    )
    if not same or key is None or kind is None or fields.get("status") != "valid":
        return None
    task = by_id.get(key[0])
    stated = {"kind": kind, "amount": fields.get("amount"), "evidence": fields.get("evidence")}
    return {**record, "task_uid": record.get("task_uid") or (task and task.task_uid), "annotation": stated}
