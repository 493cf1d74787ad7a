"""Task discovery: splits and the tasks in them, without starting anything.

Belongs here: public facts of tasks, as `GET /v1/tasks` shows them. Their texts come with a reset.
"""

import re
from typing import Any, Final

from shopsim_env.adapters.openenv.asking import split_of
from shopsim_env.release import Release

_TYPES: Final = {"train": "train", "val": "validation", "test": "test", "eval": "test"}


def list_splits(release: Release) -> list[dict[str, str]]:
    """Name and type of each split; the type is that of the protocol: train, validation or test."""
    return [{"name": name, "type": _type_of(name)} for name in sorted(release.splits)]


def task_at(release: Release, split: str, index: int) -> dict[str, Any]:
    """One task by its place.

    Raises:
        TaskError: unknown split.
        IndexError: no such place, as the protocol wants it.
    """
    ids = split_of(release, split)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(ids):
        raise IndexError(f"index: expected 0 to {len(ids) - 1}")
    return _row(release, split, index, ids[index])


def tasks_in(
    release: Release, split: str, start: int | None = None, stop: int | None = None
) -> list[dict[str, Any]]:
    """The tasks at the places of a slice.

    Raises:
        TaskError: unknown split.
    """
    ids = split_of(release, split)
    places = range(*slice(start, stop).indices(len(ids)))
    return [_row(release, split, index, ids[index]) for index in places]


def _row(release: Release, split: str, index: int, task_id: int) -> dict[str, Any]:
    task = release.tasks[task_id]
    return {
        "id": f"{split}/{index}",
        "split": split,
        "index": index,
        "task_id": task_id,
        "has_persona": task.has_persona,
        "labels": list(task.labels),
    }


def _type_of(split: str) -> str:
    """By the last word of the name: `source/persona_eval_clean` is a test set."""
    words = re.split("[/_]", split.removesuffix("_clean"))
    return _TYPES.get(words[-1], "validation")
