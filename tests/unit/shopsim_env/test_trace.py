"""Records, lines and files of `shopsim-trace-v1`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from shopsim_env.errors import TraceError
from shopsim_env.shop.actions import AskShopper, Click, Search
from shopsim_env.trace import (
    TraceReader,
    TraceRecord,
    TraceWriter,
    decode_action,
    encode_action,
    read_record,
)

RECORD = TraceRecord(
    release="r",
    versions={"environment": "v9"},
    task_id=3,
    seed=None,
    environment={"task_mode": "persona"},
    instruction="i",
    persona="p",
    actions=["search[杯]", {"typed_action": "click", "value": "buy now"}],
    observations=["0", "1", "2"],
    states=["a", "b", "c"],
    ended_by="action",
    termination_reason="purchase",
    reward=0.5,
    reward_detail={"r_strict": 0.5},
)


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("search[杯]", "search[杯]"),
        ("", ""),
        (None, None),
        (7, 7),
        (1.5, 1.5),
        (True, True),
        (Search("杯"), {"typed_action": "search", "query": "杯"}),
        (Click("< prev"), {"typed_action": "click", "value": "< prev"}),
        (AskShopper("颜色？"), {"typed_action": "ask_shopper", "message": "颜色？"}),
        (
            [{"name": "search", "arguments": '{"query": "a"}'}],
            [{"name": "search", "arguments": '{"query": "a"}'}],
        ),
        ({"function": {"name": "click"}}, {"function": {"name": "click"}}),
    ],
)
def test_actions_are_kept_as_given(action, form) -> None:
    encoded = encode_action(action)
    assert encoded == form
    back = decode_action(json.loads(json.dumps(encoded)))
    assert back == action
    assert type(back) is type(action)


@pytest.mark.parametrize(
    "action",
    [
        ("search[a]",),
        {1: "a"},
        {"a": float("nan")},
        [object()],
        {"typed_action": "click"},
        {"a": {"b": set()}},
    ],
)
def test_what_json_cannot_hold_exactly_is_refused(action) -> None:
    with pytest.raises(TraceError) as caught:
        encode_action(action)
    assert caught.value.code == "unrecordable_action"


@pytest.mark.parametrize(
    "form", [{"typed_action": "fly", "value": "x"}, {"typed_action": "click", "query": "x"}]
)
def test_unknown_typed_actions_are_refused(form) -> None:
    with pytest.raises(TraceError, match="typed action"):
        decode_action(form)


def test_a_line_is_canonical_json_with_a_newline() -> None:
    line = RECORD.line()
    assert line.startswith('{"actions":["search[杯]",{"typed_action":"click","value":"buy now"}],'.encode())
    assert line.endswith(b'"versions":{"environment":"v9"},"wordings":[]}\n')
    assert line.count(b"\n") == 1
    assert read_record(line) == RECORD
    assert json.loads(line)["schema"] == "shopsim-trace-v1"


def test_line_breaks_and_halves_of_characters_stay_on_one_line() -> None:
    record = replace(RECORD, actions=["a\nb\u2028c", "\ud83d x"])
    line = record.line()
    assert line.count(b"\n") == 1
    assert b"\\ud83d x" in line
    assert read_record(line) == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other-v1"}, "expected schema 'shopsim-trace-v1', found 'other-v1'"),
        ({"extra": 1}, r"unknown fields \['extra'\]"),
        ({"actions": "search[a]"}, r"wrong type: \['actions'\]"),
        ({"states": ["a"]}, "expected 3 hashes"),
        ({"ended_by": "caller"}, "expected 4 hashes"),
    ],
)
def test_lines_that_are_no_records_name_the_fault(change, message) -> None:
    line = json.dumps({**json.loads(RECORD.line()), **change}).encode()
    with pytest.raises(TraceError, match=f"^line 4: .*{message}"):
        read_record(line, "line 4")


def test_a_field_that_is_missing() -> None:
    values = json.loads(RECORD.line())
    del values["seed"]
    with pytest.raises(TraceError, match=r"\['seed'\]"):
        read_record(json.dumps(values).encode())
    for line in (b"[]", b"{", b"\xff"):
        with pytest.raises(TraceError):
            read_record(line)


def test_written_records_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        writer.append(RECORD)
    with TraceWriter(path) as writer:
        writer.append(replace(RECORD, task_id=4))
        assert writer.dropped == 0
    reader = TraceReader(path)
    assert [(number, read_record(line).task_id) for number, line in reader] == [(1, 3), (2, 4)]
    assert reader.torn == 0
    writer.close()
    with pytest.raises(TraceError, match="after close"):
        writer.append(RECORD)


@pytest.mark.parametrize("length", [1, 11, 200])
def test_an_unfinished_last_line_is_reported_and_cut_off(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.jsonl"
    line = RECORD.line()
    path.write_bytes(line + line + line[:length])
    reader = TraceReader(path)
    assert len(list(reader)) == 2
    assert reader.torn == length
    with TraceWriter(path) as writer:
        assert writer.dropped == length
        writer.append(RECORD)
    assert path.read_bytes() == line * 3


def test_a_long_unfinished_line_is_cut_off_whole(tmp_path: Path) -> None:
    """Longer than the 64 KiB that are read at a time."""
    path = tmp_path / "t.jsonl"
    long = replace(RECORD, actions=["x" * 200_000, "y"]).line()
    path.write_bytes(RECORD.line() + long[:-10])
    with TraceWriter(path) as writer:
        assert writer.dropped == len(long) - 10
    assert path.read_bytes() == RECORD.line()


def test_a_last_line_without_newline_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(RECORD.line() + RECORD.line()[:-1])
    reader = TraceReader(path)
    assert [line for _, line in reader] == [RECORD.line()] * 2
    assert reader.torn == 0
    with TraceWriter(path) as writer:
        writer.append(RECORD)
    assert path.read_bytes() == RECORD.line() * 3


def test_a_file_with_one_unfinished_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(RECORD.line()[:50])
    with TraceWriter(path) as writer:
        assert writer.dropped == 50
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", [b"my notes", b"my notes\nmore", b'{"a": 1}\n', b'{"a": 1}'])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        TraceWriter(path)
    assert caught.value.code == "not_a_trace"
    assert path.read_bytes() == content


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        list(TraceReader(tmp_path / "none"))
    assert caught.value.code == "trace_missing"
