"""The index of a trace file: rows, lines that are none, files that grow, search, filters and sort."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from run_folders import ZERO, failed, line, many

from shopsim_env.errors import RunError
from shopsim_env.runs import index as index_module
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.rows import load_line, row_of
from shopsim_env.runs.select import Wish, chosen, succeeded

RELEASE = "a" * 64


def indexed(path: Path, **options: Any) -> RunIndex:
    found = RunIndex(partial(path.open, "rb"), **options)
    found.advance(60)
    return found


def record(task_id: int, sample_id: int = 0, reward: float = 0.5, **more: Any) -> dict[str, Any]:
    found = next(many(1, RELEASE))
    found["job"] = {"task_id": task_id, "sample_id": sample_id, "seed": 3, "split": None}
    found["episode_id"] = f"task-{task_id:06d}__sample-{sample_id:03d}"
    detail = {**ZERO, "r_strict": reward, "r_success": int(reward == 1)}
    found["final"] = {
        "done": True,
        "reward": reward,
        "termination_reason": "purchase",
        "reward_detail": detail,
    }
    return {**found, **more}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


def test_a_row_says_what_the_line_says(path: Path) -> None:
    path.write_bytes(b"\n" + line(record(3, 2, 1.0, duration_ms=250)))
    (row,) = indexed(path).rows
    assert (row.offset, row.length) == (1, path.stat().st_size - 1)
    assert (row.task_id, row.sample_id, row.seed, row.status, row.reason) == (
        3,
        2,
        3,
        "completed",
        "purchase",
    )
    assert (row.reward, row.duration_ms, row.release) == (1.0, 250.0, RELEASE)
    assert succeeded(row) is True
    steps = row.steps
    assert row.tokens == (100 * steps, 20 * steps, 5 * steps, 120 * steps)


def test_an_environment_trace_is_a_row_too(path: Path) -> None:
    trace = {
        "schema": "shopsim-trace-v1",
        "release": RELEASE,
        "task_id": 4,
        "seed": None,
        "actions": ["search[杯]", "click[buy now]"],
        "ended_by": "action",
        "termination_reason": "purchase",
        "reward": 0.25,
        "reward_detail": {"r_success": 0},
    }
    path.write_bytes(line(trace) + line({**trace, "ended_by": None, "reward": None, "reward_detail": {}}))
    ended, left = indexed(path).rows
    assert (ended.episode_id, ended.steps, ended.reward, ended.status) == (
        "line-000001",
        2,
        0.25,
        "completed",
    )
    assert (left.episode_id, left.status, left.reward, succeeded(left)) == (
        "line-000002",
        "unfinished",
        None,
        None,
    )
    assert (ended.sample_id, ended.invalid, ended.tokens) == (None, None, None)


BAD = [
    b"\n\n",
    b"not json\n",
    b"[1]\n",
    b'{"schema":"another"}\n',
    b'{"schema":"shopsim-episode-v1","job":{"task_id":"3"}}\n',
    b'{"schema":"shopsim-episode-v1","job":{"task_id":true}}\n',
    b'{"schema":"shopsim-episode-v1","job":{"task_id":1e999}}\n',
    b'{"schema":"shopsim-episode-v1","job":{"task_id":NaN}}\n',
    b'{"schema":"shopsim-episode-v1","job":{"task_id":' + b"9" * 400 + b"}}\n",
    b"\xff\xfe{}\n",
    b'{"a":' * 100_000 + b"\n",
]


@pytest.mark.parametrize("bad", BAD)
def test_a_line_that_is_no_episode_is_counted_and_harmless(path: Path, bad: bytes) -> None:
    path.write_bytes(line(record(1)) + bad + line(record(2)))
    found = indexed(path)
    assert [row.task_id for row in found.rows] == [1, 2]
    assert found.invalid == (0 if not bad.strip() else 1)
    assert found.done
    assert load_line(found.line(found.rows[1]))["job"]["task_id"] == 2


@pytest.mark.parametrize("value", [None, True, 3, 2.5, "x", [], {}, [{}], [[1]]])
@pytest.mark.parametrize("name", ["steps", "final", "reset", "error", "provenance", "duration_ms", "status"])
def test_values_of_other_types_are_left_out(name: str, value: Any) -> None:
    row = row_of(record(1, **{name: value}), 1, 0, 1)
    assert row.task_id == 1


def test_the_last_line_of_an_episode_wins(path: Path) -> None:
    path.write_bytes(line(failed(RELEASE, 1, 0)) + line(record(2)) + line(record(1, 0, 1.0)))
    found = indexed(path)
    assert [(row.task_id, row.status) for row in found.rows] == [(1, "completed"), (2, "completed")]
    assert (found.lines, found.replaced) == (3, 1)
    assert found.row("task-000001__sample-000").reward == 1.0
    with pytest.raises(RunError) as caught:
        found.row("task-000009__sample-000")
    assert caught.value.code == "unknown_episode"


def test_a_file_that_grows_is_read_on_from_where_it_ended(path: Path) -> None:
    path.write_bytes(line(record(1)) + line(record(2))[:40])
    found = indexed(path)
    assert ([row.task_id for row in found.rows], found.torn, found.done) == ([1], 40, True)
    with path.open("ab") as stream:
        stream.write(line(record(2))[40:] + line(record(3)).rstrip())
    before = found.version
    found.advance(60)
    assert [row.task_id for row in found.rows] == [1, 2, 3], (
        "a last line that only lacks its newline is whole"
    )
    assert found.version != before
    assert found.generation == before[0], "nothing was read twice"
    with path.open("ab") as stream:
        stream.write(b"\n" + line(record(4)))
    found.advance(60)
    assert [row.task_id for row in found.rows] == [1, 2, 3, 4]
    assert (found.lines, found.invalid) == (4, 0)


def test_a_file_that_was_cut_or_replaced_is_read_anew(path: Path) -> None:
    path.write_bytes(line(record(1)) + line(record(2)))
    found = indexed(path)
    path.write_bytes(line(record(7)))
    found.advance(60)
    assert [row.task_id for row in found.rows] == [7]
    other = path.with_name("other")
    other.write_bytes(line(record(8)) + line(record(9)))
    other.rename(path)
    found.advance(60)
    assert [row.task_id for row in found.rows] == [8, 9]


def test_a_slice_of_time_reads_a_part(path: Path) -> None:
    path.write_bytes(b"".join(line(one) for one in many(20, RELEASE)))
    found = RunIndex(partial(path.open, "rb"), pause=True)
    found.advance(0)
    assert (len(found.rows), found.done) == (1, False)
    while not found.done:
        found.advance(0)
    assert len(found.rows) == 20


def test_pauses_leave_time_to_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_BREATH", 0.0)
    monkeypatch.setattr(index_module, "_PAUSE", 0.0)
    path.write_bytes(b"".join(line(one) for one in many(5, RELEASE)))
    assert len(indexed(path, pause=True).rows) == 5


def test_a_line_without_end_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_MOST_BYTES", 10_000)
    path.write_bytes(line(record(1)) + b"x" * 25_000 + b"\n" + line(record(2)))
    found = indexed(path)
    assert ([row.task_id for row in found.rows], found.invalid, found.lines) == ([1, 2], 1, 3)


ROWS = [
    row_of(one, number, number, 1)
    for number, one in enumerate(
        [
            record(12, 0, 1.0, duration_ms=5),
            record(2, 1, 0.0, duration_ms=9),
            record(2, 0, 0.5),
            failed(RELEASE, 30, 0, "timeout", "late"),
        ]
    )
]


@pytest.mark.parametrize(
    ("wish", "places"),
    [
        (Wish(), [2, 1, 0, 3]),
        (Wish(descending=True), [3, 0, 1, 2]),
        (Wish(sort="reward"), [3, 1, 2, 0]),
        (Wish(sort="reward", descending=True), [0, 2, 1, 3]),
        (Wish(sort="file"), [0, 1, 2, 3]),
        (Wish(status="failed"), [3]),
        (Wish(success="yes"), [0]),
        (Wish(success="no"), [2, 1]),
        (Wish(reason="purchase"), [2, 1, 0]),
        (Wish(reason="action_limit"), []),
        (Wish(find=" 12 "), [0]),
        (Wish(find="000002__"), [2, 1]),
        (Wish(find="TIMEOUT"), [3]),
        (Wish(find="杯子"), [2, 1, 0, 3]),
        (Wish(find="nothing"), []),
    ],
)
def test_search_filters_and_sort(wish: Wish, places: list[int]) -> None:
    assert chosen(ROWS, wish) == places


@pytest.mark.parametrize("sort", ["steps", "invalid", "duration", "tokens"])
def test_every_sort_keeps_every_row(sort: str) -> None:
    assert sorted(chosen(ROWS, Wish(sort=sort))) == [0, 1, 2, 3]
