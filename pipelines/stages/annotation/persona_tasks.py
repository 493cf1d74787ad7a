"""Persona tasks that need a price annotation: active ones, with both texts."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.stages.annotation.protocol import SIMPLE_FIELD, AnnotationRequest
from pipelines.stages.ingest import RawRow
from pipelines.stages.task_ids import TaskRow, active_tasks, instruction_at


@dataclass(frozen=True, slots=True, repr=False)
class PersonaTask:
    """One eligible task. Both texts are private: the type never prints them."""

    task_id: int
    task_uid: str
    source_product_index: int
    asin: str
    instruction_simple: str
    instruction: str

    def __repr__(self) -> str:
        return f"PersonaTask(task_id={self.task_id}, ...)"

    def request(self, source_field: str) -> AnnotationRequest:
        """The request for one of the two texts."""
        text = self.instruction_simple if source_field == SIMPLE_FIELD else self.instruction
        return AnnotationRequest(self.task_id, source_field, text)


def persona_tasks(
    rows: Iterable[RawRow], tasks: Iterable[TaskRow], excluded: frozenset[int]
) -> list[PersonaTask]:
    """Active persona tasks in id order.

    Args:
        rows: Products of the archive.
        tasks: All tasks of the raw corpus.
        excluded: Source indices of the excluded products.
    """
    wanted: dict[int, list[TaskRow]] = {}
    for task in active_tasks(tasks, excluded):
        if task.persona:
            wanted.setdefault(task.source_product_index, []).append(task)
    return [_persona_task(task, row) for row in rows for task in wanted.get(row.source_product_index, ())]


def _persona_task(task: TaskRow, row: RawRow) -> PersonaTask:
    instruction = instruction_at(row.record, task.instruction_index)
    return PersonaTask(
        task_id=task.task_id,
        task_uid=task.task_uid,
        source_product_index=task.source_product_index,
        asin=task.asin,
        instruction_simple=instruction["instruction_simple"],
        instruction=instruction["instruction"],
    )
