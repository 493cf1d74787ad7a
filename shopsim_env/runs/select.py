"""Which episodes of a run are shown, and in which order: search, filters, sort.

Belongs here: the choice among rows. Paging is a slice of the answer.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.runs.rows import Row

_Key = Callable[[Row], Any]
SORTS: Final[dict[str, _Key]] = {
    "task": lambda row: (row.world, row.task_id, _first(row.sample_id), row.episode_id),
    "reward": lambda row: _first(row.reward),
    "steps": lambda row: row.steps,
    "invalid": lambda row: _first(row.invalid),
    "duration": lambda row: _first(row.duration_ms),
    "tokens": lambda row: row.tokens[-1] if row.tokens else -1,
    "file": lambda row: row.offset,
}
SUCCESSES: Final = ("yes", "no")
_SUCCESS: Final = 2  # place of r_success among the components


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to see. None means any.

    `find` is looked for in episode id, task, instruction, error and termination reason, whatever the case.
    """

    find: str = ""
    status: str | None = None
    reason: str | None = None
    success: str | None = None
    sort: str = "task"
    descending: bool = False


def chosen(rows: Sequence[Row], wish: Wish) -> list[int]:
    """Places in `rows` of the episodes that fit, in the wished order; equal ones as in a sort by task."""
    needle = wish.find.strip().casefold()
    places = [place for place, row in enumerate(rows) if _fits(row, wish) and _found(row, needle)]
    places.sort(key=lambda place: SORTS["task"](rows[place]))
    if wish.sort != "task" or wish.descending:
        key = SORTS[wish.sort]
        places.sort(key=lambda place: key(rows[place]), reverse=wish.descending)
    return places


def succeeded(row: Row) -> bool | None:
    """Whether `r_success` is 1; None for an episode without a result."""
    if row.components is None or row.components[_SUCCESS] is None:
        return None
    return row.components[_SUCCESS] == 1


def sample_ids(episodes: Iterable[tuple[Hashable, int | None]]) -> list[int]:
    """The sample id of each episode of a run; one without gets the first that is free in its task, in order.

    Args:
        episodes: Task and sample id of each, in the order of the file.
    """
    listed = list(episodes)
    taken = set(listed)
    following: Counter[Hashable] = Counter()
    found = []
    for task, sample in listed:
        while sample is None:
            if (task, following[task]) not in taken:
                sample = following[task]
            following[task] += 1
        found.append(sample)
    return found


def _first(value: float | None) -> float:
    """Unknown values come before all others."""
    return float("-inf") if value is None else value


def _fits(row: Row, wish: Wish) -> bool:
    return (
        (wish.status is None or row.status == wish.status)
        and (wish.reason is None or row.reason == wish.reason)
        and (wish.success is None or succeeded(row) is (wish.success == "yes"))
    )


def _found(row: Row, needle: str) -> bool:
    if not needle:
        return True
    if needle.isdecimal() and needle.isascii():
        # A number is a task id first of all; as text it may still be in an episode id.
        return str(row.task_id) == needle or needle in row.episode_id
    fields = (row.episode_id, row.task, row.instruction, row.error, row.reason)
    return any(needle in field.casefold() for field in fields)
