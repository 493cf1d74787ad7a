"""Counts of witness grades by split and mode: what of the witnesses is public.

Belongs here: counting and comparing counts. Grade and reason of a single task stay private, because they tell
something about its gold product (docs/decisions/0019-witnesses.md).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from shopsim_env.private import GRADES, Witness

ALL_TASKS: Final = "all"
Shares = dict[str, dict[str, dict[str, Any]]]
"""Split to mode to counts: `tasks`, each grade, `all_grades`, `found_by` and `reasons` by code."""


def summarise_witnesses(witnesses: Iterable[Witness], splits: Mapping[str, Iterable[int]]) -> Shares:
    """Counts for every split and for `all` tasks.

    Args:
        witnesses: Consumed as a stream.
        splits: Split name to task ids.

    Returns:
        See `Shares`; a split without tasks of a mode has no such mode.
    """
    member_of: dict[int, list[str]] = {}
    for name in sorted(splits):
        for task_id in splits[name]:
            member_of.setdefault(task_id, []).append(name)
    counts: dict[str, dict[str, Counter[str]]] = {name: {} for name in (ALL_TASKS, *sorted(splits))}
    for witness in witnesses:
        facts = list(_facts(witness))
        for name in (ALL_TASKS, *member_of.get(witness.task_id, ())):
            counts[name].setdefault(witness.mode, Counter()).update(facts)
    return {
        name: {mode: _entry(found) for mode, found in sorted(modes.items())} for name, modes in counts.items()
    }


def _facts(witness: Witness) -> Iterator[str]:
    yield "tasks"
    yield from witness.grades
    if set(witness.grades) == set(GRADES):
        yield "all_grades"
    yield f"reasons {witness.reason}" if witness.reason else f"found_by {witness.found_by}"


def _entry(found: Counter[str]) -> dict[str, Any]:
    return {
        "tasks": found["tasks"],
        **{grade: found[grade] for grade in GRADES},
        "all_grades": found["all_grades"],
        "found_by": _part(found, "found_by "),
        "reasons": _part(found, "reasons "),
    }


def _part(found: Counter[str], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): found[name] for name in sorted(found) if name.startswith(prefix)}


def fallen_shares(now: Shares, before: Shares, tolerance: float) -> Iterator[str]:
    """Grades whose share of a split and mode is lower than `before` by more than `tolerance`.

    Splits and modes that only one of both has are not compared.
    """
    for name, modes in now.items():
        for mode, entry in modes.items():
            earlier = before.get(name, {}).get(mode)
            if earlier is not None:
                yield from _fallen(f"{name}, {mode}", entry, earlier, tolerance)


def _fallen(where: str, now: Mapping[str, Any], before: Mapping[str, Any], tolerance: float) -> Iterator[str]:
    for grade in GRADES:
        found, earlier = now[grade] / now["tasks"], before[grade] / before["tasks"]
        if found < earlier - tolerance:
            yield f"{where}: {grade} {found:.2%} of the tasks, {earlier:.2%} in the release before"
