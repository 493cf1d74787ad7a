"""Drawn rule tables: counts, ids, precedence, limits, independence of what is read first."""

import json
from collections import Counter

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.rules import DECIDES, SUPPLEMENT, rule_from_dict
from shopsim_env.rlve.policy.tables import MAX_FAMILY, PolicyBase
from shopsim_env.rlve.policy.vocabulary import ASKED, DEFINING, FAMILIES

BASES = [PolicyBase(Draws("tables", seed), "CNY") for seed in range(20)]


def test_families_have_the_planned_rules() -> None:
    sizes = Counter(rule.family for rule in BASES[0].rules())
    # 3 ranges, 8 special rules, 6 supplements, 3 exceptions; to yes and no no supplements, 4 exceptions.
    assert {sizes[code] for code in ASKED if code != "price_match"} == {20} == {MAX_FAMILY}
    assert sizes["price_match"] == 15
    assert {sizes[code] for code in DEFINING.values()} == {4}
    assert sum(sizes.values()) == 11 * 20 + 15 + 3 * 4


@pytest.mark.parametrize("base", BASES)
def test_ids_differ_and_so_do_precedences_within_a_family(base: PolicyBase) -> None:
    ids = [rule.id for rule in base.rules()]
    assert len(set(ids)) == len(ids)
    assert all(len(name) == 6 and name.startswith("R-") for name in ids)
    for code in FAMILIES:
        ranks = [rule.precedence for rule in base.family(code)]
        assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize("base", BASES)
def test_values_of_a_family_differ_and_stay_positive(base: PolicyBase) -> None:
    for code in ASKED:
        outcomes = [rule.outcome for rule in base.family(code) if rule.effect == DECIDES]
        changes = [rule.outcome for rule in base.family(code) if rule.effect == SUPPLEMENT]
        values = [int(item.value or 0) for item in outcomes if item]
        added = [int(item.value or 0) for item in changes if item]
        if code == "price_match":
            assert sorted(Counter(values)) == [0, 1]
            assert min(Counter(values).values()) >= 2
            continue
        assert len(set(values)) == 11
        assert len(set(added)) == 6
        assert 0 not in added
        assert min(values) + sum(item for item in added if item < 0) > 0
        if FAMILIES[code].kind == "percent":
            assert max(values) + sum(item for item in added if item > 0) <= 100


def test_ranges_meet() -> None:
    for base in BASES:
        for code in ASKED:
            first, second, third = (rule.conditions[0] for rule in base.plan(code).ranges)
            assert (first.high, second.high, third.high) == (second.low - 1, third.low - 1, None)  # type: ignore[operator]


def test_what_is_read_first_changes_nothing() -> None:
    one, other = (PolicyBase(Draws("order"), "CNY") for _ in range(2))
    forwards = [one.family(code) for code in FAMILIES]
    backwards = [other.family(code) for code in reversed(FAMILIES)]
    assert forwards == backwards[::-1]


def test_bases_of_different_episodes_have_nothing_in_common() -> None:
    shared = {rule.id for rule in BASES[0].rules()} & {rule.id for rule in BASES[1].rules()}
    # 247 of 32^4 ids each: 0.06 shared ones are expected.
    assert len(shared) <= 3
    assert BASES[0].names != BASES[1].names


def test_rules_survive_json() -> None:
    for rule in BASES[0].rules():
        assert rule_from_dict(json.loads(json.dumps(rule.as_dict()))) == rule


def test_unknown_families_are_refused() -> None:
    for code in ("weather", "goods"):
        with pytest.raises(UsageError) as caught:
            BASES[0].plan(code)
        assert caught.value.code == "unknown_policy_family"
