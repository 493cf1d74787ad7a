"""Reading an assistant message: one call, or a typed error; and the prompts."""

import json

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.runner.prompts import PROMPTS, Prompt, prompt_of
from shopsim_env.runner.protocol import PROTOCOL_CODES, Fault, fault_messages, read_message
from shopsim_env.shop.actions import AskShopper, Click, Search

TOOLS = ("search", "click")


def call(name="search", arguments='{"query": "杯"}', **more):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def said(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


@pytest.mark.parametrize(
    ("message", "action"),
    [
        (said(call()), Search("杯")),
        (said(call(arguments={"query": " 杯 "})), Search("杯")),
        (said(call("click", '{"value": "not on the page"}')), Click("not on the page")),
        (said(call(), content="我先搜索"), Search("杯")),
        (said(call(arguments='{"query": ""}')), Search("")),
        (said(call(arguments=json.dumps({"query": "长" * 50_000}))), Search("长" * 10_000)),
        (said(call(arguments='{"query": "\\ud83d"}')), Search("\ufffd")),
    ],
)
def test_one_proper_call_is_an_action(message, action):
    found = read_message(message, TOOLS, 1)
    assert (found.action, found.fault, found.call_ids) == (action, None, ("c1",))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("search[杯]", "invalid_message"),
        (said(call(), content=7), "invalid_message"),
        ({"content": "", "tool_calls": {"a": 1}}, "invalid_tool_calls"),
        ({"content": None}, "empty_response"),
        ({"content": "", "tool_calls": None}, "empty_response"),
        (said(content="我想买杯子"), "tool_call_count"),
        (said(call(), call()), "tool_call_count"),
        (said("search"), "invalid_tool_call"),
        (said({"id": "c1"}), "missing_function"),
        (said(call(name="")), "missing_tool_name"),
        (said(call(name=None)), "missing_tool_name"),
        (said(call(name="buy")), "unavailable_tool"),
        (said(call("ask_shopper", '{"message": "预算?"}')), "unavailable_tool"),
        (said(call(arguments=None)), "invalid_arguments_type"),
        (said(call(arguments='{"query": "杯"')), "invalid_arguments_json"),
        (said(call(arguments="[" * 100_000)), "invalid_arguments_json"),
        (said(call(arguments='["杯"]')), "invalid_arguments_object"),
        (said(call(arguments='{"query": "杯", "page": 1}')), "invalid_tool_arguments"),
        (said(call(arguments='{"query": 3}')), "invalid_tool_arguments"),
        (said(call(arguments="{}")), "invalid_tool_arguments"),
    ],
)
def test_anything_else_is_a_fault_with_a_code(message, code):
    found = read_message(message, TOOLS, 1)
    assert found.action is None
    assert found.fault.code == code
    assert code in PROTOCOL_CODES


def test_text_beside_a_call_is_a_fault_on_request():
    message = said(call(), content="我先搜索")
    assert read_message(message, TOOLS, 1, text_beside_call=False).fault.code == "mixed_content"
    assert read_message(said(call(), content=" \n"), TOOLS, 1, text_beside_call=False).fault is None


def test_asking_is_a_call_where_it_is_offered():
    message = said(call("ask_shopper", '{"message": "预算多少"}'))
    assert read_message(message, (*TOOLS, "ask_shopper"), 1).action == AskShopper("预算多少")


def test_what_goes_back_is_a_message_that_a_server_takes():
    broken = read_message(said(call(arguments='{"query"'), call("click", {"value": "a"}, id=None)), TOOLS, 3)
    assert broken.call_ids == ("c1", "call-3-2")
    assert broken.echo["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}},
        {"id": "call-3-2", "type": "function", "function": {"name": "click", "arguments": '{"value": "a"}'}},
    ]
    replies = fault_messages(broken.fault, broken.call_ids, TOOLS, "en")
    assert [reply["tool_call_id"] for reply in replies] == ["c1", "call-3-2"]
    assert {reply["role"] for reply in replies} == {"tool"}
    # Half a call cannot be answered by a tool message.
    half = read_message(said(call(), {"id": "c2"}), TOOLS, 1)
    assert half.echo == {"role": "assistant", "content": ""}
    assert half.call_ids == ()


def test_the_error_names_code_and_offered_tools_and_quotes_nothing():
    (reply,) = fault_messages(Fault("tool_call_count", "expected one"), (), TOOLS, "zh")
    assert reply["role"] == "user"
    told = json.loads(reply["content"])
    assert told["type"] == "tool_protocol_error"
    assert (told["code"], told["message"]) == ("tool_call_count", "expected one")
    assert told["available_tools"] == ["search", "click"]
    assert "工具" in told["instruction"]
    fault = read_message(said(call(name="SECRET", arguments='{"SECRET": 1}')), TOOLS, 1).fault
    assert "SECRET" not in fault.message


def test_prompts_say_the_rules_and_join_a_persona():
    persona = {"乙": 1, "甲": {"b": 2, "a": 1}}
    for name, prompt in PROMPTS.items():
        assert prompt.id == name
        assert "buy now" in prompt.text
        alone = prompt.system_message({}, "single_turn")
        assert alone == {"role": "system", "content": prompt.text}
        content = prompt.system_message(persona, "multi_turn")["content"]
        assert "ask_shopper" in content
        assert "ask_shopper" not in alone["content"]
        shown = content[content.index("{\n") :]
        assert json.loads(shown) == persona
        assert shown.index("乙") < shown.index("甲")
        assert shown.index('"a"') < shown.index('"b"')
    assert prompt_of("zh-v1") is PROMPTS["zh-v1"]
    mine = Prompt("mine-1", "en", "Buy something.")
    assert prompt_of(mine) is mine
    assert len({prompt.sha256 for prompt in (*PROMPTS.values(), mine)}) == 3


@pytest.mark.parametrize(
    "wrong", [lambda: prompt_of("zh-v0"), lambda: Prompt("a", "fr", "b"), lambda: Prompt("a", "zh", " ")]
)
def test_wrong_prompts_are_refused(wrong):
    with pytest.raises(UsageError, match="prompt"):
        wrong()
