"""What a guess is worth: the chance to be right about a question without reading the values of its case.

Belongs here: the forced chance of one question, exact. What cheating agents reach is measured elsewhere.
"""

from fractions import Fraction

from shopsim_env.rlve.policy.cases import can_bring
from shopsim_env.rlve.policy.questions import Question
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.scores.policy import NOT_COVERED


def forced_chance(base: PolicyBase, question: Question) -> Fraction:
    """The chance that a guess at the deciding rule is right.

    The guesser knows the family's rules, which of them can decide a question of this branch, and the
    circumstances that are told, so what is added; not the values that tell which rule applies. He draws one
    of those rules, all alike. An uncovered question is one more possibility.

    Returns:
        1 / rules that can decide; for an uncovered question 1 / (rules that can decide + 1).
    """
    plan = base.plan(question.family)
    able = sum(can_bring(plan, rule, question.branch) for rule in plan.deciding)
    return Fraction(1, able + (question.answer.kind == NOT_COVERED))
