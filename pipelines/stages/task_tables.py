"""Public and private task tables of a release, from the cleaned archive.

The one place that decides which side of a task goes to which file: what a mode may show is public; the gold
product, targets, task uid and the full text of persona tasks are private.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pipelines.stages.cleaning import iter_cleaned
from shopsim_env.canonical import compact_json
from shopsim_env.release import layout
from shopsim_env.tasks.persona import project_persona

TaskRow = tuple[int, str | None, str | None, str | None, str]
GoalRow = tuple[int, str, str, str, str, str, str, str | None, int]


def write_task_tables(
    cleaned: Path,
    root: Path,
    *,
    splits: Mapping[str, Iterable[int]],
    inactive_tasks: Mapping[int, str],
    marks: Mapping[int, Sequence[str]],
) -> dict[str, int]:
    """Writes `tasks.sqlite` and `private/goals.sqlite` below `root`.

    Args:
        cleaned: The cleaned v2 archive.
        root: Staged release folder.
        splits: Split name to task ids; each task's labels name its splits.
        inactive_tasks: Task id to the reason code for which it is not played; some are in the archive.
        marks: Task id to what the audit says of it in public; these follow the splits among its labels.

    Returns:
        Counts of tasks by kind, of inactive tasks and of dropped blank targets.
    """
    labels = _labels(splits, marks)
    tasks: list[TaskRow] = []
    goals: list[GoalRow] = []
    dropped = 0
    for product, instruction in _instructions(cleaned):
        if instruction["task_id"] in inactive_tasks:
            continue
        attributes, options = (
            targets(instruction, "attributes"),
            targets(instruction, "instruction_options"),
        )
        dropped += _given(instruction, "attributes") + _given(instruction, "instruction_options")
        dropped -= len(attributes) + len(options)
        tasks.append(_task_row(product, instruction, labels))
        goals.append(_goal_row(product, instruction, attributes, options))
    write_tables(
        root / layout.TASKS,
        layout.TASKS_SCHEMA,
        {"task": tasks, "inactive_task": sorted(inactive_tasks.items())},
    )
    write_tables(root / layout.GOALS, layout.GOALS_SCHEMA, {"goal": goals})
    persona = sum(row[8] for row in goals)
    return {
        "tasks": len(tasks),
        "persona_tasks": persona,
        "standard_tasks": len(tasks) - persona,
        "inactive_tasks": len(inactive_tasks),
        "blank_targets_dropped": dropped,
    }


def _instructions(cleaned: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for product in iter_cleaned(cleaned):
        for instruction in product.get("instructions") or ():
            yield product, instruction


def _labels(splits: Mapping[str, Iterable[int]], marks: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    labels: dict[int, list[str]] = {}
    for name in sorted(splits):
        for task_id in splits[name]:
            labels.setdefault(task_id, []).append(name)
    for task_id, found in marks.items():
        labels.setdefault(task_id, []).extend(found)
    return labels


def _given(instruction: Mapping[str, Any], key: str) -> int:
    return len(instruction.get(key) or ())


def targets(instruction: Mapping[str, Any], key: str) -> list[str]:
    """Targets without the blank ones, which would match anything (contract 7.5)."""
    return [str(item) for item in instruction.get(key) or () if item is not None and str(item).strip()]


def _task_row(
    product: Mapping[str, Any], instruction: Mapping[str, Any], labels: Mapping[int, list[str]]
) -> TaskRow:
    task_id, persona = instruction["task_id"], product.get("user_persona")
    kind = "persona" if persona else "standard"
    shown = None
    if persona:
        shown = compact_json(project_persona(persona, product["asin"]))
    return (
        task_id,
        None if persona else instruction["instruction"],
        instruction.get("instruction_simple") or None,
        shown,
        compact_json([kind, *labels.get(task_id, [])]),
    )


def _goal_row(
    product: Mapping[str, Any], instruction: Mapping[str, Any], attributes: list[str], options: list[str]
) -> GoalRow:
    upper = instruction.get("price_upper")
    return (
        instruction["task_id"],
        instruction["task_uid"],
        product["asin"],
        instruction["instruction"],
        instruction.get("instruction_simple") or "",
        compact_json(attributes),
        compact_json(options),
        None if upper is None else str(upper),
        int(bool(product.get("user_persona"))),
    )


def write_tables(path: Path, schema: str, tables: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
    """Writes an SQLite file with these tables; equal rows give equal bytes.

    Args:
        path: The file, which must not exist.
        schema: Statements that create the tables.
        tables: Table name to its rows, in the order of its columns.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(schema)
        connection.execute("BEGIN")
        for table, rows in tables.items():
            for row in rows:
                marks = ",".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608 - our table names
        connection.execute("COMMIT")
        connection.execute("VACUUM")
