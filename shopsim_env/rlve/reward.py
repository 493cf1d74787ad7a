"""Reward of a finished RLVE episode: task, efficiency and hallucination under the published weights.

Belongs here: the composition and its parts, exact in fractions and given out as floats. Not here: task scores
(`shopsim_env.rlve.scores`), which turns are exempt and which ids were seen: the episode knows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import Number, TaskScore, clip, count, exact

TASK_WEIGHT = Fraction(75, 100)
EFFICIENCY_WEIGHT = Fraction(15, 100)
HALLUCINATION_WEIGHT = Fraction(10, 100)
# Why an episode failed at once: unreadable action, illegal call, denied product.
HARD_FAILURES = ("format", "tool", "safety")


@dataclass(frozen=True, slots=True)
class EpisodeReward:
    """Reward of one episode with every part.

    `efficiency` is what the turns come to, also where it does not enter the total (`efficiency_counts`).
    `used` and `unseen` count ids. After a hard failure the parts are 0 and `hard_failure` names its kind.
    """

    total: float
    success: bool
    task: float
    efficiency: float
    efficiency_counts: bool
    hallucination: float
    turns: int
    turn_budget: int
    exempt_turns: int
    effective_turns: int
    used: int
    unseen: int
    hard_failure: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {name: getattr(self, name) for name in _PARTS}


_PARTS = tuple(item.name for item in fields(EpisodeReward))


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns of an episode: all, the budget, and those that cost nothing.

    Exempt are the first clarification of a fact, a confirmation that was needed, and a customer's change of
    mind; who counts them charges repeats.

    Raises:
        UsageError: `score_bad_count` unless all >= 1, budget >= 1 and exempt >= 0.
    """

    all: int
    budget: int
    exempt: int = 0

    def __post_init__(self) -> None:
        count(self.all, "turns", 1)
        count(self.budget, "turn budget", 1)
        count(self.exempt, "exempt turns")

    @property
    def effective(self) -> int:
        """Turns that are charged, at least 1."""
        return max(1, self.all - self.exempt)


@dataclass(frozen=True, slots=True)
class UsedIds:
    """Product ids that the agent used, by where: the final list as it stands, carts and exchanges."""

    recommended: Sequence[str] = ()
    carted: Collection[str] = ()
    exchanged: Collection[str] = ()

    def listed(self) -> list[str]:
        """Recommended ids as often as listed; the others once, so that adding again dilutes nothing."""
        return [*self.recommended, *sorted(set(self.carted)), *sorted(set(self.exchanged))]


def efficiency(turns: Turns) -> Fraction:
    """Published: clip(1 - 2·(effective - 1) / (budget - 1)); for a budget of 1: 1 for one turn, else -1."""
    if turns.budget == 1:
        return Fraction(1 if turns.effective == 1 else -1)
    return clip(1 - Fraction(2 * (turns.effective - 1), turns.budget - 1))


def unseen_ids(used: Sequence[str], seen: Collection[str]) -> int:
    """How many of the used ids were not seen."""
    return sum(name not in seen for name in used)


def hallucination(used: int, unseen: int) -> Fraction:
    """Published: minus the share of used ids that were not seen; 0 for none.

    Args:
        used: Ids that were used (`UsedIds.listed`).
        unseen: Those that were not seen (`unseen_ids`).

    Changes: ids in carts and exchanges are used too, and seen is what search, history, orders or the
    customer brought up, not what the agent named first.
    """
    return Fraction(-unseen, used) if used else Fraction(0)


def compose(task: Number, efficiency_part: Number, hallucination_part: Number) -> float:
    """Total reward in [-0.85, 0.90]: 0.75·task + 0.15·efficiency + 0.10·hallucination.

    Published weights. Change: efficiency counts only when the task score is at least 0; published, an
    instant wrong answer (-0.60) pays more than an honest failed attempt (-0.90). Parts outside their ranges
    are clipped.

    Raises:
        UsageError: `score_not_finite` or `score_not_a_number`.
    """
    done = clip(exact(task, "task"))
    quick = clip(exact(efficiency_part, "efficiency"))
    false = min(Fraction(0), clip(exact(hallucination_part, "hallucination")))
    total = TASK_WEIGHT * done + HALLUCINATION_WEIGHT * false
    return float(total + EFFICIENCY_WEIGHT * quick if done >= 0 else total)


def reward_episode(score: TaskScore, turns: Turns, used: UsedIds, seen: Collection[str]) -> EpisodeReward:
    """Reward of an episode that ended within the rules.

    Args:
        score: Task score and success.
        turns: Turns and budget.
        used: Ids that the agent used.
        seen: Ids that were brought up by a legitimate source.

    Raises:
        UsageError: `score_not_finite` or `score_not_a_number` for a score that is none.
    """
    names = used.listed()
    unseen = unseen_ids(names, seen)
    quick, false = efficiency(turns), hallucination(len(names), unseen)
    task = clip(exact(score.score, "task"))
    return EpisodeReward(
        total=compose(task, quick, false),
        success=score.success,
        task=float(task),
        efficiency=float(quick),
        efficiency_counts=task >= 0,
        hallucination=float(false),
        turns=turns.all,
        turn_budget=turns.budget,
        exempt_turns=turns.exempt,
        effective_turns=turns.effective,
        used=len(names),
        unseen=unseen,
    )


def reward_hard_failure(kind: str, turns: Turns) -> EpisodeReward:
    """Reward -1 without success, the published rule; every part is 0.

    Args:
        kind: One of `HARD_FAILURES`.
        turns: Turns until the failure.

    Raises:
        UsageError: `score_unknown_failure` for another kind.
    """
    if kind not in HARD_FAILURES:
        raise UsageError(
            f"Expected a hard failure of {', '.join(HARD_FAILURES)}, found {kind!r}; name one of them",
            code="score_unknown_failure",
        )
    return EpisodeReward(
        total=-1.0,
        success=False,
        task=0.0,
        efficiency=0.0,
        efficiency_counts=False,
        hallucination=0.0,
        turns=turns.all,
        turn_budget=turns.budget,
        exempt_turns=turns.exempt,
        effective_turns=turns.effective,
        used=0,
        unseen=0,
        hard_failure=kind,
    )
