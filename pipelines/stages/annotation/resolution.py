"""Two texts, one annotation: the simple text first, the full text only when the simple one has no ceiling.

Belongs here: which answers are still needed and which one counts. Source: seed section on offline cleaning,
prior art section 4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.protocol import (
    FULL_FIELD,
    SIMPLE_FIELD,
    Annotation,
    AnnotationError,
    fallback_annotation,
)

_EXAMPLES = 10
Answers = Mapping[tuple[int, str], Annotation]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The final annotation of one persona task."""

    task: PersonaTask
    annotation: Annotation

    def as_record(self) -> dict[str, Any]:
        """One element of `persona_price_annotations.v2.json`."""
        return {
            "task_id": self.task.task_id,
            "task_uid": self.task.task_uid,
            "source_product_index": self.task.source_product_index,
            "asin": self.task.asin,
            **self.annotation.as_record(),
        }


def missing_field(task: PersonaTask, answers: Answers) -> str:
    """Which text of `task` must still be annotated: a field name, or "" when the answers suffice.

    An answer on the full text stands alone: it was only ever asked because the simple one had no ceiling
    (a recorded audit file holds the final answers, not the first ones).
    """
    simple = answers.get((task.task_id, SIMPLE_FIELD))
    if (task.task_id, FULL_FIELD) in answers and (simple is None or not simple.has_ceiling):
        return ""
    if simple is None:
        return SIMPLE_FIELD
    return "" if simple.has_ceiling or task.instruction == task.instruction_simple else FULL_FIELD


def resolve(task: PersonaTask, answers: Answers) -> Annotation:
    """The annotation that counts, given that `missing_field` is "".

    A ceiling in the simple text wins; identical texts keep the first answer; otherwise the answer on the full
    text is final, even when it has no ceiling.
    """
    simple = answers.get((task.task_id, SIMPLE_FIELD))
    if simple is not None and (simple.has_ceiling or task.instruction == task.instruction_simple):
        return simple
    return answers[task.task_id, FULL_FIELD]


def resolve_all(
    tasks: Sequence[PersonaTask], answers: Answers, fallback_ids: frozenset[int] = frozenset()
) -> list[AuditRecord]:
    """Final annotations of all tasks in id order.

    Args:
        tasks: Eligible persona tasks.
        answers: Validated answers by (task id, field).
        fallback_ids: Tasks that may lack answers; their budget is read at run time.

    Raises:
        AnnotationError: Code annotations_missing with up to ten `id:field` examples, or unknown_fallback.
    """
    check_fallback_ids(tasks, fallback_ids)
    missing = {task.task_id: missing_field(task, answers) for task in tasks}
    refuse_missing(
        f"{task_id}:{field}"
        for task_id, field in sorted(missing.items())
        if field and task_id not in fallback_ids
    )
    return [
        AuditRecord(
            task,
            fallback_annotation(missing[task.task_id]) if missing[task.task_id] else resolve(task, answers),
        )
        for task in sorted(tasks, key=lambda task: task.task_id)
    ]


def check_fallback_ids(tasks: Iterable[PersonaTask], fallback_ids: frozenset[int]) -> None:
    """Every id of the explicit fallback list must be an eligible persona task."""
    unknown = sorted(fallback_ids - {task.task_id for task in tasks})
    if unknown:
        raise AnnotationError(
            f"the run-time fallback list names {len(unknown)} ids that are no active persona tasks: "
            f"{_examples(map(str, unknown))}",
            code="unknown_fallback",
        )


def refuse_missing(missing: Iterable[str]) -> None:
    """Stops with a message that lists up to ten of `missing`."""
    found = list(missing)
    if found:
        raise AnnotationError(
            f"expected an annotation for every active persona task; missing for {len(found)}: task "
            f"{_examples(found)}. Give a recorded file (--annotations FILE), buy what is missing (shopsim "
            "annotate), or decide that budgets are read at run time (--runtime-regex-task-id ID, or 'all')",
            code="annotations_missing",
        )


def _examples(items: Iterable[str]) -> str:
    found = list(items)
    return ", ".join(found[:_EXAMPLES]) + (", ..." if len(found) > _EXAMPLES else "")
