"""Formulas of evaluation against values worked out by hand."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.evaluation.statistics import (
    Cluster,
    Interval,
    Turned,
    bootstrap,
    mcnemar,
    pass_at_k,
    pass_hat_k,
    turned,
)
from shopsim_env.intervals import wilson


@pytest.mark.parametrize(
    ("samples", "successes", "k", "any_of_k", "all_of_k"),
    [
        (4, 1, 1, 0.25, 0.25),
        (4, 1, 2, 0.5, 0.0),  # 1 - C(3,2)/C(4,2) = 1 - 3/6; C(1,2) = 0
        (4, 2, 2, 5 / 6, 1 / 6),  # 1 - C(2,2)/6; C(2,2)/6
        (5, 3, 2, 0.9, 0.3),  # 1 - C(2,2)/10; C(3,2)/10
        (5, 3, 3, 1.0, 0.1),  # two failures cannot fill three places; C(3,3)/10
        (4, 0, 4, 0.0, 0.0),
        (4, 4, 4, 1.0, 1.0),
        (1, 1, 1, 1.0, 1.0),
        (3, 2, 4, None, None),  # k > n
        (0, 0, 1, None, None),  # no sample
    ],
)
def test_pass_at_k_and_pass_hat_k(
    samples: int, successes: int, k: int, any_of_k: float | None, all_of_k: float | None
) -> None:
    assert pass_at_k(samples, successes, k) == (None if any_of_k is None else pytest.approx(any_of_k))
    assert pass_hat_k(samples, successes, k) == (None if all_of_k is None else pytest.approx(all_of_k))


@pytest.mark.parametrize(("samples", "successes", "k"), [(3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_counts_that_cannot_be_are_refused(samples: int, successes: int, k: int) -> None:
    for formula in (pass_at_k, pass_hat_k):
        with pytest.raises(UsageError) as caught:
            formula(samples, successes, k)
        assert caught.value.code == "bad_count"


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),  # 2 * 1/2
        (5, 0, 0.0625),  # 2 / 32
        (0, 6, 0.03125),  # 2 / 64
        (8, 2, 0.109375),  # 2 * (1 + 10 + 45) / 1024
        (3, 3, 1.0),  # 2 * (1 + 6 + 15 + 20) / 64 is above 1
    ],
)
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == p == mcnemar(lost, gained)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(UsageError):
        mcnemar(-1, 2)


def test_tasks_turn_by_the_sign_of_their_difference() -> None:
    # Three tasks gain, whatever how much; one loses, two tie: 2 * (1 + 4) / 16.
    assert turned([1, 3, 0.5, -2, 0, 0]) == Turned(3, 1, 2, 0.625)
    assert turned([]) == Turned(0, 0, 0, None)


def tasks(*values: float) -> list[Cluster]:
    return [Cluster(value, 1) for value in values]


def test_bootstrap_of_small_tables() -> None:
    # Four tasks, one success. A mean of 1 needs it four times, (1/4)^4 = 0.4 %; one of at least 3/4 has
    # 4 * (1/4)^3 * 3/4 + 0.4 % = 5.1 %: the upper 2.5 % begin at 3/4. A mean of 0 has (3/4)^4 = 32 %.
    # Two tasks, one success: 0 and 1 have a quarter each.
    assert bootstrap([tasks(0, 0, 0, 1)]) == [Interval(0, 0.75)]
    assert bootstrap([tasks(0, 1)]) == [Interval(0, 1)]
    assert bootstrap([tasks(0.5, 0.5, 0.5)]) == [Interval(0.5, 0.5)]


def test_bootstrap_draws_tasks_with_all_their_episodes() -> None:
    # Two tasks: three episodes that succeed, one that fails. Drawn twice, the first gives 6/6, the second
    # 0/2; both together 3/4.
    assert bootstrap([[Cluster(3, 3), Cluster(0, 1)]]) == [Interval(0, 1)]
    # Only means of 0, 3/4 and 1 exist; with nine sure tasks the mean of all is never below 1.
    assert bootstrap([[Cluster(3, 3), Cluster(2, 2)]]) == [Interval(1, 1)]


def test_bootstrap_without_two_tasks_has_no_interval() -> None:
    assert bootstrap([]) == []
    assert bootstrap([[], []]) == [None, None]
    assert bootstrap([tasks(1)]) == [None]
    # The second column has a value in one task only.
    assert bootstrap([tasks(0, 1), [Cluster(1, 1), Cluster(0, 0)]]) == [Interval(0, 1), None]


def test_bootstrap_is_the_same_for_a_seed_and_shared_by_columns() -> None:
    values = [number**0.5 for number in range(30)]
    first = bootstrap([tasks(*values), tasks(*values)], seed=3)
    assert first[0] == first[1]
    assert first == bootstrap([tasks(*values), tasks(*values)], seed=3)
    assert bootstrap([tasks(*values)], seed=3) != bootstrap([tasks(*values)], seed=4)


def test_bootstrap_rounds_sums_once() -> None:
    # Ten tenths are 1. Added one by one they are less, and newer versions of Python add otherwise than older.
    assert bootstrap([tasks(*[0.1] * 10)]) == [Interval(0.1, 0.1)]


def test_bootstrap_finds_the_normal_interval_of_many_tasks() -> None:
    # 400 tasks, 100 successes: the mean is 1/4 with a standard error of sqrt(1/4 * 3/4 / 400) = 0.02165, so
    # the interval is 0.25 -/+ 0.0424; means are multiples of 1/400, and 2,000 draws blur the ends a little.
    [found] = bootstrap([tasks(*[1] * 100, *[0] * 300)])
    assert found is not None
    assert found.low == pytest.approx(0.2076, abs=0.006)
    assert found.high == pytest.approx(0.2924, abs=0.006)


def test_bootstrap_refuses_what_has_no_tail_and_uneven_columns() -> None:
    with pytest.raises(UsageError) as caught:
        bootstrap([tasks(0, 1)], resamples=39)
    assert caught.value.code == "bad_count"
    with pytest.raises(UsageError) as caught:
        bootstrap([tasks(0, 1), tasks(1)])
    assert caught.value.code == "bad_columns"


def test_wilson_at_the_ends() -> None:
    # With z^2 = 3.841459: none of 5 has the upper end z^2 / (5 + z^2) = 0.434482; all of 5 the mirror image.
    low, high = wilson(0, 5)
    assert (low, high) == (0, pytest.approx(0.434482, abs=1e-6))
    assert wilson(5, 5) == (pytest.approx(1 - 0.434482, abs=1e-6), 1)
