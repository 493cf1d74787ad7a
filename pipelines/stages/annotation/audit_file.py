"""The recorded audit file `persona_price_annotations.v2.json`: read, checked again, written.

Belongs here: the file. No recorded number is trusted: every record is validated against the text of its task
and its ceiling is computed anew. A run-time fallback in the file is the record of an explicit decision and is
accepted; a task that the file lacks is not, unless the caller lists it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.protocol import (
    ANSWER_KEYS,
    FALLBACK_KIND,
    SIMPLE_FIELD,
    SOURCE_FIELDS,
    Annotation,
    AnnotationError,
    fallback_annotation,
    validate_answer,
)
from pipelines.stages.annotation.resolution import AuditRecord, check_fallback_ids, refuse_missing
from pipelines.stages.published_json import PublishedJson, read_json

_EXAMPLES = 10


def read_audit(
    path: Path, tasks: Sequence[PersonaTask], fallback_ids: frozenset[int] = frozenset()
) -> list[AuditRecord]:
    """Reads a recorded audit file and returns one record per task, in id order. See `check_audit`."""
    return check_audit(read_json(path), tasks, fallback_ids)


def check_audit(
    records: Any, tasks: Sequence[PersonaTask], fallback_ids: frozenset[int] = frozenset()
) -> list[AuditRecord]:
    """Checks recorded annotations against the tasks they claim to describe.

    Args:
        records: The decoded array of the file.
        tasks: Eligible persona tasks.
        fallback_ids: Tasks that the file may lack; they get a run-time fallback record.

    Raises:
        AnnotationError: A record that breaks the protocol, contradicts its task, is double, missing or extra;
            names the task and the field, and up to ten ids for sets.
    """
    if not isinstance(records, list):
        raise AnnotationError("expected an array of annotation records", code="wrong_type")
    check_fallback_ids(tasks, fallback_ids)
    by_id = {task.task_id: task for task in tasks}
    recorded = _by_task(records)
    _refuse_extra(recorded.keys() - by_id.keys())
    refuse_missing(str(item) for item in sorted(by_id.keys() - recorded.keys() - fallback_ids))
    return [
        AuditRecord(
            task,
            _check_record(recorded[task_id], task)
            if task_id in recorded
            else fallback_annotation(SIMPLE_FIELD),
        )
        for task_id, task in sorted(by_id.items())
    ]


def audit_json(audit: Iterable[AuditRecord]) -> PublishedJson:
    """The audit file in the published format, in task order."""
    ordered = sorted(audit, key=lambda record: record.task.task_id)
    return PublishedJson.of([record.as_record() for record in ordered])


def _by_task(records: list[Any]) -> dict[int, dict[str, Any]]:
    recorded: dict[int, dict[str, Any]] = {}
    for position, record in enumerate(records):
        task_id = record.get("task_id") if isinstance(record, dict) else None
        if not isinstance(task_id, int) or isinstance(task_id, bool):
            raise AnnotationError(
                "expected an object with an integer task_id", record=position, code="wrong_type"
            )
        if task_id in recorded:
            raise AnnotationError(
                f"expected task {task_id} once, found it again", record=position, code="duplicate_task"
            )
        recorded[task_id] = record
    return recorded


def _refuse_extra(extra: set[int]) -> None:
    if extra:
        shown = ", ".join(map(str, sorted(extra)[:_EXAMPLES]))
        raise AnnotationError(
            f"expected annotations of active persona tasks only, {len(extra)} are extra: {shown}; "
            "was the file recorded for another archive?",
            code="annotations_extra",
        )


def _check_record(record: dict[str, Any], task: PersonaTask) -> Annotation:
    annotation = _annotation(record, task)
    expected = AuditRecord(task, annotation).as_record()
    for name in sorted(expected.keys() | record.keys()):
        if name not in record or name not in expected or not _same(record[name], expected[name]):
            raise AnnotationError(
                f"task {task.task_id}: the recorded value does not follow from the task; expected "
                + ("no such field" if name not in expected else _shown(name, expected[name]))
                + ", found "
                + ("none" if name not in record else _shown(name, record[name])),
                field=name,
                code="record_mismatch",
            )
    return annotation


def _annotation(record: dict[str, Any], task: PersonaTask) -> Annotation:
    if record.get("kind") == FALLBACK_KIND:
        missing = record.get("missing_source_field")
        if missing not in SOURCE_FIELDS:
            raise AnnotationError(
                f"task {task.task_id}: expected one of {', '.join(SOURCE_FIELDS)}",
                field="missing_source_field",
                code="record_mismatch",
            )
        return fallback_annotation(missing)
    source_field = record.get("source_field")
    if source_field not in SOURCE_FIELDS:
        raise AnnotationError(
            f"task {task.task_id}: expected one of {', '.join(SOURCE_FIELDS)}",
            field="source_field",
            code="record_mismatch",
        )
    answer = {key: record[key] for key in ANSWER_KEYS if key in record}
    return validate_answer(answer, task.request(source_field))


def _same(found: Any, expected: Any) -> bool:
    # JSON has one number type (165 equals 165.0), but true is not 1.
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def _shown(name: str, value: Any) -> str:
    return "another text" if name == "evidence" else repr(value)
