"""Named lists of task ids.

Belongs here: reading and checking a split file's content. How splits are made: `pipelines.stages.splits`.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.errors import TaskError


def read_splits(payload: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Split name to task ids, in the order of the file.

    Args:
        payload: Either `{name: ids}`, or a manifest whose `splits` maps names to ids or to objects with
            `task_ids`.

    Raises:
        TaskError: a split is not a list of unique non-negative integers (code `invalid_split`).
    """
    splits = payload.get("splits", payload)
    if not isinstance(splits, Mapping):
        raise _invalid("splits", f"expected an object of named splits; found {type(splits).__name__}")
    return {str(name): _read_ids(str(name), value) for name, value in splits.items()}


def _read_ids(name: str, value: Any) -> tuple[int, ...]:
    ids = value.get("task_ids") if isinstance(value, Mapping) else value
    if not isinstance(ids, (list, tuple)):
        raise _invalid(name, f"expected a list of task ids; found {type(ids).__name__}")
    seen: set[int] = set()
    for task_id in ids:
        # A JSON true is an int in Python and would pass as task 1.
        if isinstance(task_id, bool) or not isinstance(task_id, int) or task_id < 0:
            raise _invalid(name, f"expected non-negative integers; found {task_id!r}")
        if task_id in seen:
            raise _invalid(name, f"expected unique task ids; found {task_id} twice")
        seen.add(task_id)
    return tuple(ids)


def _invalid(name: str, problem: str) -> TaskError:
    return TaskError(
        f"split {name!r}: {problem}. Build the release again or name another split.", code="invalid_split"
    )
