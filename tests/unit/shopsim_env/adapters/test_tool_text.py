"""Tool calls that stand in a text."""

import pytest

from shopsim_env.adapters.tool_text import read_answer
from shopsim_env.runner.protocol import read_message

CALL = '<tool_call>\n{"name": "search", "arguments": {"query": "杯子"}}\n</tool_call>'
FUNCTION = {"name": "search", "arguments": {"query": "杯子"}}


def calls(text):
    return [call["function"] for call in read_answer(text).get("tool_calls", ())]


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        (CALL, "", [FUNCTION]),
        (f"好的。\n{CALL}", "好的。", [FUNCTION]),
        (f"<think>先{CALL}</think>\n\n{CALL}", "", [FUNCTION]),
        (f"先{CALL}</think>{CALL}", "", [FUNCTION]),  # the template had opened the thinking
        (f"<think>{CALL}", "", []),  # cut off while thinking
        (CALL + CALL, "", [FUNCTION, FUNCTION]),
        ("没有合适的", "没有合适的", []),
        ("", "", []),
        ("<tool_call>{", "<tool_call>{", []),
    ],
)
def test_what_a_text_says(text, content, found):
    assert read_answer(text)["content"] == content
    assert calls(text) == found


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ('{"name": "search", "arguments": {"query": ', "invalid_arguments_json"),
        ('{"name": "buy", "arguments": {}}', "unavailable_tool"),
        ('{"arguments": {"query": "x"}}', "missing_tool_name"),
        ("[1]", "missing_tool_name"),
        ("search[杯子]", "missing_tool_name"),
        ('{"name": "search", "arguments": 3}', "invalid_arguments_type"),
        ('{"name": "search", "arguments": {"query": 3}}', "invalid_tool_arguments"),
    ],
)
def test_a_broken_call_is_a_protocol_error_of_its_own(inside, code):
    message = read_answer(f"<tool_call>{inside}</tool_call>")
    reading = read_message(message, ("search", "click"), 1)
    assert reading.fault is not None
    assert reading.fault.code == code
