"""The shared schedule on disk: round trips, refusals, many processes at once, and real kills."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from shopsim_env.errors import ScheduleError, UsageError
from shopsim_env.rlve import schedule_file
from shopsim_env.rlve.schedule_file import ScheduleFile
from shopsim_env.rlve.scheduler import Result, Schedule, Settings, new_schedule

NAMES = ("PD", "CART")
SETTINGS = Settings(seed=3, block=4)
# Reports results FIRST, FIRST + STEP, ... below END, and says so line by line. Every fifth result fails.
WORKER = """
import sys
from shopsim_env.rlve.schedule_file import ScheduleFile
from shopsim_env.rlve.scheduler import Result, Settings
path, first, step, end = sys.argv[1], *map(int, sys.argv[2:])
shared = ScheduleFile(path, suite="s1", environments=("PD", "CART"), settings=Settings(seed=3, block=4))
for prompt in range(first, end, step):
    name = ("PD", "CART")[prompt % 2]
    shared.report(Result(prompt, name, prompt // 60, 8 if prompt % 5 else 1, 8))
    print(prompt, flush=True)
"""


def shared(path: Path, **changes: Any) -> ScheduleFile:
    return ScheduleFile(path, **{"suite": "s1", "environments": NAMES, "settings": SETTINGS, **changes})


def worker(path: Path, first: int, step: int, end: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), str(first), str(step), str(end)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def replayed(count: int) -> Schedule:
    """What the worker's first `count` results lead to, in memory."""
    schedule = new_schedule(NAMES, SETTINGS)
    for prompt in range(count):
        result = Result(prompt, NAMES[prompt % 2], prompt // 60, 8 if prompt % 5 else 1, 8)
        schedule, _ = schedule.after(result)
    return schedule


def test_a_reload_gives_the_same_state_and_the_same_draws(tmp_path: Path):
    path = tmp_path / "new" / "schedule.json"
    first = shared(path)
    assert first.read() == new_schedule(NAMES, SETTINGS)
    for prompt in range(4):
        assert first.report(Result(prompt, "PD", 0, 1)) == "counted"
    assert first.report(Result(9, "PD", 0, 0)) == "off_frontier"
    assert first.report(Result(10, "CART", 0, 1, 3)) == "counted"
    assert first.report(Result(10, "CART", 0, 1, 3)) == "repeated"
    again = shared(path)
    assert again.read() == first.read()
    window = again.read().window("CART")
    assert (window.correct, window.total, window.waited) == (Fraction(1, 3), 1, 1)
    assert (again.read().window("PD").low, again.read().window("PD").high) == (0, 1)
    assert again.read().taken == ((0, 4), (9, 11))
    draws = [first.draw("PD", prompt) for prompt in range(20)]
    assert draws == [again.draw("PD", prompt) for prompt in range(20)]
    assert set(draws) == {0, 1}
    assert again.plateaus() == first.read().plateaus()
    assert sorted(item.name for item in path.parent.iterdir()) == ["schedule.json", "schedule.json.lock"]


def test_an_evaluation_freezes_every_worker_and_outlives_the_process(tmp_path: Path):
    path = tmp_path / "schedule.json"
    one, other = shared(path), shared(path)
    with one.evaluating():
        assert other.report(Result(0, "PD", 0, 1)) == "frozen"
        assert shared(path).read().frozen
    assert other.read() == new_schedule(NAMES, SETTINGS)
    assert other.report(Result(0, "PD", 0, 1)) == "counted"
    one.freeze()
    assert shared(path).report(Result(1, "PD", 0, 1)) == "frozen"
    other.thaw()
    assert one.report(Result(1, "PD", 0, 1)) == "counted"


def test_an_inner_evaluation_does_not_end_the_outer_one(tmp_path: Path):
    path = tmp_path / "schedule.json"
    one, other = shared(path), shared(path)
    with one.evaluating():
        with other.evaluating():
            pass
        assert one.report(Result(0, "PD", 0, 1)) == "frozen"
    assert one.report(Result(0, "PD", 0, 1)) == "counted"
    one.freeze()
    with other.evaluating():
        pass
    assert one.report(Result(1, "PD", 0, 1)) == "frozen"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suite": "s2"}, "expected suite 's2', found 's1'; nothing was changed. Run with what the file"),
        ({"settings": Settings(seed=4, block=4)}, "expected settings .*'seed': 4.*found .*'seed': 3"),
        ({"settings": Settings(seed=3)}, "expected settings .*'block': 32.*found .*'block': 4"),
        ({"environments": ("PD",)}, "expected environments .'PD'., found .'PD', 'CART'."),
    ],
)
def test_another_run_is_refused(tmp_path: Path, changes: dict[str, Any], message: str):
    path = tmp_path / "schedule.json"
    shared(path)
    before = path.read_bytes()
    with pytest.raises(ScheduleError, match=message) as caught:
        shared(path, **changes)
    assert caught.value.code == "schedule_mismatch"
    assert path.read_bytes() == before


def test_another_version_is_refused(tmp_path: Path):
    path = tmp_path / "schedule.json"
    shared(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("schedule-v1", "schedule-v9"), encoding="utf-8")
    with pytest.raises(ScheduleError, match=r"expected schema '.*v1', found '.*v9'"):
        shared(path)


@pytest.mark.parametrize(
    "change",
    [
        {"low": -1},
        {"low": 1},
        {"high": 5},
        {"high": "0"},
        {"total": 4},
        {"correct": "2"},
        {"correct": "-1"},
        {"correct": "1/0"},
        {"correct": 1},
        {"correct": None},
        {"failed_blocks": 1},
        {"failed_correct": "1"},
        {"waited": 0},
        {"waited": float("inf")},
        {"another": 1},
    ],
)
def test_a_window_that_no_results_lead_to_is_refused(tmp_path: Path, change: dict[str, object]):
    path = tmp_path / "schedule.json"
    shared(path).report(Result(0, "PD", 0, 1))
    value = json.loads(path.read_text(encoding="utf-8"))
    value["windows"]["PD"].update(change)
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(ScheduleError, match="restore the file from a copy") as caught:
        shared(path)
    assert caught.value.code == "schedule_damaged"


@pytest.mark.parametrize(
    "change",
    [
        {"taken": [[1, 0]]},
        {"taken": [[0, 1], [1, 2]]},
        {"taken": [[-1, 2]]},
        {"taken": 3},
        {"frozen": 1},
        {"windows": {}},
    ],
)
def test_other_impossible_states_are_refused(tmp_path: Path, change: dict[str, object]):
    path = tmp_path / "schedule.json"
    shared(path)
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**value, **change}), encoding="utf-8")
    with pytest.raises(ScheduleError) as caught:
        shared(path)
    assert caught.value.code == "schedule_damaged"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"schema": "shop'])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, data: bytes):
    path = tmp_path / "schedule.json"
    path.write_bytes(data)
    with pytest.raises(ScheduleError, match="expected a JSON object") as caught:
        shared(path)
    assert caught.value.code == "schedule_damaged"


def test_a_place_that_cannot_be_used_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "blocked.building").mkdir()
    for name in ("file/schedule.json", "bytes", "blocked"):
        with pytest.raises(ScheduleError, match="folder of yours") as caught:
            shared(tmp_path / name)
        assert caught.value.code == "schedule_unusable"
    monkeypatch.setattr(schedule_file, "fcntl", None)
    with pytest.raises(ScheduleError, match="a system with file locks"):
        shared(tmp_path / "schedule.json")


def test_several_processes_lose_no_result(tmp_path: Path):
    """An update lost to another process would leave a hole in `taken`."""
    path = tmp_path / "schedule.json"
    processes = [worker(path, first, 3, 120) for first in range(3)]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [len(lines) for lines in said] == [40, 40, 40]
    schedule = shared(path).read()
    assert schedule.taken == ((0, 120),)


def test_kills_leave_a_whole_state_and_a_replay_of_the_log_ends_at_the_same_windows(tmp_path: Path):
    """A worker is killed again and again; each new one starts the log from its beginning."""
    path = tmp_path / "schedule.json"
    end = 0
    for fresh in (7, 12, 20, 5, 16):
        process = worker(path, 0, 1, 10_000)
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if int(line) == end + fresh:
                    break
            os.kill(process.pid, 9)
            answered = int([line, *process.stdout][-1]) + 1
        assert process.wait(timeout=60) == -9
        schedule = shared(path).read()
        ((first, end),) = schedule.taken
        # A result whose answer was given is there; the one in the making is, or is not.
        assert first == 0
        assert end in (answered, answered + 1)
        assert schedule == replayed(end)
    process = worker(path, 0, 1, end + 100)
    assert process.communicate(timeout=60)[0].split()[-1] == str(end + 99)
    assert shared(path).read() == replayed(end + 100)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["schedule.json", "schedule.json.lock"]


def test_what_a_killed_writer_left_behind_is_overwritten(tmp_path: Path):
    path = tmp_path / "schedule.json"
    shared(path).report(Result(0, "PD", 0, 1))
    (tmp_path / "schedule.json.building").write_bytes(b'{"schema": ' * 1000)
    assert shared(path).report(Result(1, "PD", 0, 1)) == "counted"
    assert shared(path).read().taken == ((0, 2),)


def test_results_of_one_step_count_by_prompt_whoever_was_first(tmp_path: Path):
    # By number: three successes and one failure of PD, 3/4 < 9/10, then a block of four successes: level 1.
    results = [Result(number, "PD", 0, int(number != 2)) for number in range(8)]
    answers = []
    for name, order in (("a", results), ("b", results[::-1]), ("c", results[4:] + results[:4])):
        schedule = shared(tmp_path / name)
        answers.append(schedule.report_all(order))
        window = schedule.read().windows["PD"]
        assert (window.high, window.total, window.failed_blocks) == (1, 0, 0)
    assert answers == [["counted"] * 8] * 3
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    one_by_one = shared(tmp_path / "d")
    for result in results[::-1]:
        one_by_one.report(result)
    # Backwards the first block is the good one, and the failure belongs to a level that is past.
    assert one_by_one.read().windows["PD"].waited == 4


def test_a_step_is_taken_whole_or_not_at_all(tmp_path: Path):
    schedule = shared(tmp_path / "s.json")
    before = schedule.path.read_bytes()
    with pytest.raises(UsageError) as caught:
        schedule.report_all([Result(0, "PD", 0, 1), Result(1, "BUNDLE", 0, 1)])
    assert caught.value.code == "unknown_environment"
    assert schedule.report_all([]) == []
    assert schedule.path.read_bytes() == before
