"""What a guess is worth: the chance to be right about a question without reading any condition.

Belongs here: the forced chance of one question, exact. What cheating agents reach is measured elsewhere.
"""

from fractions import Fraction
from itertools import combinations
from math import comb

from shopsim_env.rlve.policy.cases import can_bring
from shopsim_env.rlve.policy.questions import Question
from shopsim_env.rlve.policy.rules import Rule
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.scores.policy import NOT_COVERED


def forced_chance(base: PolicyBase, question: Question, *, revised: bool = False) -> Fraction:
    """The chance that a guess at rule and value is right which reads no value of the case.

    The guesser knows the family's rules, which of them can decide a question of this branch, which
    circumstances are named, and how many supplements are added, but not what is so. He draws one of those
    rules, all alike, then so many of the supplements whose circumstances are named, all alike. An uncovered
    question is one more possibility.

    Args:
        base: The rules.
        question: The question.
        revised: Whether the change of mind is said.

    Returns:
        1 / rules that can decide, times the share of the sets of supplements that lead to the right value;
        for an uncovered question 1 / (rules that can decide + 1).
    """
    plan = base.plan(question.family)
    able = sum(can_bring(plan, rule, question.branch) for rule in plan.deciding)
    answer = question.revision.answer if revised else question.answer
    if answer.kind == NOT_COVERED:
        return Fraction(1, able + 1)
    # Supplements and exceptions read circumstances alone, which no definition gives.
    context = question.context
    if revised:
        context[question.revision.fact.topic] = question.revision.fact.value
    aside = {target for target, exception in plan.exceptions.items() if exception.applies(context)}
    added = [_change(rule) for rule in plan.supplements if rule.id not in aside and rule.applies(context)]
    named = [_change(rule) for rule in plan.supplements if rule.conditions[0].topic in context]
    right = sum(sum(some) == sum(added) for some in combinations(named, len(added)))
    return Fraction(right, able * comb(len(named), len(added)))


def _change(rule: Rule) -> int | Fraction:
    return rule.outcome.value or 0 if rule.outcome else 0
