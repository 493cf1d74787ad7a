"""Task scores: values by hand and of the published tables, each success flag, what is refused."""

import math
from fractions import Fraction
from typing import Any

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.task_scores import (
    CartLine,
    Score,
    bundle_score,
    cart_score,
    constraint_score,
    discovery_success,
    discovery_task,
    journey_score,
    ndcg,
    policy_number_score,
    policy_text_score,
    rank_score,
    return_score,
    status_score,
    stock_score,
    substitution_relevance,
    substitution_success,
    substitution_task,
)

FULL = Fraction(1)


@pytest.mark.parametrize("units", [1, 2, 3, 7])
def test_an_exact_cart_of_any_size_succeeds(units: int) -> None:
    assert cart_score({"a": units}, {}, [CartLine("a", None, units)]) == Score(FULL, success=True)


@pytest.mark.parametrize(
    ("wanted", "variants", "lines", "task"),
    [
        ({"a": 1}, {}, [("a", None, 1), ("b", None, 1)], Fraction(1, 3)),
        ({"a": 1}, {"a": "v1"}, [("a", "v2", 1)], -1),
        ({"a": 1}, {"a": "v1"}, [("a", None, 1)], -1),
        ({"a": 1, "b": 2}, {}, [], -1),
        ({"a": 1}, {}, [("b", None, 1)], -1),
        ({"a": 1, "b": 1, "c": 1}, {}, [("a", None, 1), ("b", None, 1)], Fraction(3, 5)),
        ({"a": 2}, {"a": "v1"}, [("a", "v1", 1), ("a", "v2", 1)], 0),
        ({"a": 1}, {}, [("a", None, 2)], Fraction(1, 3)),
    ],
)
def test_other_carts(wanted: Any, variants: Any, lines: Any, task: Fraction) -> None:
    assert cart_score(wanted, variants, [CartLine(*line) for line in lines]) == Score(
        Fraction(task), success=False
    )


def test_published_carts() -> None:
    lines = [("c", "100W", 1), ("f", "Bamboo", 1), ("t", "XL", 3), ("t", "XS", 2)]
    score = cart_score(
        {"c": 1, "f": 1, "t": 3},
        {"c": "100W", "f": "Charcoal", "t": "XS"},
        [CartLine(*line) for line in lines],
    )
    assert score == Score(Fraction(0), success=False)  # 3 matched, 7 in the cart, 5 wanted: F1 one half


def test_a_product_without_wanted_variant_may_have_any() -> None:
    lines = [CartLine("a", "v1", 1), CartLine("a", "v9", 1)]
    assert cart_score({"a": 2}, {}, lines).success


@pytest.mark.parametrize(("wanted", "variants"), [({}, {}), ({"a": 0}, {}), ({"a": 1}, {"b": "v"})])
def test_carts_that_nobody_can_want_are_refused(wanted: dict[str, int], variants: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        cart_score(wanted, variants, [])
    assert caught.value.code == "bad_goal"


def test_a_line_without_units_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        cart_score({"a": 1}, {}, [CartLine("a", None, 0)])
    assert caught.value.code == "bad_cart"


@pytest.mark.parametrize(
    ("filled", "wanted", "cost", "budget", "task", "success"),
    [
        ({"desk", "chair", "mouse"}, {"desk", "chair", "mouse"}, 180, None, 1, True),
        ({"desk", "chair"}, {"desk", "chair"}, 150, None, 1, True),
        ({"desk", "chair"}, {"desk", "chair"}, 150, 150, 1, True),
        ({"desk", "chair"}, {"desk", "chair"}, 165, 150, Fraction(9, 10), False),
        ({"desk", "chair"}, {"desk", "chair"}, 900, 150, -1, False),
        ({"desk"}, {"desk", "chair"}, 100, None, Fraction(1, 3), False),
        ({"desk", "chair", None}, {"desk", "chair"}, 100, None, Fraction(3, 5), False),
        (set(), {"desk"}, 0, 10, -1, False),
    ],
)
def test_bundles(filled: Any, wanted: Any, cost: Any, budget: Any, task: Any, success: bool) -> None:
    assert bundle_score(filled, wanted, cost, budget) == Score(Fraction(task), success)


@pytest.mark.parametrize(("wanted", "cost", "budget"), [(set(), 0, None), ({"a"}, -1, None), ({"a"}, 1, 0)])
def test_bundles_that_cannot_be_are_refused(wanted: set[str], cost: int, budget: int | None) -> None:
    with pytest.raises(UsageError) as caught:
        bundle_score(set(), wanted, cost, budget)
    assert caught.value.code == "bad_goal"


@pytest.mark.parametrize(
    ("selected", "handled", "wanted", "quality", "task", "success"),
    [
        (True, True, False, None, "1", True),
        (False, True, False, None, "0.1", False),
        (True, False, False, None, "0.1", False),
        (False, False, True, None, "-1", False),
        (True, True, True, None, "0.8", False),
        (True, True, True, 0.95, "0.995", True),
        (True, True, True, 0.94, "0.994", False),
        (True, True, True, 5, "1", True),
    ],
)
def test_returns(selected: bool, handled: bool, wanted: bool, quality: Any, task: str, success: bool) -> None:
    score = return_score(selected=selected, handled=handled, replacement_wanted=wanted, replacement=quality)
    assert score == Score(Fraction(task), success)


@pytest.mark.parametrize(
    ("order", "reported", "task"),
    [(True, " shipped ", 1), (True, "DELIVERED", 0), (True, None, 0), (False, "SHIPPED", 0), (False, "", -1)],
)
def test_order_status(order: bool, reported: str | None, task: int) -> None:
    score = status_score(order_right=order, status="SHIPPED", reported=reported)
    assert score == Score(Fraction(task), success=task == 1)


@pytest.mark.parametrize(
    ("answer", "truth", "task"),
    [
        (29, 30, 0.746373),
        (31, 30, 0.754156),
        (15, 30, -0.875),
        (0.01, 0, -1),
        (29.8, 30, 0.947198),
        (-30, 30, -1),
        (None, 30, -1),
        (0, 30, -1),
    ],
)
def test_wrong_policy_numbers(answer: float | None, truth: float, task: float) -> None:
    score = policy_number_score(answer, truth)
    assert float(score.task) == pytest.approx(task, abs=1e-6)
    assert not score.success


def test_right_policy_answers() -> None:
    right = Score(FULL, success=True)
    assert policy_number_score(30.0, 30) == right
    assert policy_number_score(5.99, Fraction("5.99")) == right
    assert policy_number_score(0, 0) == right
    assert policy_number_score(-5, -5) == right
    assert policy_text_score("Eligible ", "eligible") == right
    assert policy_text_score("no", "eligible") == policy_text_score(None, "x") == Score(-FULL, success=False)


@pytest.mark.parametrize("answer", [math.nan, math.inf, True])
def test_policy_answers_that_are_no_numbers_are_refused(answer: Any) -> None:
    with pytest.raises(UsageError) as caught:
        policy_number_score(answer, 30)
    assert caught.value.code == "not_a_number"


@pytest.mark.parametrize(
    ("listed", "gains", "k", "value"),
    [
        ("ba", {"a": 1.0, "b": 0.5}, 2, 0.859719),
        ("cba", {"a": 1.0, "b": 0.9, "c": 0.2}, 2, 0.489743),
        ("ab", {"a": 1.0, "b": 0.5}, 2, 1),
        ("aa", {"a": 1.0, "b": 0.5}, 2, 1 / (1 + 0.5 / math.log2(3))),  # repeated: once
        ("aab", {"a": 1.0, "b": 0.5}, 2, 1),
        ("xa", {"a": 1.0}, 2, 1 / math.log2(3)),  # x is not feasible
        ("a", {"a": 1.0}, 5, 1),  # the ideal has no more than the feasible ones
        ("", {"a": 1.0}, 3, 0),
    ],
)
def test_ndcg(listed: str, gains: dict[str, float], k: int, value: float) -> None:
    assert ndcg(listed, gains, k) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("gains", "k", "code"),
    [
        ({}, 1, "bad_goal"),
        ({"a": 0.0}, 1, "bad_goal"),
        ({"a": 1.0}, 0, "bad_goal"),
        ({"a": math.nan}, 1, "not_a_number"),
        ({"a": 1.5}, 1, "out_of_range"),
    ],
)
def test_rankings_that_cannot_be_are_refused(gains: dict[str, float], k: int, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        ndcg("a", gains, k)
    assert caught.value.code == code


def test_product_discovery() -> None:
    assert rank_score(0.5) == 0
    assert [constraint_score(share, alpha) for share, alpha in ((1, 4), (0.5, 4), (0, 5))] == [1, -0.875, -1]
    assert float(constraint_score(0.75, 6)) == pytest.approx(-0.644043, abs=1e-6)
    assert discovery_task(1, 1, 0) == Fraction(9, 10)
    assert discovery_task(1, 1, Fraction(-1, 3)) == Fraction(13, 15)
    assert discovery_task(-1, -1, -1) == -1
    assert discovery_task(-1, -1, 0) == Fraction(-9, 10)
    assert stock_score(["a", "b", "c"], {"a", "b"}) == Fraction(-1, 3)
    assert stock_score([], {"a"}) == 0


def test_product_discovery_succeeds_with_feasible_products_in_order_only() -> None:
    feasible = {"a": 1.0, "b": 0.5}
    assert discovery_success(["a", "b"], feasible, 2)
    assert not discovery_success(["a", "b", "x"], feasible, 2)
    assert not discovery_success(["b", "a"], feasible, 2)
    assert not discovery_success([], feasible, 2)


def test_substitution() -> None:
    assert substitution_relevance(0.5, 1, 0.4) == Fraction(4, 5)
    assert substitution_task(1, 0) == Fraction(4, 5)
    assert substitution_task(1, -0.5) == Fraction(7, 10)
    assert substitution_success(["a"], {"a", "b"})
    assert not substitution_success(["a", "x"], {"a", "b"})
    assert not substitution_success([], {"a"})


def test_journeys() -> None:
    near, low = Score(Fraction("0.95"), success=True), Score(Fraction("0.94"), success=False)
    assert journey_score([Score(FULL, success=True), near]) == Score(Fraction("0.975"), success=True)
    assert journey_score([Score(FULL, success=True), low]) == Score(Fraction("0.97"), success=False)
    assert journey_score([]) == Score(-FULL, success=False)
