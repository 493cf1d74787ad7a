"""One active task as the audit sees it: its goal, its persona, and where the goal stands among the options.

Belongs here: reading cases from the cleaned archive and asking the runtime's own rules (budget, option match,
price) about them. What is wrong with a case is decided in the modules of the families.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.stages.task_tables import targets
from shopsim_env.catalog.product import Product
from shopsim_env.private import Goal
from shopsim_env.shop.oracle import Plan, option_candidates, plan_options
from shopsim_env.shop.pages import OfferedAxis, offered_axes
from shopsim_env.tasks.budget import task_budget
from shopsim_env.tasks.persona import project_persona

Place = tuple[int, int]


@dataclass(frozen=True, repr=False)
class Case:
    """One active task. Everything here is private: the type never prints it.

    `instruction` is the cleaned record of the task, `raw_persona` the persona as the source has it.
    """

    goal: Goal
    instruction: Mapping[str, Any]
    raw_persona: Mapping[str, Any] | None

    def __repr__(self) -> str:
        return f"Case(task_id={self.goal.task_id}, ...)"

    @property
    def task_id(self) -> int:
        """Id of the task."""
        return self.goal.task_id

    @cached_property
    def persona(self) -> dict[str, Any] | None:
        """The persona that persona mode shows, None for standard tasks."""
        return project_persona(self.raw_persona, self.goal.product.asin) if self.raw_persona else None

    @cached_property
    def axes(self) -> tuple[OfferedAxis, ...]:
        """The axes that the page of the gold product offers."""
        return offered_axes(self.goal.product)

    @cached_property
    def plan(self) -> Plan:
        """The choice that meets the goal on its own product, or why there is none."""
        return plan_options(self.goal)

    @cached_property
    def fitting(self) -> tuple[tuple[Place, ...], ...]:
        """Per target option the (axis, value) places that meet it; empty where nothing does."""
        return tuple(tuple(option_candidates(option, self.axes, "anchored")) for option in self.goal.options)

    @cached_property
    def places(self) -> tuple[Place | None, ...]:
        """Per target option the place that the plan chooses, None where the option meets no value."""
        return tuple(self._place(places) for places in self.fitting)

    def _place(self, places: tuple[Place, ...]) -> Place | None:
        planned = [place for place in places if self.plan.chosen[place[0]] == place[1]]
        return next(iter(planned or places), None)


def iter_cases(cleaned: Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """Cases of all active tasks, in the order of the archive.

    Args:
        cleaned: Products of the cleaned v2 archive, as `cleaning.iter_cleaned` gives them.
    """
    for record in cleaned:
        instructions = record.get("instructions") or ()
        product = Product.from_record(record) if instructions else None
        for instruction in instructions:
            if product is not None:
                persona = record.get("user_persona") or None
                yield Case(_goal(product, instruction, persona is not None), instruction, persona)


def _goal(product: Product, instruction: Mapping[str, Any], has_persona: bool) -> Goal:
    simple, full = instruction.get("instruction_simple") or "", instruction["instruction"]
    budget = task_budget(simple, full, instruction.get("price_upper"))
    return Goal(
        task_id=instruction["task_id"],
        task_uid=instruction["task_uid"],
        product=product,
        instruction=full,
        instruction_simple=simple,
        attributes=tuple(targets(instruction, "attributes")),
        options=tuple(targets(instruction, "instruction_options")),
        budget_kind=budget.kind,
        budget_upper=budget.upper,
        has_persona=has_persona,
    )
