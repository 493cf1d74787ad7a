"""The reward of an episode: task, efficiency and hallucination in one number.

Belongs here: the three weights, which turns are free, which ids count as seen. Task scores are in
`task_scores`. Source: published formulas; changes and reasons are in `docs/rlve.md`.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.exact import Number, clip, within

TASK_WEIGHT, EFFICIENCY_WEIGHT, HALLUCINATION_WEIGHT = Fraction(75, 100), Fraction(15, 100), Fraction(10, 100)
# What shows an id without the agent having guessed it. Looking up, reranking or adding an id proves nothing.
SEEN_SOURCES = frozenset(
    {"catalog.search", "user.get_visit_history", "order.list", "order.get_status", "user"}
)
# Acts of the customer that can make a turn free, each once for the same fact.
FREE_ACTS = frozenset({"clarify", "confirm", "switch"})


@dataclass(frozen=True, slots=True)
class Reward:
    """The parts and the total of one episode.

    Attributes:
        task: [-1, 1].
        efficiency: [-1, 1]; reported also where it does not count.
        hallucination: [-1, 0].
        total: [-1, 0.9].
        success: The task's own exact flag; no threshold on a score.
        hard_failure: Malformed output, illegal tool call or denied product: total -1.
    """

    task: Fraction
    efficiency: Fraction
    hallucination: Fraction
    total: Fraction
    success: bool
    hard_failure: bool = False


HARD_FAILURE = Reward(Fraction(-1), Fraction(0), Fraction(0), Fraction(-1), success=False, hard_failure=True)


def compose(task: Number, efficiency: Number, hallucination: Number, *, success: bool) -> Reward:
    """The reward of an episode that ended without a hard failure.

    Efficiency counts only when the task score is at least 0: a quick wrong answer must not beat an honest
    attempt. So the worst legal end is -0.85.

    Raises:
        UsageError: a part is not a finite number (code `not_a_number`) or out of range (`out_of_range`).
    """
    parts = (
        within(task, "task score"),
        within(efficiency, "efficiency"),
        within(hallucination, "hallucination", -1, 0),
    )
    counted = parts[1] if parts[0] >= 0 else Fraction(0)
    total = TASK_WEIGHT * parts[0] + EFFICIENCY_WEIGHT * counted + HALLUCINATION_WEIGHT * parts[2]
    return Reward(*parts, total=clip(total), success=success)


def efficiency(turns: int, turn_budget: int, exempt: int = 0) -> Fraction:
    """How few turns the episode took: 1 for one effective turn, -1 for the whole budget.

    Args:
        turns: Agent turns, 1 or more.
        turn_budget: Most turns of the episode, 1 or more.
        exempt: Turns that the customer caused (`exempt_turns`); they never push the count below one.

    Raises:
        UsageError: counts that cannot be (code `bad_turns`).
    """
    if turns < 1 or turn_budget < 1 or exempt < 0:
        raise UsageError(
            f"turns: expected turns >= 1, budget >= 1, exempt >= 0, found {turns}, {turn_budget}, {exempt}",
            code="bad_turns",
        )
    effective = max(1, turns - exempt)
    if turn_budget == 1:
        return Fraction(1 if effective == 1 else -1)
    return clip(1 - Fraction(2 * (effective - 1), turn_budget - 1))


def exempt_turns(acts: Iterable[tuple[str, str]]) -> int:
    """Turns that cost nothing: the first clarification or confirmation of a fact, the customer's own switch.

    Args:
        acts: Of each turn, the customer's act and the fact (or part of a journey) that it is about. Only
            facts of the goal belong here: a question about anything else gets no clarification.
    """
    return len({(act, about) for act, about in acts if act in FREE_ACTS})


def seen_ids(shown: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Product ids that count as seen.

    Args:
        shown: Source and product id, such as ("catalog.search", id); the source is a tool or "user".
    """
    return frozenset(product for source, product in shown if source in SEEN_SOURCES)


def hallucination(used: Sequence[str], seen: Set[str]) -> Fraction:
    """Minus the share of `used` that was never seen; 0 for an empty list.

    Args:
        used: Product ids that the agent recommended, put in the cart or took in an exchange; each entry
            counts, also a repeated one.
        seen: Result of `seen_ids`.
    """
    if not used:
        return Fraction(0)
    return -Fraction(sum(product not in seen for product in used), len(used))
