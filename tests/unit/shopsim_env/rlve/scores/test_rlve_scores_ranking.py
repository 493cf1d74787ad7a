"""nDCG, product discovery and substitution; values by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.ranking import (
    Candidate,
    Substitute,
    discovery_mix,
    ndcg,
    satisfaction_score,
    score_discovery,
    score_substitution,
    substitution_mix,
)

SECOND = 1 / math.log2(3)  # discount of the second place
POOL = {
    "best": Candidate(1.0, 2, 2, True),
    "good": Candidate(0.5, 2, 2, True),
    "near": Candidate(1.0, 1, 2, True),
    "gone": Candidate(1.0, 2, 2, False),
}


@pytest.mark.parametrize(
    ("gains", "ideal", "length", "expected"),
    [
        ([1.0, 0.5], [0.5, 1.0], 2, 1.0),
        ([0.5, 1.0], [1.0, 0.5], 2, (0.5 + SECOND) / (1 + 0.5 * SECOND)),
        ([0.2, 0.9, 1.0], [1.0, 0.9, 0.2], 2, (0.2 + 0.9 * SECOND) / (1 + 0.9 * SECOND)),
        ([], [1.0], 1, 0.0),
    ],
)
def test_ndcg_by_hand(gains: list[float], ideal: list[float], length: int, expected: float) -> None:
    assert ndcg(gains, ideal, length) == pytest.approx(expected)


def test_published_values_of_ndcg() -> None:
    assert ndcg([0.5, 1.0], [1.0, 0.5], 2) == pytest.approx(0.859719, abs=1e-6)
    assert ndcg([0.2, 0.9, 1.0], [1.0, 0.9, 0.2], 2) == pytest.approx(0.489743, abs=1e-6)


@pytest.mark.parametrize(
    ("gains", "ideal", "length", "code"),
    [
        ([1.0], [], 1, "score_empty_goal"),
        ([1.0], [0.0], 1, "score_empty_goal"),
        ([float("nan")], [1.0], 1, "score_not_finite"),
        ([1.0], [float("inf")], 1, "score_not_finite"),
        ([-0.1], [1.0], 1, "score_bad_gain"),
        ([1.0], [1.0], 0, "score_bad_count"),
    ],
)
def test_ndcg_refuses_what_cannot_be_scored(
    gains: list[float], ideal: list[float], length: int, code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        ndcg(gains, ideal, length)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("parts", "expected"),
    [((1, 1, 0), 0.9), ((1, 1, -1 / 3), 0.866667), ((-1, -1, -1), -1.0), ((-1, -1, 0), -0.9)],
)
def test_published_mix_of_discovery(parts: tuple[float, float, float], expected: float) -> None:
    assert discovery_mix(*parts) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("parts", "expected"), [((1, 0), 0.8), ((1, -0.5), 0.7), ((-1, -1), -1.0)])
def test_published_mix_of_substitution(parts: tuple[float, float], expected: float) -> None:
    assert substitution_mix(*parts) == expected


@pytest.mark.parametrize(
    ("met", "stated", "alpha", "expected"),
    [(2, 2, 4, 1.0), (1, 2, 4, -0.875), (3, 4, 6, -0.644043), (0, 2, 5, -1.0)],
)
def test_constraint_term_by_hand(met: int, stated: int, alpha: int, expected: float) -> None:
    assert satisfaction_score(met, stated, alpha) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("met", "stated"), [(3, 2), (0, 0), (-1, 2)])
def test_constraint_counts_must_fit(met: int, stated: int) -> None:
    with pytest.raises(UsageError):
        satisfaction_score(met, stated, 4)


def discovery(listed: list[str], k: int = 3) -> tuple[float, bool]:
    outcome = score_discovery(listed, POOL, k=k, alpha=4)
    return outcome.score, outcome.success


def test_the_list_of_all_feasible_products_succeeds_at_the_published_ceiling() -> None:
    assert discovery(["best", "good"]) == (0.9, True)
    assert discovery(["best"], k=1) == (0.9, True)


def test_a_full_match_padded_with_violators_fails() -> None:
    outcome = score_discovery(["best", "near"], POOL, k=3, alpha=4)
    assert not outcome.success
    assert outcome.parts["ndcg"] == pytest.approx(1 / (1 + 0.5 * SECOND))
    assert not discovery(["best", "good", "near"])[1]


def test_a_repeated_best_id_gives_nothing() -> None:
    assert discovery(["best", "best", "best"]) == discovery(["best"])
    assert discovery(["best", "best"])[1] is False
    assert discovery(["best", "good", "good"]) == discovery(["best", "good"])


@pytest.mark.parametrize("listed", [["gone"], ["unknown"], ["near"], []])
def test_lists_without_a_feasible_product_fail(listed: list[str]) -> None:
    score, success = discovery(listed)
    assert not success
    assert score < 0


def test_terms_of_failed_lists_by_hand() -> None:
    assert discovery([])[0] == -0.9
    assert discovery(["unknown"])[0] == -1.0
    assert discovery(["near"])[0] == pytest.approx(-0.55 + 0.35 * -0.875)
    assert discovery(["gone"])[0] == pytest.approx(-0.55 + 0.35 - 0.10)


def test_more_than_k_ids_fail() -> None:
    assert discovery(["best", "good"], k=1)[1] is False


def test_the_wrong_order_fails_also_where_little_is_lost() -> None:
    assert discovery(["good", "best"])[1] is False
    # nDCG is (0.97 + 1 · SECOND) / (1 + 0.97 · SECOND) = 0.993.
    close = {"best": Candidate(1.0, 1, 1, True), "next": Candidate(0.97, 1, 1, True)}
    assert not score_discovery(["next", "best"], close, k=2, alpha=4).success
    tied = {"best": Candidate(1.0, 1, 1, True), "next": Candidate(0.995, 1, 1, True)}
    assert score_discovery(["next", "best"], tied, k=2, alpha=4).success
    assert not score_discovery(["best"], tied, k=2, alpha=4).success


def test_a_goal_without_feasible_products_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        score_discovery(["near"], {"near": POOL["near"]}, k=1, alpha=4)
    assert caught.value.code == "score_empty_goal"


SUBSTITUTES = {
    "original": Substitute(9, 1, 1, True),
    "twin": Substitute(2, 1, 1, True),
    "peer": Substitute(2, 1, 1, True),
    "cousin": Substitute(1, 1, 1, True),
    "wrong": Substitute(2, 0, 1, True),
    "gone": Substitute(3, 1, 1, False),
}


def substitution(listed: list[str], k: int = 2) -> tuple[float, bool]:
    outcome = score_substitution(listed, SUBSTITUTES, original="original", k=k, similarity_weight=0.5)
    return outcome.score, outcome.success


@pytest.mark.parametrize("listed", [["twin"], ["peer"], ["twin", "peer"], ["twin", "twin"]])
def test_substitutes_of_the_best_tier_succeed_at_the_published_ceiling(listed: list[str]) -> None:
    assert substitution(listed) == (0.8, True)


@pytest.mark.parametrize(
    "listed", [["original"], ["cousin"], ["twin", "cousin"], ["wrong"], ["gone"], ["unknown"], []]
)
def test_other_substitutes_fail(listed: list[str]) -> None:
    assert substitution(listed)[1] is False


def test_terms_of_substitution_by_hand() -> None:
    # Tier 1 of 2 at weight 1/2: relevance 3/4, rank 2·3/4 - 1 = 1/2.
    assert substitution(["cousin"])[0] == 0.4
    assert substitution(["original"])[0] == -1.0
    assert substitution(["wrong"])[0] == -0.8
    assert substitution([])[0] == -0.8
    assert substitution(["twin", "peer"], k=1)[1] is False


def test_a_single_lowest_tier_is_the_best_there_is() -> None:
    only = {"a": Substitute(0, 1, 1, True)}
    assert score_substitution(["a"], only, original="o", k=1, similarity_weight=1).success


def test_a_goal_without_substitutes_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        score_substitution(
            [], {"original": SUBSTITUTES["original"]}, original="original", k=1, similarity_weight=0.5
        )
    assert caught.value.code == "score_empty_goal"


LISTS = st.lists(st.sampled_from([*POOL, *SUBSTITUTES, "unknown"]), max_size=5)


@given(LISTS, st.integers(1, 4))
def test_scores_stay_in_range_and_repeats_change_nothing(listed: list[str], k: int) -> None:
    for grade in (discovery, substitution):
        score, _ = grade(listed, k)
        assert -1 <= score <= 0.9
        assert grade([*listed, *listed], k) == grade(listed, k)
