"""The one task of a product: texts, targets, the right reading of its budget and the recorded annotation.

Joins goods, options and budgets; what is planted here: blank or empty targets, conflicting budgets, a gold
price above the ceiling.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.stages.sample import faults
from pipelines.stages.sample.budget_phrases import Phrase, phrase
from pipelines.stages.sample.budgets import Budget, ceiling_below, choose_budget, other_amount
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.goods import Facts
from pipelines.stages.sample.instructions import full_instruction, simple_instruction
from pipelines.stages.sample.option_faults import has_sibling
from pipelines.stages.sample.options import OptionsDraft
from pipelines.stages.sample.plan import RecordPlan


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task with its budget. `source_field` names the text that decides the budget by the precedence."""

    simple: str | None
    full: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    worker: str
    budget: Budget
    evidence: str
    source_field: str
    winnable: bool


def make_task(plan: RecordPlan, facts: Facts, options: OptionsDraft) -> TaskDraft:
    """The task of one product."""
    rng = seeded(f"{plan.seed}:task")
    budget = _budget(rng, plan, options)
    in_simple, in_full = _places(plan)
    simple_phrase = phrase(rng, budget, facts.kind.unit) if in_simple else Phrase("", "")
    told = other_amount(rng, budget) if plan.fault == faults.BUDGET_CONFLICT else budget
    full_phrase = phrase(rng, told, facts.kind.unit) if in_full else Phrase("", "")
    simple = simple_instruction(rng, facts, options.axes, simple_phrase.text) if plan.has_persona else None
    full = full_instruction(rng, facts, options.axes, full_phrase.text)
    from_simple = bool(simple_phrase.evidence) and budget.upper is not None
    return TaskDraft(
        simple=simple,
        full=full,
        attributes=_attributes(rng, plan, facts),
        options=_options(rng, options),
        worker=str(rng.randrange(32)),
        budget=budget,
        evidence=simple_phrase.evidence if from_simple else full_phrase.evidence,
        source_field="instruction_simple" if from_simple else "instruction",
        winnable=not _unwinnable(plan),
    )


def _budget(rng: random.Random, plan: RecordPlan, options: OptionsDraft) -> Budget:
    price = options.gold_price
    if plan.fault == faults.GOLD_ABOVE_BUDGET:
        return ceiling_below(rng, price)
    # Nobody budgets for a placeholder: the text speaks of what such goods cost.
    return choose_budget(rng, plan.family, price or options.usual_price)


def _places(plan: RecordPlan) -> tuple[bool, bool]:
    """Whether the budget stands in the simple text, and whether in the full one."""
    if not plan.has_persona:
        return False, True
    return plan.budget_place in ("both", "simple"), plan.budget_place in ("both", "full")


def _attributes(rng: random.Random, plan: RecordPlan, facts: Facts) -> tuple[str, ...]:
    if plan.fault == faults.BLANK_ATTRIBUTES:
        return ("",) if plan.fault_number % 2 else (" ",)
    if plan.fault == faults.ATTRIBUTES_EMPTY:
        return ()
    texts = [tag.text for tag in facts.tags]
    if len(texts) > 3 and rng.random() < 0.02:
        return tuple(texts[:-1])
    return tuple(texts)


def _options(rng: random.Random, options: OptionsDraft) -> tuple[str, ...]:
    """Wanted values as a flat list whose order says nothing about the axes."""
    wanted = [axis.target.raw for axis in options.axes]
    rng.shuffle(wanted)
    return tuple(wanted)


def _unwinnable(plan: RecordPlan) -> bool:
    return plan.fault in faults.UNWINNABLE or has_sibling(plan)


def raw_instruction(asin: str, task: TaskDraft) -> dict[str, Any]:
    """The task in the raw schema."""
    options = list(task.options)
    return {
        "asin": asin,
        "instruction": task.full,
        "instruction_simple": task.simple,
        "attributes": list(task.attributes),
        "instruction_options": options,
        "options": list(options),
        "worker_id": task.worker,
    }


def truth_budget(task: TaskDraft) -> dict[str, Any]:
    """The right reading of the task's budget: family, kind, amount, ceiling, deciding text."""
    budget = task.budget
    return {
        "family": budget.family,
        "kind": budget.kind,
        "amount": None if budget.upper is None else float(budget.amount or 0),
        "upper": None if budget.upper is None else float(budget.upper),
        "source_field": task.source_field,
    }


def annotation(task: TaskDraft, identity: dict[str, Any], version: str) -> dict[str, Any]:
    """The recorded price annotation of a persona task in the published audit format."""
    budget = task.budget
    approximate = budget.kind == "approximate_upper"
    return {
        **identity,
        "kind": budget.kind,
        "amount": None if budget.upper is None else float(budget.amount or 0),
        "evidence": "" if budget.kind == "no_budget" else task.evidence,
        "source_field": task.source_field,
        "price_upper": None if budget.upper is None else float(budget.upper),
        "annotation_version": version,
        "approximate_upper_multiplier": 1.1 if approximate else None,
    }


def fallback_annotation(identity: dict[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    """The record of a task that is left to the run-time parser: all values empty, reason named."""
    return {
        **identity,
        "kind": "runtime_regex_fallback",
        "amount": None,
        "evidence": "",
        "source_field": "runtime_regex",
        "price_upper": None,
        "annotation_version": "runtime-regex-fallback-v1",
        "approximate_upper_multiplier": None,
        "fallback_reason": "explicitly_ignored_llm_failure",
        "missing_source_field": missing[0],
    }
