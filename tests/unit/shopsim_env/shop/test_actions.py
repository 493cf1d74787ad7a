import json

import pytest

from shopsim_env.shop.actions import (
    MAX_ARGUMENT,
    AskShopper,
    Click,
    Search,
    canonical_text,
    parse_action,
)


def call(name, arguments):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("raw", "action"),
    [
        (Search("露营 灯"), Search("露营 灯")),
        ("search[露营 灯]", Search("露营 灯")),
        ("  Search[露营 灯]\n", Search("露营 灯")),
        (call("search", '{"query": "露营 灯"}'), Search("露营 灯")),
        (call("search", {"query": "露营 灯"}), Search("露营 灯")),
        ({"name": "search", "arguments": {"query": "露营 灯"}}, Search("露营 灯")),
        ([call("click", {"value": "buy now"})], Click("buy now")),
        ("click[颜色=[新]雾蓝]", Click("颜色=[新]雾蓝")),
        ("click[ Buy Now]", Click(" Buy Now")),
        ("ask_shopper[预算多少？]", AskShopper("预算多少？")),
        ("click", Click("")),
        ("search[]", Search("")),
    ],
)
def test_every_spelling_reaches_the_same_action(raw, action):
    parsed = parse_action(raw)
    assert (parsed.action, parsed.problem) == (action, "")


@pytest.mark.parametrize(
    "raw",
    [
        None,
        5,
        b"search[x]",
        [],
        [None],
        {},
        "",
        "我想买灯",
        "open[1]",
        "search[x",
        "search [x]",
        "Action: search[x]",
        "search[一\n二]",
        "finish",
        Search(None),
        Click(3),
        call("finish", "{}"),
        call(None, "{}"),
        call(["search"], {}),
        call("search", None),
        call("search", "{"),
        call("search", "[" * 100_000),
        call("search", "[]"),
        call("search", {"query": "灯", "page": 1}),
        call("search", {"q": "灯"}),
        call("search", {"query": 7}),
        {"function": "search"},
    ],
)
def test_malformed_input_is_a_code_never_an_exception(raw):
    parsed = parse_action(raw)
    assert (parsed.action, parsed.problem) == (None, "invalid_format")


@pytest.mark.parametrize(
    "raw",
    [
        "search[灯] click[buy now]",
        "click[a]\nclick[b]",
        "click[a]，Search[b]",
        "search[灯\nAction: click[x]\nAction: click[y]]",
        [call("click", {"value": "a"}), call("click", {"value": "b"})],
    ],
)
def test_two_actions_in_one_step(raw):
    assert parse_action(raw).problem == "multiple_actions_not_allowed"


def test_arguments_of_tool_calls_are_data():
    parsed = parse_action(call("search", {"query": "灯] click[buy now"}))
    assert (parsed.action, parsed.problem) == (Search("灯] click[buy now"), "")


def test_oversized_arguments_are_too_long_and_echoed_short():
    longest = "灯" * MAX_ARGUMENT
    assert parse_action(f"search[{longest}]").problem == ""
    for raw in (f"search[{longest}灯]", Search(longest + "灯"), call("search", {"query": longest + "灯"})):
        parsed = parse_action(raw)
        assert parsed.problem == "too_long"
        assert len(parsed.text) == 201
    assert parse_action("灯" * 5_000).problem == "too_long"


def test_surrogates_become_encodable_text():
    parsed = parse_action(call("search", json.loads('{"query": "灯\\ud83d"}')))
    assert parsed.action == Search("灯\ufffd")
    assert parse_action(Search("\ud83c\udf90")).action == Search("🎐")


@pytest.mark.parametrize(
    ("action", "text"),
    [(Search("a"), "search[a]"), (Click("b]"), "click[b]]"), (AskShopper("c"), "ask_shopper[c]")],
)
def test_canonical_text_reads_back(action, text):
    assert canonical_text(action) == text
    assert parse_action(text).action == action


def test_reading_stays_fast_on_hostile_input():
    # Each would take minutes with a backtracking pattern.
    for text in ("]" * 200_000, "\n" * 200_000 + "x", "click[" + "] " * 100_000, "action" * 50_000):
        parse_action(text)
