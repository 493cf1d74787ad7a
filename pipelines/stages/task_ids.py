"""Stable task ids, assigned on the raw corpus before any filtering.

Belongs here: numbering and the task uid. Which tasks stay active is decided by exclusions and quarantine.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.stages.ingest import RawRow
from pipelines.stages.ingest_rules import ALWAYS_QUARANTINED
from pipelines.stages.tables import read_rows, write_rows
from shopsim_env.canonical import compact_json, sha256_text

TASK_SCHEMA = pa.schema(
    [
        pa.field("task_id", pa.int64(), nullable=False),
        pa.field("task_uid", pa.string(), nullable=False),
        pa.field("source_product_index", pa.int64(), nullable=False),
        pa.field("instruction_index", pa.int64(), nullable=False),
        pa.field("asin", pa.string(), nullable=False),
        pa.field("persona", pa.bool_(), nullable=False),
        pa.field("quarantine", pa.string(), nullable=False),
        pa.field("tag", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of the raw corpus. `tag` is the product's (`eval`, `train` or ""); private, as is the uid."""

    task_id: int
    task_uid: str
    source_product_index: int
    instruction_index: int
    asin: str
    persona: bool
    quarantine: str
    tag: str = ""


def task_uid(asin: str, instruction_index: int, instruction: str) -> str:
    """`shopsim-` and 24 hex digits over the compact JSON array of the three arguments.

    Source: prior art section 2.1. A missing full text (a quarantined row) counts as "".
    """
    return "shopsim-" + sha256_text(compact_json([asin, instruction_index, instruction]))[:24]


def assign_task_ids(rows: Iterable[RawRow]) -> list[TaskRow]:
    """Numbers all tasks from 0 in product order, inside a product in instruction order.

    Excluded and quarantined products are numbered like all others, so ids never move and gaps are intended.
    """
    tasks: list[TaskRow] = []
    for row in rows:
        for position, instruction in enumerate(row.record.get("instructions") or ()):
            tasks.append(
                TaskRow(
                    task_id=len(tasks),
                    task_uid=task_uid(row.asin, position, instruction.get("instruction") or ""),
                    source_product_index=row.source_product_index,
                    instruction_index=position,
                    asin=row.asin,
                    persona=row.has_persona,
                    quarantine=row.quarantine,
                    tag=row.tag,
                )
            )
    return tasks


def instruction_at(record: Mapping[str, Any], instruction_index: int) -> Mapping[str, Any]:
    """The instruction of a task: the one of that position, or, in a cleaned record, of that recorded index.

    A cleaned record lacks the tasks that were set aside, so positions have moved there.
    """
    instructions: list[dict[str, Any]] = record["instructions"]
    if "source_product_index" not in record:
        return instructions[instruction_index]
    return next(item for item in instructions if item["instruction_index"] == instruction_index)


def set_aside(tasks: Iterable[TaskRow], task_ids: Collection[int], reason: str) -> list[TaskRow]:
    """The tasks, those of `task_ids` quarantined for `reason` unless they are already."""
    return [
        replace(task, quarantine=reason) if task.task_id in task_ids and not task.quarantine else task
        for task in tasks
    ]


def write_task_rows(path: Path, tasks: Iterable[TaskRow]) -> int:
    """Writes `task_ids.parquet`; returns the number of rows."""
    return write_rows(path, TASK_SCHEMA, (astuple(task) for task in tasks))


def read_task_rows(path: Path) -> Iterator[TaskRow]:
    """Rows of `task_ids.parquet` in id order."""
    for row in read_rows(path, TASK_SCHEMA):
        yield TaskRow(*row)


def active_tasks(tasks: Iterable[TaskRow], excluded: frozenset[int]) -> list[TaskRow]:
    """Tasks of the cleaned archive and the splits: neither on an excluded product nor set aside there.

    Tasks that are set aside without `--lenient` are among them: the source meant them so, and the published
    files hold them. A release does not offer them (`cleaning.inactive_tasks`).

    Args:
        tasks: All tasks of the raw corpus.
        excluded: Source indices of the excluded products.
    """
    return [task for task in tasks if task.source_product_index not in excluded and not left_out(task)]


def left_out(task: TaskRow) -> bool:
    """Whether a quarantined task is missing from the cleaned archive too."""
    return bool(task.quarantine) and task.quarantine not in ALWAYS_QUARANTINED
