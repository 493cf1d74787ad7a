"""POLICY: a question about the shop's rules, answered with a typed value and the rule that decides.

Belongs here: the goal of POLICY and its grading. Rules and questions are drawn in `policy`, the score is in
`scores.policy`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.customer.needs import Brief, Need, Revision
from shopsim_env.rlve.envs.base import Heard, Setting, Task, left_out, questions_for, turns_for
from shopsim_env.rlve.policy.guessing import forced_chance
from shopsim_env.rlve.policy.questions import MAX_BRANCH, Fact, Question, make_question
from shopsim_env.rlve.policy.search import search
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import ASKED, SOURCES
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.policy import PolicyAnswer, score_policy

# Cases that are drawn until one can be looked up in the turns; by the published axes all can.
_TRIES: Final = 20
_CLOSED: Final = {
    "zh": "除了我说的和回答的，没有别的特殊情况",
    "en": "Apart from what I say and answer, nothing about my case is special",
}
# Next to a customer's own orders these would speak of other windows and fees than the shop's tools.
_OF_RETURNS: Final = frozenset({"return_window", "return_fee", "refund_time", "refund_share"})


class ShopRules:
    """The rules of an episode as the policy tool asks for them."""

    def __init__(self, base: PolicyBase) -> None:
        self._base = base

    def search(self, query: str, top_k: int, language: str) -> Sequence[Mapping[str, Any]]:
        """The best rules for a query."""
        return search(self._base, query, top_k, language)


class PolicyQuestion(Task):
    """A goal of POLICY."""

    env_id = "POLICY"
    best_score = 1.0

    def __init__(self, setting: Setting, base: PolicyBase, question: Question) -> None:
        self._setting = setting
        self._base = base
        self._question = question
        self._changes = setting.draws.chance(setting.axes.p_switch)
        self.turn_budget = setting.axes.T_max
        # The searches, and the answer.
        others = _searching(setting, question) + 1
        self.brief = self._brief(others)
        questions = questions_for(len(self.brief.pending))
        self.least_turns = questions + others
        # A change of mind comes with the first reply, whether a question or a search brought it.
        self.least_charged = self.least_turns - max(questions, int(self._changes))

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """The score of the typed answer and the cited rule, for the case as it was told last."""
        truth, rule = self._truth(heard)
        given = answer.policy_answer if answer else None
        return score_policy(given, truth, cited=answer.policy_rule_id if answer else None, rule=rule)

    def forced_chance(self) -> Fraction:
        """Chance of a guess that knows the subject's rules and reads no value of the case."""
        return forced_chance(self._base, self._question, revised=self._changes)

    def goal(self) -> dict[str, Any]:
        """The question, the answer before and after the change of mind, and the rules that decide."""
        question, change = self._question, self._question.revision
        return {
            "question": question.text(),
            "answer": _as_dict(question.answer),
            "rule": question.rule,
            "rules": list(question.rules),
            "changed": {"fact": change.fact.text, "answer": _as_dict(change.answer), "rule": change.rule}
            if self._changes
            else None,
        }

    def _truth(self, heard: Heard) -> tuple[PolicyAnswer, str | None]:
        change = self._question.revision
        return (change.answer, change.rule) if heard.revised else (self._question.answer, self._question.rule)

    def _brief(self, others: int) -> Brief:
        setting, question = self._setting, self._question
        needs = tuple(_need(fact) for fact in question.facts)
        change = question.revision.fact
        kept = {change.id} if self._changes else set()
        # A core ends with a question mark, or as half a sentence.
        stop = "。" if setting.language == "zh" else ". "
        if not question.core[-1].isalnum():
            stop = "" if setting.language == "zh" else " "
        return Brief(
            env_id=self.env_id,
            request=f"{question.core}{stop}{_CLOSED[setting.language]}",
            needs=needs,
            pending=left_out(setting, [need for need in needs if need.id not in kept], others),
            revision=Revision(_need(change)) if self._changes else None,
            data={"family": question.family, "question": question.core},
        )


def make(setting: Setting) -> Task:
    """Draws the shop's rules and a question that brings `B_branch` of them together.

    Raises:
        UsageError: no question of so many rules can be looked up in the turns (code `no_choice`).
    """
    draws = setting.draws.fork("policy")
    base = PolicyBase(draws, setting.overlay.currency)
    setting.overlay.policies = ShopRules(base)
    branch = min(MAX_BRANCH, setting.axes.B_branch)
    barred = _OF_RETURNS if setting.overlay.book.orders else frozenset()
    families = [code for code in ASKED if code not in barred]
    for attempt in range(_TRIES):
        question = make_question(base, branch, draws.fork(attempt), setting.language, families)
        if _searching(setting, question) + 1 <= setting.axes.T_max:
            return PolicyQuestion(setting, base, question)
    raise UsageError(
        f"expected a question of {branch} rules that can be looked up in {setting.axes.T_max} turns, found "
        "none; allow more turns or more calls in a turn",
        code="no_choice",
    )


def _searching(setting: Setting, question: Question) -> int:
    """Turns in which the subject's rules and those that define its classes are searched for."""
    defined = sum(fact.topic in SOURCES.values() for fact in question.facts)
    return turns_for(1 + defined, setting.axes.B_tool)


def _need(fact: Fact) -> Need:
    return Need(
        id=fact.id,
        kind="context",
        value=fact.text,
        topics=frozenset({fact.topic}),
        data={"topic": fact.topic, "value": fact.value},
    )


def _as_dict(answer: PolicyAnswer) -> dict[str, Any]:
    return {"kind": answer.kind, "value": str(answer.value), "currency": answer.currency}
