"""Scores about orders: returns and status; and the journey, which is made of other tasks.

Belongs here: what counts as the right line, return, refusal and status. Not here: order books, windows and
tools.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import TaskScore, clip, count, exact

Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReturnGoal:
    """What a return should come to.

    Args:
        line: Order id and line id.
        reason: Code of the rule that forbids the return; None for a return that is allowed.
        replacement_wanted: Whether the customer asked for a replacement; graded for allowed returns alone.
    """

    line: Line
    reason: str | None = None
    replacement_wanted: bool = False


@dataclass(frozen=True, slots=True)
class ReturnOutcome:
    """What the agent did and answered.

    Args:
        named: Order id and line id of the answer, or None.
        started: Lines on which a return was started.
        checked: Lines whose eligibility was asked of the shop.
        reason: Code that the answer gives for a refusal.
        replacement: Quality in [-1, 1] and exact success of the replacement by the rule of substitution
            (`parts["rank"]` and `success` with k = 1), or None.
        as_asked: Whether what was started has the reason and method, or is the exchange, that was asked for.
    """

    named: Line | None
    started: frozenset[Line] = frozenset()
    checked: frozenset[Line] = frozenset()
    reason: str | None = None
    replacement: TaskScore | None = None
    as_asked: bool = True


def score_return(outcome: ReturnOutcome, goal: ReturnGoal) -> TaskScore:
    """Score a request for a return.

    Published: clip(0.45·selection + 0.45·return + 0.10·replacement), each ±1 or the replacement's quality,
    1 if none is wanted and -1 if it is missing; success where all are met. Changes: the return counts on
    the wanted line and no other, as it was asked for (published: any return); success takes the
    replacement's own flag; for a request that the shop must refuse, the second term is that the line was
    checked and nothing was returned, and the third is the reason.
    """
    selected = outcome.named == goal.line
    if goal.reason is None:
        acted = outcome.started == {goal.line} and outcome.as_asked
        third, third_met = _replacement(outcome, goal)
    else:
        acted = goal.line in outcome.checked and not outcome.started
        third_met = outcome.reason == goal.reason
        third = _sign(third_met)
    weight = Fraction(45, 100)
    score = clip(weight * _sign(selected) + weight * _sign(acted) + Fraction(10, 100) * third)
    parts = {"selection": float(_sign(selected)), "action": float(_sign(acted)), "third": float(third)}
    return TaskScore(float(score), selected and acted and third_met, parts)


def score_status(named_order: str | None, named_status: str | None, *, order: str, status: str) -> TaskScore:
    """Score an answer about an order.

    Published: 2·(0.5·[order] + 0.5·[status]) - 1, success if both are right; the status is compared without
    case and outer space. Unchanged; the change is that the answer can carry a status at all. Both the order
    id and the status must be given.
    """
    order_right = named_order == order
    status_right = named_status is not None and named_status.strip().upper() == status.strip().upper()
    parts = {"order": float(order_right), "status": float(status_right)}
    return TaskScore(float(order_right + status_right - 1), order_right and status_right, parts)


def score_journey(parts: Sequence[TaskScore], planned: int) -> TaskScore:
    """Score a journey of `planned` parts; those that were not reached count -1.

    Published: clipped mean of the parts' scores, success where each is at least 0.95. Change: success when
    every part's own flag holds, because two environments cannot reach 0.95.

    Raises:
        UsageError: `score_bad_count` unless 1 <= planned and no more parts than planned are given.
    """
    if len(parts) > count(planned, "planned", 1):
        raise UsageError(
            f"Expected at most {planned} parts, found {len(parts)}; grade each part once",
            code="score_bad_count",
        )
    total = sum((exact(part.score, "score of a part") for part in parts), Fraction(len(parts) - planned))
    success = len(parts) == planned and all(part.success for part in parts)
    return TaskScore(float(clip(total / planned)), success, {"reached": len(parts)})


def _replacement(outcome: ReturnOutcome, goal: ReturnGoal) -> tuple[Fraction, bool]:
    if not goal.replacement_wanted:
        return Fraction(1), True
    if outcome.replacement is None:
        return Fraction(-1), False
    return clip(exact(outcome.replacement.score, "replacement")), outcome.replacement.success


def _sign(met: bool) -> Fraction:
    return Fraction(1 if met else -1)
