"""Goals, witnesses and evidence: what an agent must never see.

Only reward, episode (`shop`), release opening and pipeline code may import this module (import rule in
pyproject.toml). Types here never print their content.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from shopsim_env.cache import BoundedCache
from shopsim_env.canonical import compact_json
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.errors import ReleaseError, UnknownTaskError
from shopsim_env.sqlite import ReadOnlyDatabase

if TYPE_CHECKING:
    from shopsim_env.reward.evidence import PurchaseEvidence

_KEPT_GOALS = 4_096
GRADES = ("W1", "W2", "W3")


@dataclass(frozen=True, slots=True, repr=False)
class Goal:
    """The private target of one task.

    `attributes` and `options` hold the non-blank targets; `budget_upper` is the inclusive ceiling in yuan by
    the seed's precedence (annotation, simple text, full text) or None; `product` is the gold product.
    """

    task_id: int
    task_uid: str
    product: Product
    instruction: str
    instruction_simple: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    budget_kind: str
    budget_upper: Decimal | None
    has_persona: bool

    def __repr__(self) -> str:
        return f"Goal(task_id={self.task_id}, ...)"


@dataclass(frozen=True, slots=True, repr=False)
class Witness:
    """How one task was won in one mode by somebody who knows its goal, or why it was not (contract 7.7).

    `mode` is "standard", or "persona" for persona tasks, which have both. `grades` are those of `GRADES` that
    hold: W1, `actions` reach r_success = 1; W2, a text that the mode shows finds the gold product among the
    best 150; W3, every graded fact follows from what the mode shows. `found_by` names the text that `actions`
    search: "text" or "searches" (of the persona), which the mode shows, or "full" or "title", which it does
    not. `actions` are canonical texts, empty without W1; then `reason` is a code, else "".
    """

    task_id: int
    mode: str
    grades: tuple[str, ...]
    found_by: str
    reason: str
    actions: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Witness(task_id={self.task_id}, mode={self.mode!r}, ...)"

    def as_line(self) -> str:
        """One line of `private/witnesses.jsonl`, without its end."""
        return compact_json({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_line(cls, line: str | bytes) -> "Witness":
        """The inverse of `as_line`."""
        stored = json.loads(line)
        return cls(**{**stored, "grades": tuple(stored["grades"]), "actions": tuple(stored["actions"])})


class PrivateRelease:
    """The goals and witnesses of a release, by task id, read on demand."""

    def __init__(self, path: Path, catalog: CatalogStore, witnesses: Path) -> None:
        """Opens the goals file `path` and borrows `catalog`; the file `witnesses` is opened when needed."""
        self._database = ReadOnlyDatabase(path)
        self._catalog = catalog
        self._kept: BoundedCache[int, Goal] = BoundedCache(_KEPT_GOALS)
        self._witnesses = witnesses
        self._places: dict[tuple[int, str], int] | None = None

    def goal(self, task_id: int) -> Goal:
        """The goal of one task.

        Raises:
            UnknownTaskError: the task is not active in this release.
        """
        goal = self._kept.get(task_id)
        if goal is None:
            goal = self._read(task_id)
            self._kept.put(task_id, goal)
        return goal

    def _read(self, task_id: int) -> Goal:
        rows = self._database.rows(
            "SELECT task_id, task_uid, asin, instruction, instruction_simple, attributes, options, "
            "price_upper, has_persona FROM goal WHERE task_id = ?",
            (task_id,),
        )
        if not rows:
            raise UnknownTaskError(f"task {task_id} has no goal in this release")
        # Not at import: opening a release needs no budgets, and their grammar is the larger part.
        from shopsim_env.tasks.budget import task_budget

        row = rows[0]
        budget = task_budget(row[4], row[3], row[7])
        return Goal(
            task_id=row[0],
            task_uid=row[1],
            product=self._catalog.product(row[2]),
            instruction=row[3],
            instruction_simple=row[4],
            attributes=tuple(json.loads(row[5])),
            options=tuple(json.loads(row[6])),
            budget_kind=budget.kind,
            budget_upper=budget.upper,
            has_persona=bool(row[8]),
        )

    def explain(
        self, task_id: int, asin: str, selected: Mapping[str, str], *, option_match: str = "anchored"
    ) -> "PurchaseEvidence":
        """Why a purchase was scored as it was, with the smallest change that flips each component.

        Args:
            task_id: The task that was played.
            asin: The bought product.
            selected: Axis name to chosen value, as in `info["purchase"]["selected_options"]`.
            option_match: The rule that the episode was scored by.

        Raises:
            UnknownTaskError: the task is not active in this release.
            UsageError: unknown product, axis, value or option rule.
        """
        # Not at import: evidence is made after the end and needs every reward rule.
        from shopsim_env.reward.evidence import explain_purchase
        from shopsim_env.shop.pages import public_selection

        product = self._catalog.product(asin)
        chosen = public_selection(product, selected)
        return explain_purchase(product, chosen, self.goal(task_id), option_match=option_match)

    def goals(self) -> Iterator[Goal]:
        """Every goal in ascending task id."""
        rows = self._database.rows("SELECT task_id FROM goal ORDER BY task_id")
        return (self.goal(row[0]) for row in rows)

    def witness(self, task_id: int, mode: str) -> Witness:
        """The witness of one task in one mode; persona mode shows standard tasks as standard mode does.

        Raises:
            UnknownTaskError: the task is not active in this release, or there is no such mode.
            ReleaseError: the release is staged and has no witnesses yet.
        """
        if self._places is None:
            self._places = {(witness.task_id, witness.mode): place for place, witness in self._lines()}
        place = self._places.get((task_id, mode))
        if place is None and mode == "persona":
            place = self._places.get((task_id, "standard"))
        if place is None:
            raise UnknownTaskError(f"task {task_id}, mode {mode!r}: no witness in this release")
        with self._witnesses.open("rb") as stream:
            stream.seek(place)
            return Witness.from_line(stream.readline())

    def witnesses(self) -> Iterator[Witness]:
        """Every witness in ascending task id, persona before standard mode; read as a stream."""
        return (witness for _, witness in self._lines())

    def _lines(self) -> Iterator[tuple[int, Witness]]:
        """Place in the file and witness."""
        if not self._witnesses.is_file():
            raise ReleaseError(f"{self._witnesses}: expected the witnesses of the release, found none.")
        with self._witnesses.open("rb") as stream:
            place = 0
            for line in stream:
                yield place, Witness.from_line(line)
                place += len(line)

    def close(self) -> None:
        """Closes the goals file."""
        self._kept.clear()
        self._database.close()

    def __repr__(self) -> str:
        return "PrivateRelease(...)"
