"""The turn format: cases of the case file, then each field, each refusal, exact policy answers."""

import json
from fractions import Fraction
from typing import Any

import pytest

from shopsim_env.rlve.protocol import Answer, Call, FormatFault, read_policy_answer, read_turn
from shopsim_env.rlve.scores.policy import PolicyAnswer


def code_of(raw: Any, **options: Any) -> str:
    with pytest.raises(FormatFault) as caught:
        read_turn(raw, **options)
    return caught.value.code


def turn(**fields: Any) -> str:
    return json.dumps({"assistant_message": "x", **fields}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("hello", "invalid_json"),
        ("[]", "bad_turn"),
        ("3", "bad_turn"),
        ('```json\n{"assistant_message":"hi"}\n```', "invalid_json"),
        ('{"assistant_message":"x","tool_calls":[{"name":"cart.view","args":"a"}]}', "bad_tool_call"),
    ],
    ids=["parse-not-json", "parse-array", "parse-number", "parse-fenced", "parse-args-not-object"],
)
def test_cases_that_are_no_turn(raw: str, code: str) -> None:
    assert code_of(raw) == code
    assert code_of(raw.encode()) == code


def test_case_minimal_and_no_args() -> None:
    """Cases parse-minimal and parse-tool-no-args."""
    minimal = read_turn('{"assistant_message":"hi"}')
    assert (minimal.message, minimal.calls, minimal.answer) == ("hi", (), None)
    with_call = read_turn('{"assistant_message":"x","tool_calls":[{"name":"cart.view"}]}')
    assert with_call.calls == (Call("cart.view", {}),)


def test_case_order_status_field() -> None:
    answer = {"env": "STATUS", "selected_order_id": "ord_001", "order_status": "SHIPPED", "done": True}
    assert read_turn(turn(answer=answer)).answer == Answer(
        env="STATUS", selected_order_id="ord_001", order_status="SHIPPED", done=True
    )


def test_every_field_of_an_answer() -> None:
    found = read_turn(
        {
            "assistant_message": "好",
            "tool_calls": None,
            "answer": {
                "env": None,
                "recommended_product_ids": ["p_1", "p_1"],
                "selected_line_id": "l",
                "refusal_reason": "window_closed",
                "policy_answer": {"kind": "days", "value": 30},
                "policy_rule_id": "r",
            },
        }
    )
    assert found.answer == Answer(
        recommended_product_ids=("p_1", "p_1"),
        selected_line_id="l",
        refusal_reason="window_closed",
        policy_answer=PolicyAnswer("days", 30),
        policy_rule_id="r",
    )
    assert read_turn(turn(answer={})).answer == Answer()
    assert read_turn(turn(answer=None, tool_calls=[])).answer is None


@pytest.mark.parametrize(
    ("name", "dotted"),
    [
        ("catalog_search", "catalog.search"),
        ("catalog_get_product", "catalog.get_product"),
        ("user_get_visit_history", "user.get_visit_history"),
        ("catalog.search", "catalog.search"),
        ("nonsense", "nonsense"),
    ],
)
def test_names_of_tools(name: str, dotted: str) -> None:
    (call,) = read_turn(turn(tool_calls=[{"name": name, "args": None}])).calls
    assert call == Call(dotted, {})


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"assistant_message": None}, "bad_message"),
        ({"assistant_message": "  "}, "bad_message"),
        ({"assistant_message": 3}, "bad_message"),
        ({"message": "hi"}, "unknown_field"),
        ({"tool_calls": {}}, "bad_tool_call"),
        ({"tool_calls": ["cart.view"]}, "bad_turn"),
        ({"tool_calls": [{}]}, "bad_tool_call"),
        ({"tool_calls": [{"name": ""}]}, "bad_tool_call"),
        ({"tool_calls": [{"name": "cart.view", "arguments": {}}]}, "unknown_field"),
        ({"answer": "done"}, "bad_turn"),
        ({"answer": {"env": "pd"}}, "bad_answer"),
        ({"answer": {"done": "yes"}}, "bad_answer"),
        ({"answer": {"done": 1}}, "bad_answer"),
        ({"answer": {"selected_order_id": 1}}, "bad_answer"),
        ({"answer": {"product_ids": []}}, "unknown_field"),
        ({"answer": {"recommended_product_ids": "p"}}, "bad_answer"),
        ({"answer": {"recommended_product_ids": [1]}}, "bad_answer"),
        ({"answer": {"recommended_product_ids": ["p"] * 101}}, "bad_answer"),
    ],
)
def test_refusals(fields: dict[str, Any], code: str) -> None:
    assert code_of(turn(**fields)) == code
    assert code_of({"assistant_message": "x", **fields}) == code


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ('{"assistant_message":"a","assistant_message":"b"}', "duplicate_key"),
        ('{"assistant_message":"a","answer":{"done":NaN}}', "not_finite"),
        ('{"assistant_message":"a","answer":{"done":1e999}}', "not_finite"),
        ('{"assistant_message":"a","tool_calls":' + "[" * 30 + "]" * 30 + "}", "too_deep"),
        ('{"assistant_message":"a","tool_calls":' + "[" * 30_000, "too_deep"),
        ('{"assistant_message":"\\ud800"}', "invalid_json"),
        (b'{"assistant_message":"\xff"}', "invalid_json"),
        ('{"assistant_message":"' + "a" * 70_000 + '"}', "too_long"),
        ({"assistant_message": "a", "answer": {"done": float("inf")}}, "not_finite"),
        ({"assistant_message": "\ud800"}, "invalid_json"),
        ({"assistant_message": "a", "answer": object()}, "invalid_json"),
        ({"assistant_message": "a", 3: 4}, "invalid_json"),
        (7, "bad_turn"),
    ],
)
def test_what_two_readers_could_understand_differently(raw: Any, code: str) -> None:
    assert code_of(raw) == code


def test_refusals_hint_and_do_not_repeat_the_input() -> None:
    with pytest.raises(FormatFault, match="did you mean assistant_message"):
        read_turn('{"asistant_mesage":"x"}')
    with pytest.raises(FormatFault) as caught:
        read_turn(turn(answer={"done": "y" * 1000}))
    assert len(str(caught.value)) < 200


def test_people_may_press_buttons_without_words() -> None:
    found = read_turn({"tool_calls": [{"name": "cart.view"}]}, strict=False)
    assert (found.message, len(found.calls)) == ("", 1)
    assert code_of({"assistant_message": 3}, strict=False) == "bad_message"
    assert code_of("hello", strict=False) == "invalid_json"


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"kind": "amount", "value": "12.50", "currency": "CNY"}, PolicyAnswer("amount", 1250, "CNY")),
        ({"kind": "amount", "value": 12.5, "currency": "CNY"}, PolicyAnswer("amount", 1250, "CNY")),
        ({"kind": "amount", "value": 0.29, "currency": "USD"}, PolicyAnswer("amount", 29, "USD")),
        ({"kind": "amount", "value": -30, "currency": "CNY"}, PolicyAnswer("amount", -3000, "CNY")),
        ({"kind": "days", "value": "30"}, PolicyAnswer("days", 30)),
        ({"kind": "percent", "value": 2.5}, PolicyAnswer("percent", Fraction(5, 2))),
        ({"kind": "percent", "value": "7.0"}, PolicyAnswer("percent", 7)),
        ({"kind": "yes_no", "value": False}, PolicyAnswer("yes_no", False)),
        ({"kind": "not_covered"}, PolicyAnswer("not_covered")),
        ({"kind": "not_covered", "value": None, "currency": None}, PolicyAnswer("not_covered")),
    ],
)
def test_policy_answers_are_exact(value: dict[str, Any], answer: PolicyAnswer) -> None:
    assert read_policy_answer(value) == answer
    found = read_turn(turn(answer={"policy_answer": value})).answer
    assert found is not None
    assert found.policy_answer == answer


@pytest.mark.parametrize(
    "value",
    [
        30,
        "30",
        {"kind": "money", "value": 1},
        {"kind": "amount", "value": 12.505, "currency": "CNY"},
        {"kind": "amount", "value": 12},
        {"kind": "amount", "value": "12.50 元", "currency": "CNY"},
        {"kind": "amount", "value": "$5.99", "currency": "USD"},
        {"kind": "amount", "value": True, "currency": "CNY"},
        {"kind": "amount", "value": 12, "currency": 3},
        {"kind": "days", "value": 30, "currency": "CNY"},
        {"kind": "days", "value": "1e3"},
        {"kind": "days", "value": None},
        {"kind": "days", "value": 10**20},
        {"kind": "yes_no", "value": "yes"},
        {"kind": "yes_no", "value": 1},
        {"kind": "not_covered", "value": 0},
        {"kind": "days", "value": 3, "unit": "days"},
    ],
)
def test_other_policy_answers_are_refused(value: Any) -> None:
    with pytest.raises(FormatFault) as caught:
        read_policy_answer(value)
    assert caught.value.code in ("bad_answer", "bad_turn", "unknown_field")
