"""Kinds of tasks that figures are split by: audit, witness grades, budget, options, domain.

Belongs here: which stratum a task is in. From the public side that is what labels and public texts say and
`unknown` for the rest, which is never guessed. With the private part, which a caller asks for by name, the
classes of goals and witnesses are used; texts, ids and single tasks never leave this module.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from shopsim_env.catalog.domain import domains_of
from shopsim_env.errors import UnknownTaskError
from shopsim_env.evaluation.settings import UNKNOWN, short
from shopsim_env.release import Release
from shopsim_env.release.layout import CATALOG
from shopsim_env.tasks.budget import task_budget
from shopsim_env.tasks.model import Task

PUBLIC, PRIVATE = "public", "private"
OTHER: Final = "other"
DIMENSIONS: Final = ("audit", "W1", "W2", "W3", "budget", "options", "domain")
_GRADES: Final = ("W1", "W2", "W3")
_GRADED: Final = ("options", "attributes", "budget")
_MOST_OPTIONS: Final = 3
_FEW_TASKS: Final = 5

Strata = Mapping[str, str]


class OfTask(Protocol):
    """Anything that belongs to a task: a result, or a pair of results."""

    @property
    def task(self) -> str:
        """Task id as text."""

    @property
    def group(self) -> tuple[str, ...]:
        """Task mode and interaction mode."""


_Item = TypeVar("_Item", bound=OfTask)


class TaskStrata:
    """The strata of a release's tasks.

    Args:
        release: The release that was played.
        source: `public`, or `private` to read goals and witnesses.

    Raises:
        ReleaseError: `private` of a public copy (code `public_copy`).
    """

    def __init__(self, release: Release, source: str = PUBLIC) -> None:
        self.source = source
        self._release = release
        self._private = release.private() if source == PRIVATE else None
        self._kept: dict[tuple[str, str], Strata] = {}

    def of(self, task: str, mode: str) -> Strata:
        """Dimension to stratum of one task in a task mode; `unknown` for a task that the release lacks."""
        if (task, mode) not in self._kept:
            try:
                found = self._found(self._release.tasks[int(task)], mode)
            except UnknownTaskError:
                found = {}
            self._kept[task, mode] = {name: found.get(name, UNKNOWN) for name in DIMENSIONS}
        return self._kept[task, mode]

    def split(self, items: Sequence[_Item]) -> dict[str, dict[str, list[_Item]]]:
        """Dimension to stratum to items, both in a fixed order."""
        found: dict[str, dict[str, list[_Item]]] = {name: defaultdict(list) for name in DIMENSIONS}
        for item in items:
            for name, stratum in self.of(item.task, item.group[0]).items():
                found[name][stratum].append(item)
        if self.source == PRIVATE:
            found["domain"] = _folded(found["domain"])
        return {name: dict(sorted(strata.items(), key=_last_unknown)) for name, strata in found.items()}

    def _found(self, task: Task, mode: str) -> dict[str, str]:
        found = _public(task, mode)
        if self._private is None:
            return found
        goal = self._private.goal(task.task_id)
        if mode in ("persona", "standard"):
            grades = self._private.witness(task.task_id, mode).grades
            found |= {name: _yes(name in grades) for name in _GRADES}
        return found | {
            "budget": goal.budget_kind,
            "options": _bucket(len(goal.options)),
            "domain": short(domains_of(self._release.path / CATALOG, [goal.product.asin])[goal.product.asin]),
        }


def _public(task: Task, mode: str) -> dict[str, str]:
    """What labels say, and the budget of a standard task, whose whole text is public."""
    shown = mode if task.has_persona else "standard"
    labels = {
        kind: label.partition("=")[2]
        for kind in _GRADED
        for label in task.labels
        if label.startswith(f"{shown}/{kind}=")
    }
    found = {"audit": "quarantined" if "quarantined" in task.labels else "clean"}
    if len(labels) == len(_GRADED):
        found["W3"] = _yes("underivable" not in labels.values())
    if labels.get("options") == "not_graded":
        found["options"] = _bucket(0)
    if task.instruction is not None:
        found["budget"] = task_budget(task.instruction_simple, task.instruction).kind
    return found


def measured(
    strata: TaskStrata, items: Sequence[_Item], measure: Callable[[list[_Item]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Rows of `dimension`, `stratum` and what `measure` says of its items."""
    return [
        {"dimension": name, "stratum": stratum, **measure(members)}
        for name, parts in strata.split(items).items()
        for stratum, members in parts.items()
    ]


def _folded(strata: dict[str, list[_Item]]) -> dict[str, list[_Item]]:
    """Domains of few tasks become one: such figures say little, and would tell the domain of a task."""
    kept: dict[str, list[_Item]] = defaultdict(list)
    for name, items in strata.items():
        kept[name if len({item.task for item in items}) >= _FEW_TASKS else OTHER] += items
    return kept


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _bucket(options: int) -> str:
    return str(options) if options < _MOST_OPTIONS else f"{_MOST_OPTIONS}+"


def _last_unknown(item: tuple[str, Any]) -> tuple[bool, bool, str]:
    return item[0] == UNKNOWN, item[0] == OTHER, item[0]
