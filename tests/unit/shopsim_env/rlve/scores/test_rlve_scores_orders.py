"""Returns, status and journeys; values by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.orders import (
    ReturnGoal,
    ReturnOutcome,
    score_journey,
    score_return,
    score_status,
)

LINE, OTHER = ("o1", "l1"), ("o1", "l2")
BOTH = frozenset({LINE})
PLAIN, SWAP = ReturnGoal(LINE), ReturnGoal(LINE, replacement_wanted=True)
LATE = ReturnGoal(LINE, reason="window_over")


def quality(score: float, success: bool) -> ReturnOutcome:
    return ReturnOutcome(LINE, BOTH, replacement=TaskScore(score, success))


@pytest.mark.parametrize(
    ("outcome", "goal", "score", "success"),
    [
        (ReturnOutcome(LINE, BOTH), PLAIN, 1.0, True),
        (ReturnOutcome(OTHER, BOTH), PLAIN, 0.1, False),
        (ReturnOutcome(LINE), PLAIN, 0.1, False),
        (ReturnOutcome(None), SWAP, -1.0, False),
        (ReturnOutcome(LINE, BOTH), SWAP, 0.8, False),
        (quality(0.95, True), SWAP, 0.995, True),
        (quality(0.94, False), SWAP, 0.994, False),
        (quality(5, True), SWAP, 1.0, True),
        # A replacement that nobody asked for is not graded.
        (quality(-1, False), PLAIN, 1.0, True),
    ],
)
def test_returns_by_hand(outcome: ReturnOutcome, goal: ReturnGoal, score: float, success: bool) -> None:
    graded = score_return(outcome, goal)
    assert (graded.score, graded.success) == (score, success)


@pytest.mark.parametrize("started", [{OTHER}, {LINE, OTHER}])
def test_returning_any_other_line_fails(started: set[tuple[str, str]]) -> None:
    graded = score_return(ReturnOutcome(LINE, frozenset(started)), PLAIN)
    assert (graded.score, graded.success) == (0.1, False)


@pytest.mark.parametrize(
    ("outcome", "score", "success"),
    [
        (ReturnOutcome(LINE, checked=BOTH, reason="window_over"), 1.0, True),
        (ReturnOutcome(LINE, reason="window_over"), 0.1, False),
        (ReturnOutcome(LINE, checked=BOTH, reason="not_delivered"), 0.8, False),
        (ReturnOutcome(LINE, checked=BOTH), 0.8, False),
        (ReturnOutcome(OTHER, checked=BOTH, reason="window_over"), 0.1, False),
        (ReturnOutcome(LINE, started=BOTH, checked=BOTH, reason="window_over"), 0.1, False),
        (ReturnOutcome(LINE, started=frozenset({OTHER}), checked=BOTH, reason="window_over"), 0.1, False),
        (ReturnOutcome(None), -1.0, False),
    ],
)
def test_requests_that_must_be_refused(outcome: ReturnOutcome, score: float, success: bool) -> None:
    graded = score_return(outcome, LATE)
    assert (graded.score, graded.success) == (score, success)


@pytest.mark.parametrize(
    ("order", "status", "score", "success"),
    [
        ("o1", "SHIPPED", 1.0, True),
        ("o1", "  shipped ", 1.0, True),
        ("o1", "DELIVERED", 0.0, False),
        ("o2", "SHIPPED", 0.0, False),
        ("o1", None, 0.0, False),
        (None, None, -1.0, False),
        ("o2", "", -1.0, False),
    ],
)
def test_status_needs_order_and_status(
    order: str | None, status: str | None, score: float, success: bool
) -> None:
    graded = score_status(order, status, order="o1", status="SHIPPED")
    assert (graded.score, graded.success) == (score, success)


def parts(*scores: float) -> list[TaskScore]:
    return [TaskScore(score, score == 1) for score in scores]


@pytest.mark.parametrize(
    ("scores", "planned", "score"),
    [((1.0, 0.95), 2, 0.975), ((1.0, 0.94), 2, 0.97), ((), 2, -1.0), ((1.0,), 2, 0.0), ((1.0, -1.0), 2, 0.0)],
)
def test_journeys_are_means_over_planned_parts(scores: tuple[float, ...], planned: int, score: float) -> None:
    graded = score_journey(parts(*scores), planned)
    assert (graded.score, graded.success) == (score, False)


def test_a_journey_succeeds_when_every_flag_holds_whatever_the_scores() -> None:
    assert score_journey([TaskScore(0.8, True), TaskScore(0.9, True)], 2).success
    assert not score_journey([TaskScore(1.0, False), TaskScore(1.0, True)], 2).success
    assert not score_journey([TaskScore(1.0, True)], 2).success


@pytest.mark.parametrize(
    ("given_parts", "planned"), [(parts(1.0, 1.0), 1), ([], 0), (parts(float("nan")), 1)]
)
def test_journeys_that_cannot_be_scored_are_refused(given_parts: list[TaskScore], planned: int) -> None:
    with pytest.raises(UsageError):
        score_journey(given_parts, planned)


LINES = st.frozensets(st.sampled_from([LINE, OTHER]))


@given(st.sampled_from([LINE, OTHER, None]), LINES, LINES, st.sampled_from(["window_over", None]))
def test_return_scores_stay_in_range(
    named: tuple[str, str] | None,
    started: frozenset[tuple[str, str]],
    checked: frozenset[tuple[str, str]],
    reason: str | None,
) -> None:
    outcome = ReturnOutcome(named, started, checked, reason)
    for goal in (PLAIN, SWAP, LATE):
        graded = score_return(outcome, goal)
        assert -1 <= graded.score <= 1
        assert graded.success == (graded.score == 1)
