"""RETURN, returns and exchanges: the line that the customer means goes back, is exchanged, or must not be.

Belongs here: the grading of RETURN and what the customer tells. Drawing a goal is in `returns_making`, the
score is `scores.orders`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shopsim_env.rlve.choosing.choice import Choice
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.customer.needs import Brief, Need, Revision
from shopsim_env.rlve.envs.base import (
    Heard,
    Setting,
    Task,
    category_filter,
    category_words,
    constraint_need,
    left_out,
    questions_for,
)
from shopsim_env.rlve.envs.returns_words import RETURN_WORDS
from shopsim_env.rlve.envs.told_orders import Candidate, Description, told_need
from shopsim_env.rlve.fact_model import Category
from shopsim_env.rlve.overlay import Exchange
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.reward import UsedIds
from shopsim_env.rlve.scores.common import UNANSWERED, TaskScore
from shopsim_env.rlve.scores.orders import ReturnGoal, ReturnOutcome, score_return
from shopsim_env.rlve.scores.ranking import Substitute, score_substitution


@dataclass(frozen=True, slots=True)
class Terms:
    """Reason and method of a plain return; the method may have been another one before a change of mind."""

    reason: str
    method: str
    method_before: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the customer wants instead; `before` is the first constraint before a change of mind."""

    choice: Choice
    before: Constraint | None

    def constraints(self, revised: bool) -> tuple[Constraint, ...]:
        """Those in force."""
        own = self.choice.constraints
        return own if self.before is None or revised else (self.before, *own[1:])


@dataclass(frozen=True, slots=True)
class Plea:
    """What the customer asks for.

    Args:
        meant: The line.
        category: Its category, as the customer names it.
        alike: Lines of the history of this category whose goods have the same window, the meant one included.
        description: Facts that it fits alone.
        refusal: Code of the shop's rule that forbids it, None when it may go back.
        terms: Of a plain return; None where any will do.
        replacement: Of an exchange, else None.
    """

    meant: Candidate
    category: Category
    alike: int
    description: Description
    refusal: str | None
    terms: Terms | None
    replacement: Replacement | None


class GoodsReturn(Task):
    """A goal of returning or exchanging one line."""

    env_id = "RETURN"
    best_score = 1.0

    def __init__(self, setting: Setting, plea: Plea, other_turns: int) -> None:
        self._setting = setting
        self._plea = plea
        self._line = (plea.meant.order.id, plea.meant.lines[0].id)
        self.turn_budget = setting.axes.T_max
        self.brief = self._brief(other_turns)
        questions = questions_for(len(self.brief.pending))
        self.least_turns = max(1, questions) + other_turns
        self.least_charged = self.least_turns - max(questions, int(self.brief.revision is not None))

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """Line, action, and replacement or reason (`score_return`)."""
        if answer is None:
            return UNANSWERED
        overlay, plea = self._setting.overlay, self._plea
        named = (str(answer.selected_order_id), str(answer.selected_line_id))
        outcome = ReturnOutcome(
            named=named,
            started=overlay.returned(),
            checked=frozenset(overlay.checked),
            reason=answer.refusal_reason,
            replacement=self._replaced(heard.revised),
            as_asked=self._as_asked(heard.revised),
        )
        return score_return(outcome, ReturnGoal(self._line, plea.refusal, plea.replacement is not None))

    def used(self, answer: Answer | None) -> UsedIds:
        """The final list and every id that was named to an exchange."""
        listed = answer.recommended_product_ids if answer else ()
        return UsedIds(recommended=listed, exchanged=tuple(self._setting.overlay.exchanged))

    def forced_chance(self) -> Fraction:
        """1 / lines of the category with its window: what is left to a guess that does all the rest.

        Each of them is as likely, whatever the shop says of it; terms and wishes can be asked for.
        """
        return Fraction(1, self._plea.alike)

    def goal(self) -> dict[str, Any]:
        """Line, right outcome, terms or the constraints on the replacement."""
        plea, setting = self._plea, self._setting
        terms, replacement = plea.terms, plea.replacement
        return {
            "order_id": self._line[0],
            "line_id": self._line[1],
            "refusal": plea.refusal,
            "reason_code": terms.reason if terms else None,
            "method": terms.method if terms else None,
            "replacement": [
                one.text(setting.language, setting.families) for one in replacement.choice.constraints
            ]
            if replacement
            else None,
        }

    def _as_asked(self, revised: bool) -> bool:
        """Whether what was started is what was asked for: an exchange, or a return on the told terms."""
        overlay, terms = self._setting.overlay, self._plea.terms
        if self._plea.replacement is not None:
            return any((one.order_id, one.line_id) == self._line for one in overlay.exchanges)
        if overlay.exchanges or terms is None:
            return not overlay.exchanges
        method = terms.method if revised else terms.method_before
        return all((one.reason, one.method) == (terms.reason, method) for one in overlay.returns)

    def _replaced(self, revised: bool) -> TaskScore | None:
        """Quality of the product that the line was exchanged for: substitution with one place."""
        overlay, replacement = self._setting.overlay, self._plea.replacement
        made = next((one for one in overlay.exchanges if (one.order_id, one.line_id) == self._line), None)
        if made is None or replacement is None:
            return None
        constraints = replacement.constraints(revised)
        candidates = {"any": Substitute(0, len(constraints), len(constraints), in_stock=True)}
        candidates[str(made.new)] = self._substitute(made, constraints)
        weight = Fraction(self._setting.task_axes.sub_lambda)
        found = score_substitution(
            [str(made.new)], candidates, original=str(made.old), k=1, similarity_weight=weight
        )
        return TaskScore(found.parts["rank"], found.success, found.parts)

    def _substitute(self, made: Exchange, constraints: Sequence[Constraint]) -> Substitute:
        """The new product; the shop exchanges for what is in stock. One of another category meets nothing."""
        facts, category = self._setting.overlay.shelf.item(made.new).facts, self._plea.category
        alike = category.number <= facts.category <= category.last
        met = sum(one.met(facts) for one in constraints) if alike else 0
        return Substitute(0, met, len(constraints), in_stock=True)

    def _brief(self, other_turns: int) -> Brief:
        setting, plea = self._setting, self._plea
        words = RETURN_WORDS[setting.language]
        needs = [
            told_need(setting, f"d{at}", fact, of_line=True) for at, fact in enumerate(plea.description.facts)
        ]
        revision = None
        if plea.terms is not None:
            terms = plea.terms
            needs += [
                self._term("reason", "reason_code", terms.reason),
                self._term("method", "method", terms.method_before),
            ]
            if terms.method != terms.method_before:
                revision = Revision(self._term("method", "method", terms.method))
        if plea.replacement is not None:
            wishes = [
                self._wish(at, one) for at, one in enumerate(plea.replacement.constraints(revised=False))
            ]
            needs += wishes
            if plea.replacement.before is not None:
                revision = Revision(self._wish(0, plea.replacement.choice.constraints[0]))
        category = category_words(plea.category, setting.language)
        wish = "exchange" if plea.replacement else "return" if plea.terms else "any return"
        filters = category_filter(plea.category)
        kept = {revision.need.id} if revision else set()
        return Brief(
            env_id=self.env_id,
            request=words[wish].format(category=category),
            needs=tuple(needs),
            pending=left_out(setting, [need for need in needs if need.id not in kept], other_turns),
            revision=revision,
            data={"item_filters": filters, "filters": filters, "replacement": plea.replacement is not None},
            keep=(category,),
        )

    def _term(self, name: str, key: str, code: str) -> Need:
        words = RETURN_WORDS[self._setting.language]
        return Need(
            id=name,
            kind=name,
            value=words[name].format(words[code]),
            topics=frozenset({name}),
            data={key: code},
        )

    def _wish(self, at: int, one: Constraint) -> Need:
        return constraint_need(self._setting, f"r{at}", one, RETURN_WORDS[self._setting.language]["new"])
