"""Bringing answers of endpoints into one form, whole or in pieces; and the files of a run."""

import pytest

from shopsim_env.errors import ModelError, RunError, TraceError
from shopsim_env.runner.chat import Pieces, read_completion
from shopsim_env.runner.folder import EpisodeLine, RunFolder
from shopsim_env.runner.progress import Progress
from shopsim_env.runs.summary import summary
from shopsim_env.trace import TraceWriter

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "杯"}'}}


def choice(**message):
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def chunk(reason=None, usage=None, **delta):
    return {"id": "a", "model": "m", "choices": [{"delta": delta, "finish_reason": reason}], "usage": usage}


def test_reasoning_is_kept_under_either_name():
    for name in ("reasoning_content", "reasoning"):
        found = read_completion(choice(content=None, tool_calls=[CALL], **{name: "想"}), 1.23456, 2)
        assert (found.content, found.reasoning, found.tool_calls) == ("", "想", [CALL])
        assert (found.latency_ms, found.attempts, found.usage) == (1.235, 2, None)


def test_usage_counts_what_is_told():
    told = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    found = read_completion({**choice(content="a"), "usage": told}, 0, 1)
    assert found.usage == {**told, "reasoning_tokens": 0}
    more = {**told, "completion_tokens_details": {"reasoning_tokens": 3, "other": None}}
    assert read_completion({**choice(content="a"), "usage": more}, 0, 1).usage["reasoning_tokens"] == 3


def test_half_a_surrogate_pair_cannot_stop_the_next_request():
    broken = {**CALL, "function": {"name": "search", "arguments": '{"query": "\ud83d"}'}}
    found = read_completion(choice(content="a\udc00", tool_calls=[broken]), 0, 1)
    assert found.content == "a\ufffd"
    assert found.tool_calls[0]["function"]["arguments"] == '{"query": "\ufffd"}'


@pytest.mark.parametrize("raw", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": "a"}]}])
def test_a_body_without_a_message_is_a_fault_of_the_endpoint(raw):
    with pytest.raises(ModelError) as found:
        read_completion(raw, 0, 1)
    assert (found.value.code, found.value.again) == ("bad_answer", True)


def test_pieces_become_the_same_answer():
    pieces = Pieces()
    for piece in (
        chunk(role="assistant", reasoning="想"),
        chunk(reasoning="想"),
        chunk(content="好"),
        chunk(tool_calls=[{"index": 0, **CALL, "function": {"name": "search", "arguments": '{"que'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": 'ry": "杯"}'}}]),
        chunk(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "click", "arguments": "{}"}}]),
        chunk("tool_calls"),
        {"id": "a", "model": "m", "choices": [], "usage": {"prompt_tokens": 1}},
    ):
        pieces.add(piece)
    found = read_completion(pieces.whole(), 0, 1)
    second = {"id": "c2", "type": "function", "function": {"name": "click", "arguments": "{}"}}
    assert (found.content, found.reasoning, found.tool_calls) == ("好", "想想", [CALL, second])
    assert (found.finish_reason, found.response_id, found.model) == ("tool_calls", "a", "m")
    assert found.usage["prompt_tokens"] == 1


def test_calls_without_numbers_begin_with_their_ids():
    pieces = Pieces()
    for call_id in ("c1", "c2"):
        pieces.add(chunk(tool_calls=[{"id": call_id, "function": {"name": "click", "arguments": "{"}}]))
        pieces.add(chunk(tool_calls=[{"function": {"arguments": "}"}}]))
    pieces.add(chunk("stop"))
    calls = pieces.whole()["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [("c1", "{}"), ("c2", "{}")]


def test_a_stream_without_a_reason_to_end_is_broken():
    pieces = Pieces()
    pieces.add(chunk(content="a"))
    with pytest.raises(ModelError) as found:
        pieces.whole()
    assert (found.value.code, found.value.again) == ("broken_stream", True)


def test_a_folder_refuses_what_is_not_its_own(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.manifest() is None
    assert folder.rows() == []
    with pytest.raises(RunError) as found:
        folder.write_summary()
    assert found.value.code == "no_run"
    with folder.locked(), pytest.raises(RunError) as found, RunFolder(tmp_path).locked():
        pass
    assert found.value.code == "run_in_use"
    (tmp_path / "manifest.json").write_text('{"plan": {}}')
    with pytest.raises(RunError, match="manifest of a run"):
        folder.manifest()
    for text in ("something else\n", '{"schema": "shopsim-trace-v1"}\n'):
        (tmp_path / "traces.jsonl").write_text(text)
        for use in (folder.rows, folder.writer) if text.startswith("some") else (folder.writer,):
            with pytest.raises((TraceError, RunError)):
                use()
        assert (tmp_path / "traces.jsonl").read_text() == text, "left alone"


def test_an_unfinished_only_line_is_cut_off(tmp_path):
    path = tmp_path / "traces.jsonl"
    for torn in (b'{"conversation":[{"con', b'{"conv'):
        path.write_bytes(torn)
        writer = RunFolder(tmp_path).writer()
        assert writer.dropped == len(torn)
        writer.append(EpisodeLine({"schema": "shopsim-episode-v1", "conversation": []}))
        writer.close()
        assert path.read_bytes() == b'{"conversation":[],"schema":"shopsim-episode-v1"}\n'
    path.write_bytes(b'{"actio')
    with TraceWriter(path) as writer:
        assert writer.dropped == 7


def test_a_summary_of_nothing_has_no_numbers():
    made = summary([], 3)
    assert made["counts"] == {"requested": 3, "completed": 0, "failed": 0, "scored": 0, "coverage": 0.0}
    assert made["primary"] == {"reward_mean": None, "reward_sem": None, "success_rate": None}
    assert made["cost"]["total_tokens"] is None


class Terminal:
    """Notes what is written to it."""

    def __init__(self, tty):
        self.text, self.tty = "", tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return self.tty


def record(status="completed", tokens=120):
    final = {"reward": 1.0} if status == "completed" else None
    steps = [{"model": {"usage": {"total_tokens": tokens}}}, {"model": {"usage": None}}]
    return {"status": status, "final": final, "steps": steps}


def test_progress_counts_rate_time_left_and_tokens():
    times = iter([100.0, 103.0, 106.0, 106.0, 110.0, 110.0])
    stream = Terminal(False)
    progress = Progress(12, 2, stream=stream, clock=lambda: next(times))
    progress.add(record())  # after 3 s: nothing is printed yet
    assert stream.text == ""
    progress.add(record("failed"))  # after 6 s; the line is made after 10 s: 2 in 10 s, 8 are left
    assert stream.text == (
        "4/12 episodes, 1 failed, reward 1.000, 12.0/min, 0:00:40 left, 240 tokens (24/s)\n"
    )


def test_a_terminal_gets_a_bar():
    stream = Terminal(True)
    with Progress(2, 0, stream=stream) as progress:
        progress.add(record())
        progress.note("[a note]")
    assert "[a note]" in stream.text
    assert "1/2 episodes" in stream.text
    quiet = Terminal(True)
    with Progress(2, 0, shown=False, stream=quiet) as progress:
        progress.add(record())
        progress.note("a note")
    assert quiet.text == ""
