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
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.errors import UnknownTaskError
from shopsim_env.sqlite import ReadOnlyDatabase

if TYPE_CHECKING:
    from shopsim_env.reward.evidence import PurchaseEvidence

_KEPT_GOALS = 4_096


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


class PrivateRelease:
    """The goals of a release, by task id, read on demand."""

    def __init__(self, path: Path, catalog: CatalogStore) -> None:
        """Opens the goals file and borrows `catalog`."""
        self._database = ReadOnlyDatabase(path)
        self._catalog = catalog
        self._kept: BoundedCache[int, Goal] = BoundedCache(_KEPT_GOALS)

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

    def close(self) -> None:
        """Closes the goals file."""
        self._kept.clear()
        self._database.close()

    def __repr__(self) -> str:
        return "PrivateRelease(...)"
