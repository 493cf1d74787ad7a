"""Questions about the shop's rules: what is asked, facts of the case, the exact answer, a change of mind.

Belongs here: what a question offers its episode. Cases are drawn in `cases`; which facts the customer tells
when, and typing errors, are the dialogue's business.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shopsim_env.errors import UsageError
from shopsim_env.rlve.difficulty import MOST_RULES
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.cases import Case, compose, number_in
from shopsim_env.rlve.policy.evaluate import Decision
from shopsim_env.rlve.policy.phrases import CLOSING, CORES, STYLES
from shopsim_env.rlve.policy.plan import FamilyPlan
from shopsim_env.rlve.policy.rules import Condition, Rule, Value
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import (
    ASKED,
    DEFINING,
    FAMILIES,
    FLAGS,
    NUMBERS,
    SOURCES,
    check_language,
)
from shopsim_env.rlve.policy.wording import clause, core, sentence
from shopsim_env.rlve.scores.policy import YES_NO, PolicyAnswer

MAX_BRANCH = MOST_RULES
# Answers that many questions share are kept rare, so that none can be guessed.
_YES_NO_SHARE, _YES_NO_BRANCH = 0.02, 4
_UNCOVERED_SHARE, _UNCOVERED_BRANCH = 0.01, 2


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is so in the case.

    Args:
        id: Name within the question.
        topic: What it is about, see `vocabulary`.
        value: For programs: a name, a number (money in cents), or whether a circumstance is so.
        language, currency, style: How it is said.
    """

    id: str
    topic: str
    value: Value
    language: str
    currency: str
    style: int

    @property
    def text(self) -> str:
        """The fact as half a sentence, without a full stop."""
        return clause(self.topic, self.value, self.language, self.currency, self.style)


@dataclass(frozen=True, slots=True)
class Revision:
    """The same question after one fact has changed; rule or value of the answer differ from before.

    Args:
        fact: In the place of the fact with the same id.
        answer, rule: What is right from then on.
    """

    fact: Fact
    answer: PolicyAnswer
    rule: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with everything that decides it.

    Args:
        family: The subject asked about.
        language: `zh` or `en`.
        branch: Rules that it brings together.
        style: Which of the phrasings.
        facts: The case; what is not named is not so.
        answer: The right answer.
        rule: The rule to cite; None if no rule decides.
        rules: The ids of the rules brought together: without any single one of them the outcome differs.
        revision: A change of mind.
    """

    family: str
    language: str
    branch: int
    style: int
    facts: tuple[Fact, ...]
    answer: PolicyAnswer
    rule: str | None
    rules: tuple[str, ...]
    revision: Revision

    @property
    def core(self) -> str:
        """What is asked; always said first."""
        return core(self.family, self.language, self.style % CORES)

    @property
    def context(self) -> dict[str, Value]:
        """Topic to value of all facts."""
        return {fact.topic: fact.value for fact in self.facts}

    def text(self, told: Collection[str] | None = None) -> str:
        """The question with some facts.

        Args:
            told: Ids of the facts to tell; None tells all and says that there is nothing else.
        """
        clauses = [fact.text for fact in self.facts if told is None or fact.id in told]
        parts = [self.core, sentence(clauses, self.language)]
        if self.style >= CORES:
            parts.reverse()
        if told is None:
            parts.append(CLOSING[self.language])
        return ("" if self.language == "zh" else " ").join(part for part in parts if part)


def make_question(
    base: PolicyBase, branch: int, draws: Draws, language: str, families: Sequence[str] = ASKED
) -> Question:
    """A question that brings exactly `branch` rules together.

    Args:
        base: The rules.
        branch: 1 to `MAX_BRANCH`; the axis B_branch, which the caller limits.
        draws: A sequence of its own is forked, none is used up.
        language: `zh` or `en`.
        families: Subjects to ask about, at least one with numbers.

    Raises:
        UsageError: `policy_branch`, `policy_language`, `unknown_policy_family`.
    """
    check_language(language)
    if isinstance(branch, bool) or not isinstance(branch, int) or not 1 <= branch <= MAX_BRANCH:
        raise UsageError(f"branch: expected 1 to {MAX_BRANCH}, found {branch!r}", code="policy_branch")
    draws = draws.fork("policy question")
    plan = base.plan(_family(branch, draws, families))
    uncovered = branch <= _UNCOVERED_BRANCH and draws.chance(_UNCOVERED_SHARE) and bool(plan.supplements)
    case = compose(base, plan, branch, draws, uncovered)
    facts = _facts(case, base, draws, language)
    found = base.evaluate(plan.code, case.context)
    return Question(
        plan.code,
        language,
        branch,
        draws.below(2 * CORES),
        facts,
        found.answer,
        found.rule,
        tuple(case.rules),
        _revision(base, plan, facts, found, draws),
    )


def needed(base: PolicyBase, question: Question) -> frozenset[str]:
    """Topics of the facts that matter: with another value, or without them, the outcome could differ.

    An agent that knows these, and that nothing else is special, knows the answer.
    """
    plan, context = base.plan(question.family), question.context
    truth = Decision(question.answer, question.rule)
    return frozenset(
        fact.topic
        for fact in question.facts
        if any(
            base.evaluate(question.family, {**context, fact.topic: value}) != truth
            for value in _others(base, plan, fact, None)
        )
    )


def _family(branch: int, draws: Draws, families: Sequence[str]) -> str:
    unknown = [code for code in families if code not in ASKED]
    numeric = [code for code in families if code in FAMILIES and FAMILIES[code].changes]
    if unknown or not numeric:
        raise UsageError(
            f"families: expected some of {', '.join(ASKED)}, one with numbers, found {list(families)}",
            code="unknown_policy_family",
        )
    yes_no = [code for code in families if FAMILIES[code].kind == YES_NO]
    if yes_no and branch <= _YES_NO_BRANCH and draws.chance(_YES_NO_SHARE):
        return draws.pick(yes_no)
    return draws.pick(numeric)


def _facts(case: Case, base: PolicyBase, draws: Draws, language: str) -> tuple[Fact, ...]:
    return tuple(
        Fact(f"f{place}", topic, case.context[topic], language, base.currency, draws.below(STYLES))
        for place, topic in enumerate(draws.shuffled(list(case.context)), 1)
    )


def _revision(
    base: PolicyBase, plan: FamilyPlan, facts: Sequence[Fact], found: Decision, draws: Draws
) -> Revision:
    context = {fact.topic: fact.value for fact in facts}
    for fact in draws.shuffled(facts):
        others = _others(base, plan, fact, draws)
        if not others:
            continue
        value = draws.pick(others)
        changed = base.evaluate(plan.code, {**context, fact.topic: value})
        if changed != found and changed.rule is not None:
            told = Fact(fact.id, fact.topic, value, fact.language, fact.currency, fact.style)
            return Revision(told, changed.answer, changed.rule)
    # The deciding rule's own condition can always be broken, and a range decides then.
    raise UsageError(f"policy {plan.code}: no fact changes the answer", code="policy_revision")


def _others(base: PolicyBase, plan: FamilyPlan, fact: Fact, draws: Draws | None) -> list[Value]:
    """Values of a topic that rules could tell from the present one: of each condition that reads it one.

    Without draws, the same ones every time, and for numbers those on both sides of each limit.
    """
    topic = fact.topic
    if topic in FLAGS:
        return [] if topic in plan.idle else [not fact.value]
    if topic in NUMBERS:
        return list(_numbers(plan, fact, draws))
    if topic in base.names:
        return [name for name in base.names[topic] if name != fact.value]
    derived = next(name for name, source in SOURCES.items() if source == topic)
    rules = base.family(DEFINING[derived])
    return [_inside(rule, draws) for rule in rules if not rule.applies({topic: fact.value})]


def _inside(rule: Rule, draws: Draws | None) -> Value:
    condition = rule.conditions[0]
    if condition.values:
        return draws.pick(condition.values) if draws else condition.values[0]
    return number_in(condition, draws) if draws else condition.low or 0


def _numbers(plan: FamilyPlan, fact: Fact, draws: Draws | None) -> list[int]:
    limit = Condition(fact.topic, low=plan.limit)
    if fact.topic == plan.limited:
        outside = plan.limit - 1
        inside = number_in(limit, draws) if draws else plan.limit
        return [outside if limit.holds({fact.topic: fact.value}) else inside]
    ranges = [rule.conditions[0] for rule in plan.ranges]
    others = [item for item in ranges if not item.holds({fact.topic: fact.value})]
    if draws:
        return [number_in(item, draws) for item in others]
    return [item.low or 0 for item in others] + [(ranges[0].low or 1) - 1]
