"""Difficulty: the published tables typed in, what differs at d = 0, limits and refusals."""

import math
from dataclasses import FrozenInstanceError, asdict, astuple
from itertools import pairwise

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.difficulty import AXES, axes, journey_turns, task_axes

# The published table, but m at d = 0: 1 instead of 2.
PUBLISHED = {
    0: (1, 3, 4, 0.0954, 0, 0.0455, 200, 0, 0, 1, 1, 1),
    1: (2, 3, 4, 0.1669, 0.01, 0.0715, 190, 0.02, 0.05, 1, 1, 1),
    2: (3, 3, 5, 0.2714, 0.02, 0.1095, 180, 0.04, 0.10, 2, 1, 2),
    3: (3, 4, 5, 0.4000, 0.03, 0.1614, 170, 0.06, 0.15, 2, 2, 2),
    4: (4, 4, 6, 0.5286, 0.04, 0.2265, 160, 0.08, 0.20, 3, 2, 3),
    6: (5, 5, 7, 0.7046, 0.06, 0.3735, 140, 0.12, 0.30, 4, 3, 4),
    8: (6, 5, 8, 0.7724, 0.08, 0.4905, 120, 0.16, 0.40, 5, 3, 5),
    10: (7, 6, 9, 0.7925, 0.10, 0.5545, 100, 0.20, 0.50, 6, 4, 6),
    12: (8, 7, 10, 0.7980, 0.12, 0.5824, 80, 0.24, 0.50, 7, 5, 7),
    20: (12, 9, 14, 0.8000, 0.125, 0.5997, 20, 0.40, 0.50, 11, 7, 11),
}
LEVELS = (0, 3, 6, 9, 12)
# The published table of single environments, but variants at d = 0: none instead of 0.209.
SINGLE = {
    "cart_items": (1, 2, 3, 4, 5),
    "cart_p_variant": (0, 0.661, 0.935, 0.991, 0.999),
    "cart_p_quantity": (0, 0.3, 0.5, 0.5, 0.5),
    "return_p_edge": (0.046, 0.238, 0.554, 0.676, 0.697),
    "status_p_indirect": (0.209, 0.661, 0.935, 0.991, 0.999),
    "pd_alpha": (4, 4, 5, 6, 7),
    "sub_lambda": (0.40, 0.55, 0.70, 0.80, 0.80),
    "slack": (0.500, 0.274, 0.151, 0.083, 0.045),
    "bundle_categories": (3, 4, 6, 7, 9),
    "journey_intents": (2, 2, 3, 4, 5),
}


@pytest.mark.parametrize("d", PUBLISHED)
def test_the_published_table(d):
    # Printed with four decimals: half a unit of the last one.
    assert astuple(axes(d)) == pytest.approx(PUBLISHED[d], abs=5.1e-5)


@pytest.mark.parametrize("name", SINGLE)
def test_the_published_table_of_single_environments(name):
    found = [getattr(task_axes(d), name) for d in LEVELS]
    # Three decimals. The row of return_p_edge was rounded twice there: 0.04548, 0.0455, 0.046.
    assert found == pytest.approx(SINGLE[name], abs=6e-4 if name == "return_p_edge" else 5.1e-4)


@pytest.mark.parametrize(
    ("d", "expected"),
    [
        (4, (0.791391, 0.4, 0.35, 0.791391, 5, 0.6, 0.224664, 5, 3)),
        (8, (0.982014, 0.5, 0.654522, 0.982014, 6, 0.8, 0.100948, 7, 4)),
        (12, (0.998729, 0.5, 0.696637, 0.998729, 7, 0.8, 0.045359, 9, 5)),
    ],
)
def test_single_environments_to_six_decimals(d, expected):
    """Worked out apart from this code, from the formulas."""
    found = asdict(task_axes(d))
    del found["cart_items"], found["cart_visits"]
    assert tuple(found.values()) == pytest.approx(expected, abs=1e-6)


def test_the_formula_of_variants_holds_from_1():
    """σ(−2/3) by hand: 1 / (1 + 1.947734)."""
    assert task_axes(1).cart_p_variant == pytest.approx(0.339244, abs=1e-6)
    assert task_axes(2).cart_p_variant == 0.5


def test_visits_are_the_cart_and_twice_as_many_but_at_least_three_others():
    assert [task_axes(d).cart_visits for d in LEVELS] == [1 + 3, 2 + 4, 3 + 6, 4 + 8, 5 + 10]


def test_caps_hold_far_beyond_them():
    level = axes(10_000)
    assert (level.k_rec, level.top_k) == (10, 20)
    assert (level.p_noise, level.eps_rank, level.p_oos) == (0.125, 0.4, 0.5)
    assert (level.p_missing, level.p_switch) == pytest.approx((0.8, 0.6))
    single = task_axes(10_000)
    assert (single.cart_items, single.bundle_categories, single.journey_intents) == (5, 12, 5)
    assert single.slack == 0


def test_no_axis_gets_easier():
    easier_when_larger = {"top_k", "slack"}
    for function in (axes, task_axes):
        for lower, upper in pairwise(asdict(function(d)) for d in range(60)):
            for name in lower.keys() - easier_when_larger:
                assert lower[name] <= upper[name], name
            for name in lower.keys() & easier_when_larger:
                assert lower[name] >= upper[name], name


def test_axes_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        axes(1).m = 5


@pytest.mark.parametrize("function", [axes, task_axes])
@pytest.mark.parametrize("d", [-1, 10_001, 10**400, True, False, 1.0, "1", None, math.nan])
def test_what_is_no_difficulty_is_refused(function, d):
    with pytest.raises(UsageError, match="expected an integer from 0 to 10000, found") as caught:
        function(d)
    assert caught.value.code == "bad_difficulty"


def test_an_override_changes_its_axis_alone():
    changed = asdict(axes(6, {"p_noise": 0, "H_orders": 9}))
    assert changed == {**asdict(axes(6)), "p_noise": 0, "H_orders": 9}
    assert axes(6, {}) == axes(6)


@pytest.mark.parametrize("name", ["t_max", "noise", "d", "", "p_noise "])
def test_an_unknown_axis_is_refused(name):
    with pytest.raises(UsageError, match="expected names among m, k_rec, T_max") as caught:
        axes(3, {"m": 2, name: 1})
    assert caught.value.code == "unknown_axis"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("m", value) for value in (0, -1, 2.0, True, "2", None)),
        *(("p_oos", value) for value in (-0.1, 1.1, math.nan, True, "0.5", None)),
    ],
)
def test_a_value_outside_its_range_is_refused(name, value):
    with pytest.raises(UsageError, match=f"axis {name}: expected") as caught:
        axes(3, {name: value})
    assert caught.value.code == "bad_axis"


@pytest.mark.parametrize(
    ("name", "most"), [("m", 12), ("k_rec", 30), ("top_k", 500), ("H_orders", 37), ("B_branch", 9)]
)
def test_an_override_above_what_goals_can_have_is_refused(name, most):
    """It would be lowered in effect, and the ablation pass as one of another value."""
    assert getattr(axes(3, {name: most}), name) == most
    match = rf"axis {name}: expected at most {most}.*found {most + 1}"
    with pytest.raises(UsageError, match=match) as caught:
        axes(3, {name: most + 1})
    assert caught.value.code == "bad_axis"


@pytest.mark.parametrize("name", ["m", "k_rec", "T_max", "top_k", "H_orders", "B_branch", "B_tool"])
def test_counts_are_at_least_1(name):
    assert getattr(axes(0, {name: 1}), name) == 1
    with pytest.raises(UsageError):
        axes(0, {name: 0})


def test_the_twelve_names():
    names = "m k_rec T_max p_missing p_noise p_switch top_k eps_rank p_oos H_orders B_branch B_tool"
    assert " ".join(AXES) == names


def test_a_journey_has_the_turns_of_its_parts():
    """T_max is 4, 6 and 10 at d = 0, 4 and 12."""
    assert journey_turns([axes(0), axes(4), axes(12)]) == 20
    assert journey_turns([axes(0, {"T_max": 7})]) == 7
    with pytest.raises(UsageError, match="at least one part") as caught:
        journey_turns([])
    assert caught.value.code == "empty_journey"
