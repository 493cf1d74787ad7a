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


def forced_chance(base: PolicyBase, question: Question) -> Fraction:
    """The chance that a blind guess at rule and value is right.

    The guesser knows the family's rules, which of them can decide a question of this branch, and how many
    supplements are added, but not what is so in the case. He draws one of those rules, all alike, then one of
    the sets of that many supplements, all alike. An uncovered question is one more possibility.

    Returns:
        1 / rules that can decide, times the share of the sets of supplements that lead to the right value;
        for an uncovered question 1 / (rules that can decide + 1).
    """
    plan = base.plan(question.family)
    able = sum(can_bring(plan, rule, question.branch) for rule in plan.deciding)
    if question.answer.kind == NOT_COVERED:
        return Fraction(1, able + 1)
    added = _added(base, question)
    changes = [_change(rule) for rule in plan.supplements]
    total = sum(_change(rule) for rule in added)
    right = sum(sum(some) == total for some in combinations(changes, len(added)))
    return Fraction(right, able * comb(len(changes), len(added)))


def _added(base: PolicyBase, question: Question) -> list[Rule]:
    plan = base.plan(question.family)
    # Supplements and exceptions read circumstances alone, which no definition gives.
    context = question.context
    aside = {target for target, exception in plan.exceptions.items() if exception.applies(context)}
    return [rule for rule in plan.supplements if rule.id not in aside and rule.applies(context)]


def _change(rule: Rule) -> int | Fraction:
    return rule.outcome.value or 0 if rule.outcome else 0
