"""BUNDLE, bundle planning: one product for each of several categories, within a budget.

Belongs here: the goal of BUNDLE and its grading. The score is `scores.goods`, the draw of each category's
constraints `choosing.choice`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, Final

from shopsim_env.rlve.choosing.choice import Choice
from shopsim_env.rlve.choosing.constraint import decimal_text
from shopsim_env.rlve.customer.needs import Brief, Need, Revision
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import (
    Heard,
    Setting,
    Task,
    category_filter,
    constraint_need,
    left_out,
    questions_for,
    turns_for,
)
from shopsim_env.rlve.envs.goods import loosened
from shopsim_env.rlve.envs.slots import (
    WHOLE_UNIT,
    binds,
    budget_for,
    cheapest,
    draw_slots,
    optimum_of,
    slot_limits,
    slot_names,
)
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.goods import BundlePick, score_bundle

# An earlier budget is larger by a share from this range, in per cent.
_LARGER: Final = (20, 60)
_PROJECTS: Final = {
    "zh": ("搬新家", "公司年会", "周末聚会", "开学准备", "节日礼物", "家里换季", "社区义卖", "小店开业"),
    "en": (
        *("moving house", "the company's annual party", "a weekend get-together", "the new term"),
        *("holiday presents", "the change of season", "a charity sale", "the opening of a small shop"),
    ),
}
_REQUEST: Final = {
    "zh": "我在为“{project}”采购，下面{n}类商品每类买一件：{slots}。"
    "请每类只推荐一款，都要有货，总价在预算之内",
    "en": 'I am shopping for "{project}" and need one product from each of these {n} categories: {slots}. '
    "Please recommend exactly one for each, all in stock, with the total within my budget",
}
_JOIN: Final = {"zh": "、", "en": "; "}
_PREFIX: Final = {"zh": "{slot}：", "en": "{slot}: "}
_BUDGET: Final = {"zh": "总预算不超过{}元", "en": "a total budget of at most {}"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Slots and budget at one time of an episode."""

    slots: tuple[Choice, ...]
    budget: int


class Bundle(Task):
    """A goal of bundle planning: `plan`, and what it was before the customer changed its mind."""

    env_id = "BUNDLE"
    best_score = 1.0

    def __init__(self, setting: Setting, project: str, plan: Plan, before: Plan | None) -> None:
        self._setting = setting
        self._project = project
        self._plan = plan
        self._before = before
        self._names = slot_names([slot.pool for slot in plan.slots])
        self.turn_budget = setting.axes.T_max
        searches = turns_for(len(plan.slots), setting.axes.B_tool)
        self.brief = self._brief(searches)
        # A new budget alone makes no search necessary; a slot's new constraint may repeat one.
        again = before is not None and before.slots != plan.slots
        self.least_turns = max(questions_for(len(self.brief.pending)), int(again)) + searches + 1
        self.least_charged = searches + 1

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """The score of the picks by the slots and the budget that were in force."""
        plan = self._in_force(heard)
        picks = [self._pick(name, plan) for name in (answer.recommended_product_ids if answer else ())]
        return score_bundle(picks, self._names, plan.budget)

    def forced_chance(self) -> Fraction:
        """Chance that a product drawn from each category fits, whatever the budget."""
        slots = self._plan.slots
        return prod((Fraction(len(slot.feasible), len(slot.pool)) for slot in slots), start=Fraction(1))

    def goal(self) -> dict[str, Any]:
        """Slots with their constraints and cheapest fitting products, and the budget."""
        families, language = self._setting.families, self._setting.language
        ids = self._setting.overlay.ids
        return {
            "project": self._project,
            "slots": [
                {
                    "category": list(slot.pool.category.levels),
                    "constraints": [item.text(language, families) for item in slot.constraints],
                    "cheapest": ids.product_id(cheapest(slot).number),
                    "feasible": len(slot.feasible),
                }
                for slot in self._plan.slots
            ],
            "budget": decimal_text(self._plan.budget),
            "cheapest_total": decimal_text(optimum_of(self._plan.slots)),
        }

    def _in_force(self, heard: Heard) -> Plan:
        return self._plan if self._before is None or heard.revised else self._before

    def _pick(self, name: str, plan: Plan) -> BundlePick:
        """What a recommended id is: products of no slot, and unknown ids, cover nothing."""
        overlay = self._setting.overlay
        number = overlay.ids.number(name)
        if number is None:
            return BundlePick(None, 0, fits=False)
        facts = overlay.shelf.item(number).facts
        for slot, called in zip(plan.slots, self._names, strict=True):
            if slot.pool.find(number) is not None:
                fits = overlay.stock.in_stock(number) and all(item.met(facts) for item in slot.constraints)
                return BundlePick(called, facts.price_low or 0, fits and facts.price_low is not None)
        return BundlePick(None, facts.price_low or 0, fits=False)

    def _brief(self, searches: int) -> Brief:
        setting, plan = self._setting, self._before or self._plan
        needs = self._needs(plan)
        revision = None
        if self._before:
            old = {need.id: need for need in needs}
            revision = Revision(next(need for need in self._needs(self._plan) if need != old[need.id]))
        kept = {revision.need.id} if revision else set()
        language = setting.language
        return Brief(
            env_id=self.env_id,
            request=_REQUEST[language].format(
                project=self._project, n=len(plan.slots), slots=_JOIN[language].join(self._names)
            ),
            needs=tuple(needs),
            pending=left_out(setting, [need for need in needs if need.id not in kept], searches + 1),
            revision=revision,
            data={
                "slots": [category_filter(slot.pool.category) for slot in plan.slots],
                "project": self._project,
            },
            keep=tuple(self._names),
        )

    def _needs(self, plan: Plan) -> list[Need]:
        setting = self._setting
        amount = decimal_text(plan.budget)
        said = _BUDGET[setting.language].format(amount)
        needs = [Need("budget", "budget", said, frozenset({"budget"}), data={"budget": float(amount)})]
        for place, (slot, called) in enumerate(zip(plan.slots, self._names, strict=True)):
            prefix = _PREFIX[setting.language].format(slot=called)
            for at, item in enumerate(slot.constraints):
                need = constraint_need(setting, f"s{place}c{at}", item, prefix)
                needs.append(replace(need, data={"slot": place, **need.data}, keep=(called, *need.keep)))
        return needs


def make(setting: Setting) -> Task:
    """Draws a goal of bundle planning.

    Raises:
        UsageError: too few categories in which constraints bind (code `no_choice`).
    """
    draws = setting.draws.fork("bundle")
    slots = draw_slots(setting, draws, slot_count(setting))
    plan = Plan(slots, budget_for(optimum_of(slots), setting.task_axes.slack))
    switches = draws.chance(setting.axes.p_switch)
    before = _earlier(setting, plan, draws.fork("revision")) if switches else None
    return Bundle(setting, draws.pick(_PROJECTS[setting.language]), plan, before)


def slot_count(setting: Setting) -> int:
    """Slots at this difficulty; fewer where their searches and the answer would not fit into the turns."""
    room = (setting.axes.T_max - 1) * setting.axes.B_tool
    return max(1, min(setting.task_axes.bundle_categories, room))


def _earlier(setting: Setting, plan: Plan, draws: Draws) -> Plan | None:
    """The plan before a change of mind: a larger budget, or a wider constraint of one slot.

    A slot changes only where there are turns to search it again.
    """
    larger = plan.budget * (100 + draws.between(*_LARGER)) // 100 // WHOLE_UNIT * WHOLE_UNIT
    larger = max(larger, plan.budget + WHOLE_UNIT)
    budget = Plan(plan.slots, larger)
    searches = turns_for(len(plan.slots), setting.axes.B_tool)
    if draws.chance(0.5) or setting.axes.T_max < searches + 2:
        return budget
    for place in draws.shuffled(range(len(plan.slots))):
        slot = plan.slots[place]
        limits = slot_limits(setting, slot.pool, len(slot.constraints))
        wider = loosened(setting, slot, limits, draws)
        if wider is not None and binds(setting, wider):
            return Plan((*plan.slots[:place], wider, *plan.slots[place + 1 :]), plan.budget)
    return budget
