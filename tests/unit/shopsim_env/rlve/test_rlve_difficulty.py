"""Difficulty: the published table, the numbers of single environments, overrides, monotone axes."""

import math
from typing import Any

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.difficulty import (
    AXES,
    DERIVED,
    SYMBOLS,
    cart_items,
    cart_p_variant,
    difficulty,
    journey_turn_budget,
    slack,
)

# d: m, k, T_max, p_missing, p_noise, p_switch, top_k, eps, p_oos, H, B_branch, B_tool; as published but for
# the one constraint of d = 0.
TABLE = {
    0: (1, 3, 4, 0.0954, 0, 0.0455, 200, 0, 0, 1, 1, 1),
    1: (2, 3, 4, 0.1669, 0.01, 0.0715, 190, 0.02, 0.05, 1, 1, 1),
    2: (3, 3, 5, 0.2714, 0.02, 0.1095, 180, 0.04, 0.10, 2, 1, 2),
    3: (3, 4, 5, 0.4000, 0.03, 0.1614, 170, 0.06, 0.15, 2, 2, 2),
    4: (4, 4, 6, 0.5286, 0.04, 0.2265, 160, 0.08, 0.20, 3, 2, 3),
    5: (4, 4, 6, 0.6331, 0.05, 0.3000, 150, 0.10, 0.25, 3, 2, 3),
    6: (5, 5, 7, 0.7046, 0.06, 0.3735, 140, 0.12, 0.30, 4, 3, 4),
    7: (5, 5, 7, 0.7480, 0.07, 0.4386, 130, 0.14, 0.35, 4, 3, 4),
    8: (6, 5, 8, 0.7724, 0.08, 0.4905, 120, 0.16, 0.40, 5, 3, 5),
    9: (6, 6, 8, 0.7856, 0.09, 0.5285, 110, 0.18, 0.45, 5, 4, 5),
    10: (7, 6, 9, 0.7925, 0.10, 0.5545, 100, 0.20, 0.50, 6, 4, 6),
    12: (8, 7, 10, 0.7980, 0.12, 0.5824, 80, 0.24, 0.50, 7, 5, 7),
    20: (12, 9, 14, 0.8000, 0.125, 0.5997, 20, 0.40, 0.50, 11, 7, 11),
    25: (14, 10, 16, 0.8000, 0.125, 0.6000, 20, 0.40, 0.50, 13, 9, 13),
}
# Counts between the published rows, by hand: m, k, T_max, top_k, H, B_branch, B_tool.
COUNTS = {
    11: (7, 6, 9, 90, 6, 4, 6),
    13: (8, 7, 10, 70, 7, 5, 7),
    14: (9, 7, 11, 60, 8, 5, 8),
    15: (9, 8, 11, 50, 8, 6, 8),
    16: (10, 8, 12, 40, 9, 6, 9),
    17: (10, 8, 12, 30, 9, 6, 9),
    18: (11, 9, 13, 20, 10, 7, 10),
    19: (11, 9, 13, 20, 10, 7, 10),
}
FALLING = {"search_depth", "slack"}


@pytest.mark.parametrize("d", TABLE)
def test_axes_are_the_published_ones(d: int) -> None:
    level = difficulty(d)
    assert level.d == d
    for axis, wanted in zip(SYMBOLS, TABLE[d], strict=True):
        assert getattr(level, axis) == pytest.approx(wanted, abs=5.1e-5), axis


@pytest.mark.parametrize("d", COUNTS)
def test_counts_between_the_published_rows(d: int) -> None:
    level = difficulty(d)
    assert COUNTS[d] == (
        level.constraints,
        level.list_length,
        level.turn_budget,
        level.search_depth,
        level.orders,
        level.policy_branches,
        level.tool_budget,
    )
    assert (level.p_noise, level.rank_noise) == (min(0.125, d / 100), d / 50)
    assert level.p_out_of_stock == 0.5


def test_symbols_name_the_twelve_axes_in_order() -> None:
    assert tuple(SYMBOLS) == AXES
    assert len(AXES) == 12


def test_no_typing_noise_at_first_and_never_more_than_an_eighth() -> None:
    assert [difficulty(d).p_noise for d in (0, 12, 13, 30)] == [0, 0.12, 0.125, 0.125]


@pytest.mark.parametrize(
    ("d", "wanted"),
    [
        (0, (1, 0, 0, 4, 0.045478, 0.208609, 4, 0.4, 0.5, 3, 2)),  # no variants at d = 0
        (3, (2, 0.660756, 0.3, 6, 0.237471, 0.660756, 4, 0.55, 0.274406, 4, 2)),
        (4, (2, 0.791391, 0.4, 6, 0.35, 0.791391, 5, 0.6, 0.224664, 5, 3)),
        (8, (3, 0.982014, 0.5, 9, 0.654522, 0.982014, 6, 0.8, 0.100948, 7, 4)),
        (12, (5, 0.998729, 0.5, 15, 0.696637, 0.998729, 7, 0.8, 0.045359, 9, 5)),
        (40, (5, 1, 0.5, 15, 0.7, 1, 14, 0.8, 0.000168, 12, 5)),
    ],
)
def test_numbers_of_single_environments(d: int, wanted: tuple[float, ...]) -> None:
    assert [function(d) for function in DERIVED.values()] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("name", [*AXES, *DERIVED])
def test_every_axis_moves_one_way_and_does_move(name: str) -> None:
    values = [DERIVED[name](d) if name in DERIVED else getattr(difficulty(d), name) for d in range(41)]
    assert values == sorted(values, reverse=name in FALLING)
    assert values[0] != values[-1]


def test_high_levels_stay_finite() -> None:
    level = difficulty(100_000)
    assert (level.p_missing, level.p_switch, level.search_depth) == (0.8, 0.6, 20)
    assert cart_items(100_000) == 5
    assert cart_p_variant(100_000) == 1
    assert math.isfinite(slack(100_000))


def test_single_axes_can_be_replaced() -> None:
    level = difficulty(4, {"p_noise": 0, "tool_budget": 9})
    assert (level.d, level.p_noise, level.tool_budget) == (4, 0, 9)
    assert level.turn_budget == 6


@pytest.mark.parametrize("d", [-1, True, False, 1.0, "3", None])
def test_other_levels_are_refused(d: Any) -> None:
    with pytest.raises(UsageError, match="integer of 0 or more") as caught:
        difficulty(d)
    assert caught.value.code == "bad_difficulty"
    for function in DERIVED.values():
        with pytest.raises(UsageError):
            function(d)


@pytest.mark.parametrize("name", ["typo", "d", "m"])
def test_unknown_axes_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected one of") as caught:
        difficulty(1, {name: 1})
    assert caught.value.code == "unknown_axis"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p_noise", 1.1),
        ("p_noise", -0.1),
        ("p_noise", math.nan),
        ("p_noise", True),
        ("constraints", 0),
        ("constraints", 2.5),
        ("constraints", True),
        ("turn_budget", "4"),
    ],
)
def test_values_that_an_axis_cannot_have_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        difficulty(1, {name: value})
    assert caught.value.code == "bad_axis_value"


def test_a_journey_has_the_turns_of_its_parts() -> None:
    assert journey_turn_budget([difficulty(4), difficulty(4), difficulty(0)]) == 6 + 6 + 4
    with pytest.raises(UsageError):
        journey_turn_budget([])
