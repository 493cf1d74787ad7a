"""Typed policy answers; values by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.policy import PolicyAnswer, closeness, score_policy

THIRTY = PolicyAnswer("days", 30)


def grade(
    answer: PolicyAnswer | None, truth: PolicyAnswer = THIRTY, cited: str | None = "r7"
) -> tuple[float, bool]:
    outcome = score_policy(answer, truth, cited=cited, rule="r7")
    return outcome.score, outcome.success


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (29, 0.746373),
        (31, 0.754156),
        (15, -0.875),
        (Fraction(298, 10), 0.947198),
        (-30, -1.0),
        (0, -1.0),
    ],
)
def test_other_numbers_by_hand(value: int | Fraction, score: float) -> None:
    found, success = grade(PolicyAnswer("days", value))
    assert found == pytest.approx(score, abs=1e-6)
    assert not success


@pytest.mark.parametrize(
    "answer",
    [
        PolicyAnswer("days", 30),
        PolicyAnswer("percent", Fraction(15, 2)),
        PolicyAnswer("amount", 599, "CNY"),
        PolicyAnswer("amount", 0, "CNY"),
        PolicyAnswer("yes_no", False),
        PolicyAnswer("not_covered"),
    ],
)
def test_the_exact_answer_succeeds(answer: PolicyAnswer) -> None:
    assert grade(answer, answer) == (1.0, True)


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        (PolicyAnswer("percent", 30), THIRTY),
        (PolicyAnswer("amount", 30, "CNY"), THIRTY),
        (PolicyAnswer("amount", 599, "USD"), PolicyAnswer("amount", 599, "CNY")),
        (PolicyAnswer("yes_no", True), PolicyAnswer("yes_no", False)),
        (PolicyAnswer("yes_no", True), PolicyAnswer("days", 1)),
        (PolicyAnswer("not_covered"), PolicyAnswer("yes_no", False)),
        (PolicyAnswer("amount", 1, "CNY"), PolicyAnswer("amount", 0, "CNY")),
        (None, THIRTY),
    ],
)
def test_another_kind_unit_or_word_scores_minus_1(answer: PolicyAnswer | None, truth: PolicyAnswer) -> None:
    assert grade(answer, truth) == (-1.0, False)


def test_the_rule_must_be_cited() -> None:
    assert grade(THIRTY, cited="r8") == (1.0, False)
    assert grade(THIRTY, cited=None) == (1.0, False)
    nothing = PolicyAnswer("not_covered")
    assert score_policy(nothing, nothing, cited=None, rule=None).success
    assert not score_policy(nothing, nothing, cited="r7", rule=None).success


@pytest.mark.parametrize(
    ("kind", "value", "currency"),
    [
        ("days", True, None),
        ("days", 30.0, None),
        ("percent", float("nan"), None),
        ("days", None, None),
        ("days", 30, "CNY"),
        ("amount", 5, None),
        ("amount", Fraction(1, 2), "CNY"),
        ("yes_no", 1, None),
        ("not_covered", 0, None),
        ("weeks", 4, None),
    ],
)
def test_values_that_do_not_fit_the_kind_are_refused(kind: str, value: object, currency: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        PolicyAnswer(kind, value, currency)  # type: ignore[arg-type]
    assert caught.value.code == "policy_answer_type"


@given(st.integers(-50, 50), st.integers(-50, 50))
def test_closeness_is_symmetric_and_1_for_equals_alone(one: int, other: int) -> None:
    rho = closeness(one, other)
    assert 0 <= rho <= 1
    assert rho == closeness(other, one)
    assert (rho == 1) == (one == other)
