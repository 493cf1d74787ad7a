"""A row of a data set for trainers, as the start of a rollout.

Belongs here: which columns of `shopsim export tasks` say what is played, in one place for all trainers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shopsim_env.errors import UsageError


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What a row asks for. `options` are keywords of `Rollout.open`."""

    task_id: int
    seed: "int | None" = None
    options: dict[str, Any] = field(default_factory=dict)


def read_row(columns: Any, where: str, given: "Mapping[str, Any] | None" = None) -> TaskRow:
    """Reads `task_id`, and `seed`, `prompt` (a name) and `environment` where they are.

    Args:
        columns: The mapping that has them, such as `extra_info`.
        where: Its name in errors.
        given: Options of the trainer's configuration, which take precedence over the row's.

    Raises:
        UsageError: no mapping, no task id, or something else than a whole number.
    """
    if not isinstance(columns, Mapping):
        raise UsageError(f"{where}: expected a mapping with task_id, found {type(columns).__name__}")
    found: dict[str, Any] = dict(columns.get("environment") or {})
    if isinstance(columns.get("prompt"), str):
        found["prompt"] = columns["prompt"]
    task_id = _whole(columns, "task_id", where)
    if task_id is None:
        raise UsageError(
            f"{where}: expected task_id, a whole number, found none; 'shopsim export tasks' writes such rows"
        )
    return TaskRow(task_id, _whole(columns, "seed", where), {**found, **(given or {})})


def _whole(columns: Mapping[str, Any], name: str, where: str) -> int | None:
    """A whole number, also one of NumPy or Torch: those have __index__, fractions have not."""
    value = columns.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{where}.{name}: expected a whole number, found {type(value).__name__}")
    return int(value)
