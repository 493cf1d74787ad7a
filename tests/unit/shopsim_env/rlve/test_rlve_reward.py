"""The total of an episode: published examples, bounds, free turns, seen ids."""

import math
from fractions import Fraction
from typing import Any

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.reward import (
    HARD_FAILURE,
    compose,
    efficiency,
    exempt_turns,
    hallucination,
    seen_ids,
)


@pytest.mark.parametrize(
    ("turns", "budget", "exempt", "wanted"),
    [
        (3, 4, 0, Fraction(-1, 3)),
        (3, 4, 1, Fraction(1, 3)),
        (8, 8, 2, Fraction(-3, 7)),
        (3, 6, 0, Fraction(1, 5)),
        (3, 4, 9, 1),
        (1, 1, 0, 1),
        (2, 1, 0, -1),
        (9, 9, 0, -1),
        (20, 9, 0, -1),
    ],
)
def test_efficiency(turns: int, budget: int, exempt: int, wanted: Fraction) -> None:
    assert efficiency(turns, budget, exempt) == wanted


@pytest.mark.parametrize("counts", [(0, 4, 0), (1, 0, 0), (1, 4, -1)])
def test_turn_counts_that_cannot_be_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError) as caught:
        efficiency(*counts)
    assert caught.value.code == "bad_turns"


def test_published_examples() -> None:
    easy = compose(1, efficiency(3, 4, 1), 0, success=True)
    assert easy.total == Fraction(4, 5)
    hard = compose(0, efficiency(8, 8, 2), 0, success=False)
    assert hard.total == Fraction(-9, 140)
    assert round(float(hard.total), 3) == -0.064
    assert compose(1, efficiency(3, 6), 0, success=True).total == Fraction(78, 100)


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ((1, 1, 0), "0.9"),
        ((-1, -1, -1), "-0.85"),
        ((-1, 1, 0), "-0.75"),  # a quick wrong answer gains nothing
        ((-1, -1, 0), "-0.75"),
        ((1, 1, -1), "0.8"),
        ((0, 1, 0), "0.15"),
        ((0, -1, 0), "-0.15"),
    ],
)
def test_totals(parts: tuple[int, int, int], total: str) -> None:
    assert compose(*parts, success=False).total == Fraction(total)


def test_success_is_a_flag_of_its_own() -> None:
    assert compose(1, 1, 0, success=False).success is False
    assert compose(-1, 1, 0, success=True).success is True


def test_a_hard_failure_reports_no_other_part() -> None:
    assert (HARD_FAILURE.total, HARD_FAILURE.efficiency, HARD_FAILURE.hallucination) == (-1, 0, 0)
    assert HARD_FAILURE.hard_failure
    assert not HARD_FAILURE.success


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "1", None])
def test_what_is_no_number_is_refused(value: Any) -> None:
    for parts in ((value, 0, 0), (0, value, 0), (0, 0, value)):
        with pytest.raises(UsageError) as caught:
            compose(*parts, success=False)
        assert caught.value.code == "not_a_number"


@pytest.mark.parametrize("parts", [(1.01, 0, 0), (0, -1.01, 0), (0, 0, 0.01), (0, 0, -1.01)])
def test_parts_out_of_range_are_refused(parts: tuple[float, float, float]) -> None:
    with pytest.raises(UsageError) as caught:
        compose(*parts, success=False)
    assert caught.value.code == "out_of_range"


def test_free_turns_are_free_once_for_each_fact() -> None:
    assert exempt_turns([("clarify", "brand")] * 8) == 1
    assert exempt_turns([("clarify", "brand"), ("clarify", "size"), ("confirm", "size")]) == 3
    assert exempt_turns([("switch", "part 2"), ("switch", "part 2")]) == 1
    assert exempt_turns([("correct", "size"), ("continue", ""), ("elaborate", "size")]) == 0


def test_asking_the_same_eight_times_gains_nothing() -> None:
    turns = 9
    assert efficiency(turns, 9, exempt_turns([("clarify", "order")] * 8)) == Fraction(-3, 4)


@pytest.mark.parametrize(
    ("used", "seen", "wanted"),
    [
        (["a", "b"], {"a", "b", "c"}, 0),
        (["x"], set(), -1),
        ([], {"a"}, 0),
        (["a", "b"], set(), -1),
        (["a", "a", "b"], {"a"}, Fraction(-1, 3)),
    ],
)
def test_hallucination(used: list[str], seen: set[str], wanted: Fraction) -> None:
    assert hallucination(used, seen) == wanted


@pytest.mark.parametrize("source", ["catalog.search", "user.get_visit_history", "order.list", "user"])
def test_shown_ids_are_seen(source: str) -> None:
    assert seen_ids([(source, "a")]) == {"a"}


@pytest.mark.parametrize(
    "source", ["catalog.get_product", "catalog.rerank", "catalog.get_variants", "cart.add"]
)
def test_guessed_ids_are_not_seen(source: str) -> None:
    assert seen_ids([(source, "a")]) == set()
    assert seen_ids([(source, "a"), ("catalog.search", "a")]) == {"a"}
