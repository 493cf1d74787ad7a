"""Composition of the reward; values by hand and from the published episodes."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import UsageError
from shopsim_env.rlve.reward import (
    HARD_FAILURES,
    Turns,
    UsedIds,
    compose,
    efficiency,
    hallucination,
    reward_episode,
    reward_hard_failure,
    unseen_ids,
)
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.goods import CartLine, score_cart

RIGHT, WRONG = TaskScore(1.0, True), TaskScore(-1.0, False)


@pytest.mark.parametrize(
    ("turns", "expected", "effective"),
    [
        (Turns(3, 4), Fraction(-1, 3), 3),
        (Turns(3, 4, 1), Fraction(1, 3), 2),
        (Turns(8, 8, 2), Fraction(-3, 7), 6),
        (Turns(3, 6), Fraction(1, 5), 3),
        (Turns(3, 4, 9), Fraction(1), 1),
        (Turns(1, 1), Fraction(1), 1),
        (Turns(2, 1), Fraction(-1), 2),
        (Turns(2, 1, 1), Fraction(1), 1),
        (Turns(9, 9), Fraction(-1), 9),
        (Turns(20, 9), Fraction(-1), 20),
    ],
)
def test_efficiency_by_hand(turns: Turns, expected: Fraction, effective: int) -> None:
    assert (efficiency(turns), turns.effective) == (expected, effective)


@pytest.mark.parametrize("numbers", [(0, 4), (3, 0), (3, 4, -1), (True, 4), (3, 2.5)])
def test_turns_are_counts(numbers: tuple[int, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        Turns(*numbers)
    assert caught.value.code == "score_bad_count"


@pytest.mark.parametrize(
    ("used", "seen", "expected"),
    [
        (["a", "b"], {"a", "b", "c"}, Fraction(0)),
        (["x"], set(), Fraction(-1)),
        ([], {"a"}, Fraction(0)),
        (["a", "b"], set(), Fraction(-1)),
        (["a", "a", "b"], {"a"}, Fraction(-1, 3)),
    ],
)
def test_hallucination_by_hand(used: list[str], seen: set[str], expected: Fraction) -> None:
    assert hallucination(len(used), unseen_ids(used, seen)) == expected


def test_ids_in_carts_and_exchanges_need_a_source_too() -> None:
    used = UsedIds(["a"], carted=["x", "x"], exchanged=["y"])
    assert used.listed() == ["a", "x", "y"]
    reward = reward_episode(RIGHT, Turns(1, 4), used, {"a", "y"})
    assert (reward.used, reward.unseen) == (3, 1)
    assert reward.hallucination == float(Fraction(-1, 3))
    assert reward.total == float(Fraction(9, 10) - Fraction(1, 30))


def test_adding_a_seen_product_again_dilutes_nothing() -> None:
    reward = reward_episode(RIGHT, Turns(1, 4), UsedIds(carted=["x"] + ["a"] * 9), {"a"})
    assert reward.hallucination == -0.5


@pytest.mark.parametrize(
    ("task", "quick", "false", "total"),
    [
        (1, 1, 0, 0.9),
        (1, 1, -1, 0.8),
        (0, 1, 0, 0.15),
        (0, -1, -1, -0.25),
        (-1, -1, -1, -0.85),
        (-1, -1, 0, -0.75),
        (-1, 1, 0, -0.75),
        (5, 9, 3, 0.9),
        (-5, 0, -7, -0.85),
    ],
)
def test_composition_by_hand(task: float, quick: float, false: float, total: float) -> None:
    assert compose(task, quick, false) == total


def test_the_published_easy_episode_totals_80_hundredths() -> None:
    score = score_cart([CartLine("keypad", None, 1)], {("keypad", None): 1})
    reward = reward_episode(score, Turns(3, 4, 1), UsedIds(carted=["keypad"]), {"keypad"})
    assert (reward.total, reward.success, reward.effective_turns) == (0.8, True, 2)
    assert reward.efficiency == 1 / 3


def test_the_published_hard_episode_has_task_0_and_totals_minus_64_thousandths() -> None:
    lines = [
        CartLine("charger", "100W", 1),
        CartLine("fryer", "bamboo", 1),
        CartLine("tops", "XL", 3),
        CartLine("tops", "XS", 2),
    ]
    wanted: dict[tuple[str, str | None], int] = {
        ("charger", "100W"): 1,
        ("fryer", "charcoal"): 1,
        ("tops", "XS"): 3,
    }
    score = score_cart(lines, wanted)
    reward = reward_episode(score, Turns(8, 8, 2), UsedIds(), set())
    assert reward.task == 0
    assert not reward.success
    assert reward.efficiency_counts
    assert reward.total == float(Fraction(-9, 140))  # 0.15 · -3/7 = -0.0642857
    assert round(reward.total, 3) == -0.064


def test_the_published_episode_of_level_4_totals_78_hundredths_by_its_formula() -> None:
    assert reward_episode(RIGHT, Turns(3, 6), UsedIds(), set()).total == 0.78


def test_quitting_does_not_pay() -> None:
    quit_at_once = reward_episode(WRONG, Turns(1, 8), UsedIds(), set())
    failed_honestly = reward_episode(WRONG, Turns(8, 8), UsedIds(["a"]), {"a"})
    assert quit_at_once.total == failed_honestly.total == -0.75
    assert not quit_at_once.efficiency_counts
    assert quit_at_once.efficiency == 1


def test_the_worst_legal_end_is_better_than_a_hard_failure() -> None:
    worst = reward_episode(WRONG, Turns(8, 8), UsedIds(["x"]), set())
    assert worst.total == -0.85
    for kind in HARD_FAILURES:
        failed = reward_hard_failure(kind, Turns(2, 8, 1))
        assert (failed.total, failed.success, failed.hard_failure) == (-1.0, False, kind)
        assert (failed.task, failed.efficiency, failed.hallucination) == (0, 0, 0)
        assert (failed.turns, failed.turn_budget, failed.exempt_turns, failed.effective_turns) == (2, 8, 1, 1)


def test_an_unknown_hard_failure_is_refused() -> None:
    with pytest.raises(UsageError, match="format, tool, safety") as caught:
        reward_hard_failure("slow", Turns(1, 1))
    assert caught.value.code == "score_unknown_failure"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    for parts in ((value, 0, 0), (0, value, 0), (0, 0, value)):
        with pytest.raises(UsageError) as caught:
            compose(*parts)
        assert caught.value.code == "score_not_finite"
    with pytest.raises(UsageError):
        reward_episode(TaskScore(value, False), Turns(1, 1), UsedIds(), set())


@pytest.mark.parametrize("value", [True, "1", None])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(UsageError) as caught:
        compose(value, 0, 0)  # type: ignore[arg-type]
    assert caught.value.code == "score_not_a_number"


def test_the_result_is_frozen_and_has_a_json_form() -> None:
    reward = reward_episode(RIGHT, Turns(1, 4), UsedIds(), set())
    with pytest.raises(FrozenInstanceError):
        reward.total = 1.0  # type: ignore[misc]
    assert reward.as_dict()["total"] == 0.9
    assert reward.as_dict()["hard_failure"] is None


FINITE = st.floats(-3, 3)


@given(FINITE, FINITE, FINITE)
def test_the_total_stays_in_its_range(task: float, quick: float, false: float) -> None:
    assert -0.85 <= compose(task, quick, false) <= 0.9


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 40), st.floats(-1, 1))
def test_one_more_charged_turn_never_pays(turns: int, budget: int, exempt: int, task: float) -> None:
    now, later = Turns(turns, budget, exempt), Turns(turns + 1, budget, exempt)
    assert -1 <= efficiency(later) <= efficiency(now) <= 1
    assert compose(task, efficiency(later), 0) <= compose(task, efficiency(now), 0)
