"""Carts and bundles; values by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.goods import BundlePick, CartLine, score_bundle, score_cart

A1 = CartLine("a", None, 1)


@pytest.mark.parametrize("units", [1, 2, 3, 7])
def test_exact_carts_succeed_at_every_size(units: int) -> None:
    outcome = score_cart([CartLine("a", None, units)], {("a", None): units})
    assert (outcome.score, outcome.success) == (1.0, True)
    assert outcome.parts == {"f1": 1.0, "matched": units, "held": units, "required": units}


@pytest.mark.parametrize(
    ("lines", "required", "score"),
    [
        ([A1, CartLine("b", None, 1)], {("a", None): 1}, Fraction(1, 3)),
        ([CartLine("a", "v2", 1)], {("a", "v1"): 1}, Fraction(-1)),
        ([A1], {("a", "v1"): 1}, Fraction(-1)),
        ([], {("a", None): 1, ("b", None): 2}, Fraction(-1)),
        ([CartLine("b", None, 1)], {("a", None): 1}, Fraction(-1)),
        ([A1, CartLine("b", None, 1)], {("a", None): 1, ("b", None): 1, ("c", None): 1}, Fraction(3, 5)),
        ([CartLine("a", "v1", 1), CartLine("a", "v2", 1)], {("a", "v1"): 2}, Fraction(0)),
        ([CartLine("a", None, 2)], {("a", None): 1}, Fraction(1, 3)),
    ],
)
def test_other_carts_by_hand(
    lines: list[CartLine], required: dict[tuple[str, str | None], int], score: Fraction
) -> None:
    outcome = score_cart(lines, required)
    assert (outcome.score, outcome.success) == (float(score), False)


def test_any_variant_does_where_none_is_required() -> None:
    assert score_cart([CartLine("a", "v9", 1)], {("a", None): 1}).success


def test_lines_of_one_product_add_up() -> None:
    assert score_cart([A1, A1], {("a", None): 2}).success


@pytest.mark.parametrize(
    ("lines", "required", "code"),
    [
        ([], {}, "score_empty_goal"),
        ([A1], {("a", None): 0}, "score_bad_count"),
        ([CartLine("a", None, -1)], {("a", None): 1}, "score_bad_count"),
        ([A1], {("a", None): 1, ("a", "v1"): 1}, "score_ambiguous_goal"),
    ],
)
def test_carts_that_cannot_be_scored_are_refused(
    lines: list[CartLine], required: dict[tuple[str, str | None], int], code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        score_cart(lines, required)
    assert caught.value.code == code


def pick(category: str | None, cents: int = 1000, fits: bool = True) -> BundlePick:
    return BundlePick(category, cents, fits)


DESK, CHAIR, MOUSE = pick("desk"), pick("chair"), pick("mouse")


@pytest.mark.parametrize(
    ("picks", "categories", "budget"),
    [
        ([DESK, CHAIR, MOUSE], ["desk", "chair", "mouse"], None),
        ([DESK, CHAIR], ["chair", "desk"], None),
        ([DESK], ["desk"], 1000),
    ],
)
def test_exact_bundles_succeed(picks: list[BundlePick], categories: list[str], budget: int | None) -> None:
    outcome = score_bundle(picks, categories, budget)
    assert (outcome.score, outcome.success) == (1.0, True)


@pytest.mark.parametrize(
    ("picks", "budget", "score"),
    [
        ([DESK], None, Fraction(1, 3)),
        ([], 10, Fraction(-1)),
        ([DESK, pick("chair", fits=False)], None, Fraction(0)),
        ([DESK, CHAIR, pick(None)], None, Fraction(3, 5)),
        ([DESK, CHAIR, CHAIR], None, Fraction(3, 5)),
        ([DESK, CHAIR], 1600, Fraction(3, 4)),  # 4.00 over 16.00
        ([DESK, CHAIR], 1999, 1 - Fraction(1, 1999)),
        ([DESK, CHAIR], 100, Fraction(-1)),
    ],
)
def test_other_bundles_by_hand(picks: list[BundlePick], budget: int | None, score: Fraction) -> None:
    outcome = score_bundle(picks, ["desk", "chair"], budget)
    assert (outcome.score, outcome.success) == (float(score), False)


@pytest.mark.parametrize(
    ("picks", "categories", "budget", "code"),
    [
        ([], [], None, "score_empty_goal"),
        ([DESK], ["desk"], 0, "score_bad_count"),
        ([pick("desk", 9.99)], ["desk"], None, "score_bad_count"),  # type: ignore[arg-type]
    ],
)
def test_bundles_that_cannot_be_scored_are_refused(
    picks: list[BundlePick], categories: list[str], budget: int | None, code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        score_bundle(picks, categories, budget)
    assert caught.value.code == code


QUANTITIES = st.dictionaries(st.sampled_from("abc"), st.integers(1, 4), min_size=1)


@given(QUANTITIES, QUANTITIES)
def test_a_cart_succeeds_exactly_when_it_equals_the_list(
    held: dict[str, int], wanted: dict[str, int]
) -> None:
    lines = [CartLine(name, None, units) for name, units in held.items()]
    outcome = score_cart(lines, {(name, None): units for name, units in wanted.items()})
    assert -1 <= outcome.score <= 1
    assert outcome.success == (held == wanted) == (outcome.score == 1)
