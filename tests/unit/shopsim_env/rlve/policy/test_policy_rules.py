"""What rules mean: ranges, exceptions, precedence, supplements, definitions; cases worked out by hand."""

from typing import Any

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.policy.evaluate import Decision, evaluate, oracle_answer
from shopsim_env.rlve.policy.rules import (
    DECIDES,
    DEFINITION,
    EXCEPTION,
    SUPPLEMENT,
    Condition,
    Rule,
    Value,
    rule_from_dict,
)
from shopsim_env.rlve.protocol import read_policy_answer
from shopsim_env.rlve.scores.policy import PolicyAnswer, score_policy

BULK = "bulk_discount"


def percent(value: int) -> PolicyAnswer:
    return PolicyAnswer("percent", value)


def decides(name: str, rank: int, *conditions: Condition, value: int, unless: str = "") -> Rule:
    inner = (Condition(unless, (True,)),) if unless else ()
    return Rule(name, BULK, DECIDES, rank, conditions, inner, percent(value))


def quantity(low: int, high: int | None = None) -> Condition:
    return Condition("quantity", (), low, high)


def flag(name: str) -> Condition:
    return Condition(name, (True,))


RULES = (
    decides("R-1", 1, quantity(10, 24), value=5),
    decides("R-2", 2, quantity(25, 99), value=10),
    decides("R-3", 3, quantity(100), value=15),
    decides("R-4", 9, Condition("tier", ("gold",)), value=20, unless="clearance"),
    decides("R-5", 7, Condition("class", ("a", "b")), value=12),
    Rule("R-6", BULK, SUPPLEMENT, 20, (flag("gift"),), outcome=percent(-3)),
    Rule("R-7", BULK, SUPPLEMENT, 21, (flag("presale"),), outcome=percent(2)),
    Rule("R-8", BULK, EXCEPTION, 30, (flag("phone"),), suspends="R-4"),
    Rule("R-9", BULK, EXCEPTION, 31, (flag("night"),), suspends="R-6"),
    Rule("D-1", "membership", DEFINITION, 1, (Condition("spend", (), 200000),), defines=("tier", "gold")),
    Rule("D-2", "goods", DEFINITION, 1, (Condition("kind", ("lamp", "tent")),), defines=("class", "b")),
)


def ask(**context: Value) -> tuple[Any, str | None]:
    found = evaluate(RULES, BULK, context)
    return found.answer.value, found.rule


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (1, (None, None)),
        (9, (None, None)),
        (10, (5, "R-1")),
        (24, (5, "R-1")),
        (25, (10, "R-2")),
        (99, (10, "R-2")),
        (100, (15, "R-3")),
        (5000, (15, "R-3")),
    ],
)
def test_ranges_hold_at_both_ends(pieces: int, expected: tuple[int | None, str | None]) -> None:
    assert ask(quantity=pieces) == expected


def test_nothing_that_applies_is_not_covered() -> None:
    assert evaluate(RULES, BULK, {}) == Decision(PolicyAnswer("not_covered"), None)


def test_the_greatest_precedence_decides() -> None:
    assert ask(quantity=30, **{"class": "a"}) == (12, "R-5")
    assert ask(quantity=30, tier="gold", **{"class": "a"}) == (20, "R-4")


def test_exceptions_within_a_rule_and_by_a_rule_leave_the_next_one() -> None:
    assert ask(quantity=30, tier="gold", clearance=True) == (10, "R-2")
    assert ask(quantity=30, tier="gold", phone=True) == (10, "R-2")
    assert ask(quantity=30, tier="gold", phone=True, **{"class": "b"}) == (12, "R-5")


def test_a_circumstance_that_is_said_not_to_be_so_changes_nothing() -> None:
    assert ask(quantity=30, tier="gold", clearance=False, phone=False, gift=False) == (20, "R-4")


def test_supplements_are_added_with_their_sign_and_can_be_set_aside() -> None:
    assert ask(quantity=25, gift=True) == (7, "R-2")
    assert ask(quantity=25, gift=True, presale=True) == (9, "R-2")
    assert ask(quantity=25, gift=True, presale=True, night=True) == (12, "R-2")
    # Nothing is added where nothing decides.
    assert ask(quantity=5, presale=True) == (None, None)


def test_definitions_give_topics_and_what_is_said_directly_wins() -> None:
    assert ask(quantity=25, spend=200000) == (20, "R-4")
    assert ask(quantity=25, spend=199999) == (10, "R-2")
    assert ask(quantity=25, kind="tent") == (12, "R-5")
    assert ask(quantity=25, kind="sofa") == (10, "R-2")
    assert ask(quantity=25, spend=200000, tier="silver") == (10, "R-2")


def test_other_families_do_not_decide() -> None:
    assert evaluate(RULES, "warranty", {"quantity": 30}).rule is None


def test_sign_and_unit_of_a_supplemented_answer() -> None:
    truth = evaluate(RULES, BULK, {"quantity": 25, "gift": True})
    right = score_policy(PolicyAnswer("percent", 7), truth.answer, cited="R-2", rule=truth.rule)
    assert (right.score, right.success) == (1.0, True)
    for answer in (PolicyAnswer("percent", -7), PolicyAnswer("days", 7), PolicyAnswer("amount", 7, "CNY")):
        assert score_policy(answer, truth.answer, cited="R-2", rule=truth.rule).score == -1.0
    assert not score_policy(PolicyAnswer("percent", 7), truth.answer, cited="R-6", rule="R-2").success


def test_ties_are_refused() -> None:
    tied = (*RULES, decides("R-0", 2, quantity(1), value=1))
    with pytest.raises(UsageError, match=r"R-2, R-0|R-0, R-2") as caught:
        evaluate(tied, BULK, {"quantity": 30})
    assert caught.value.code == "policy_tie"


@pytest.mark.parametrize("change", [None, PolicyAnswer("days", 1)])
def test_a_supplement_in_another_unit_is_refused(change: PolicyAnswer | None) -> None:
    odd = Rule("R-0", BULK, SUPPLEMENT, 50, (quantity(1),), outcome=change)
    with pytest.raises(UsageError) as caught:
        evaluate((*RULES, odd), BULK, {"quantity": 30})
    assert caught.value.code == "bad_policy_rule"


def test_a_deciding_rule_without_outcome_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        evaluate([Rule("R-0", BULK, DECIDES, 1, (quantity(1),))], BULK, {"quantity": 30})
    assert caught.value.code == "bad_policy_rule"


def test_rules_as_data_and_back() -> None:
    assert RULES[1].as_dict() == {
        "id": "R-2",
        "family": "bulk_discount",
        "effect": "decides",
        "precedence": 2,
        "conditions": [{"topic": "quantity", "low": 25, "high": 99}],
        "exceptions": [],
        "outcome": {"kind": "percent", "value": 10, "currency": None},
        "suspends": None,
        "defines": None,
    }
    assert [rule_from_dict(rule.as_dict()) for rule in RULES] == list(RULES)


def test_money_is_written_as_agents_answer_it() -> None:
    """An agent that copies a rule's outcome gives the same amount, not a hundred times as much."""
    condition = Condition("order_amount", (), 5_000, None)
    rule = Rule("R-8", "shipping_fee", DECIDES, 1, (condition,), outcome=PolicyAnswer("amount", 7_805, "CNY"))
    data = rule.as_dict()
    assert data["outcome"] == {"kind": "amount", "value": "78.05", "currency": "CNY"}
    assert read_policy_answer(data["outcome"]) == rule.outcome
    assert data["conditions"] == [{"topic": "order_amount", "low": "50.00", "high": None}]
    less = Rule(
        "R-9", "shipping_fee", SUPPLEMENT, 2, (condition,), outcome=PolicyAnswer("amount", -350, "CNY")
    )
    assert less.as_dict()["outcome"]["value"] == "-3.50"
    assert [rule_from_dict(one.as_dict()) for one in (rule, less)] == [rule, less]


@pytest.mark.parametrize(
    "change",
    [
        {"effect": "maybe"},
        {"outcome": {"kind": "amount", "value": 7805, "currency": "CNY"}},
        {"outcome": {"kind": "amount", "value": "1.234", "currency": "CNY"}},
        {"outcome": {"kind": "amount", "value": "much", "currency": "CNY"}},
        {"conditions": [{"topic": "quantity"}]},
        {"conditions": 3},
        {"outcome": {"kind": "percent", "value": "10", "currency": None}},
        {"outcome": {"kind": "amount", "value": 10, "currency": None}},
        {"defines": "tier"},
    ],
)
def test_other_data_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        rule_from_dict({**RULES[0].as_dict(), **change})
    assert caught.value.code == "bad_policy_rule"
    with pytest.raises(UsageError):
        rule_from_dict({"id": "R-1"})


def test_an_oracle_works_from_results_alone() -> None:
    results = [{"snippet_id": rule.id, "rule": rule.as_dict()} for rule in (*RULES, RULES[0])]
    found = oracle_answer(results, BULK, {"quantity": 25, "spend": 200000, "gift": True})
    assert found == Decision(percent(17), "R-4")
