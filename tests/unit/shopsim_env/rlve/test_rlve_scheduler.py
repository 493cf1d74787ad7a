"""The scheduler: published moves, groups, late results, evaluation, state on disk, kill -9, collections."""

import json
import os
import random
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from shopsim_env.errors import SchedulerStateError, UsageError
from shopsim_env.rlve.collections import COLLECTIONS, ENVIRONMENTS, collection
from shopsim_env.rlve.scheduler import Scheduler
from shopsim_env.rlve.scheduler_state import Rules, Window

# Plays CART for ever and says after each result how many were recorded.
PLAYER = """
import sys
from shopsim_env.rlve.scheduler import Scheduler
scheduler = Scheduler("C1", path=sys.argv[1])
count = 0
while True:
    assert scheduler.record("CART", scheduler.window("CART").high, [True])
    count += 1
    print(count, flush=True)
"""


def played(results: list[tuple[int, bool, int]], **options: Any) -> Scheduler:
    """A scheduler of CART after (level, success, count) results."""
    scheduler = Scheduler(["CART"], **options)
    for d, success, count in results:
        for _ in range(count):
            scheduler.record("CART", d, [success])
    return scheduler


@pytest.mark.parametrize(
    ("results", "window"),
    [
        ([(0, True, 31)], Window(0, 0, Fraction(31), 31)),
        ([(0, True, 29), (0, False, 3)], Window(0, 1)),
        ([(0, True, 28), (0, False, 4)], Window(0, 0, failed_blocks=1)),
        ([(3, True, 64)], Window(0, 0)),
        ([(d, True, 32) for d in range(4)], Window(0, 4)),
        ([(d, True, 32) for d in range(5)], Window(1, 5)),
        ([(d, True, 32) for d in range(10)], Window(6, 10)),
        ([(0, True, 32), (1, False, 320)], Window(0, 1, failed_blocks=10)),
        ([(0, True, 32), *[(0, False, 1), (1, True, 1)] * 31], Window(0, 1, Fraction(31), 31)),
    ],
)
def test_published_moves(results: list[tuple[int, bool, int]], window: Window) -> None:
    assert played(results).window("CART") == window


def test_environments_do_not_touch_each_other() -> None:
    scheduler = Scheduler("C2")
    for _ in range(32):
        scheduler.record("PD", 0, [True])
    assert scheduler.windows() == {"CART": Window(), "PD": Window(0, 1)}


def test_a_group_counts_as_one_prompt_with_its_share() -> None:
    scheduler = Scheduler(["PD"])
    scheduler.record("PD", 0, [True, True, True, False])
    assert scheduler.window("PD") == Window(0, 0, Fraction(3, 4), 1)
    for _ in range(31):
        scheduler.record("PD", 0, [True] * 8)
    assert scheduler.window("PD") == Window(0, 1)


def test_thirds_add_up_exactly() -> None:
    scheduler = Scheduler(["PD"], rules=Rules(block=3, threshold=Fraction(2, 3)))
    for _ in range(3):
        scheduler.record("PD", 0, [True, True, False])
    assert scheduler.window("PD").high == 1


def test_late_results_count_at_their_own_level_only() -> None:
    scheduler = played([(0, True, 32)])
    assert scheduler.record("CART", 0, [False]) is False
    assert scheduler.record("CART", 1, [False]) is True
    assert scheduler.window("CART") == Window(0, 1, Fraction(0), 1)


def test_evaluation_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    scheduler = played([(0, True, 5)], path=path)
    before = path.read_bytes()
    with scheduler.frozen():
        assert scheduler.record("CART", 0, [True]) is False
    assert (scheduler.window("CART").total, path.read_bytes()) == (5, before)
    assert scheduler.record("CART", 0, [True]) is True


def test_levels_are_drawn_uniformly_from_the_window_by_the_given_generator() -> None:
    scheduler = played([(d, True, 32) for d in range(5)])
    first, second = random.Random(7), random.Random(7)  # noqa: S311
    drawn = [scheduler.sample("CART", first) for _ in range(5000)]
    assert drawn == [scheduler.sample("CART", second) for _ in range(5000)]
    assert set(drawn) == {1, 2, 3, 4, 5}
    assert all(850 < drawn.count(d) < 1150 for d in range(1, 6))  # 1000 expected, 5.3 standard deviations


def test_plateau_is_three_failed_blocks_at_the_frontier() -> None:
    assert not played([(0, False, 95)]).report()[0].plateau
    assert played([(0, False, 96)]).report()[0].plateau
    assert not played([(0, False, 96), (0, True, 32)]).report()[0].plateau


@pytest.mark.parametrize("group", [[], [1], ["yes"]])
def test_what_is_no_group_is_refused(group: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Scheduler("C1").record("CART", 0, group)
    assert caught.value.code == "bad_group"


def test_other_environments_levels_and_rules_are_refused() -> None:
    scheduler = Scheduler("C1")
    with pytest.raises(UsageError, match="CART"):
        scheduler.record("PD", 0, [True])
    with pytest.raises(UsageError, match="CART"):
        scheduler.sample("PD", random.Random(0))  # noqa: S311
    with pytest.raises(UsageError):
        scheduler.record("CART", -1, [True])
    with pytest.raises(UsageError):
        Rules(block=0)


def test_a_reloaded_scheduler_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    results = [(0, True, 32), (1, True, 20), (1, False, 4)]
    scheduler = played(results, path=path)
    scheduler.record("CART", 1, [True, False, False])
    again = Scheduler(["CART"], path=path)
    assert again.windows() == scheduler.windows()
    for one in (scheduler, again):
        one.record("CART", 1, [True])
    assert again.windows() == scheduler.windows()


@pytest.mark.parametrize("killed_after", [1, 40, 150])
def test_kill_9_loses_nothing_that_was_recorded(tmp_path: Path, killed_after: int) -> None:
    path = tmp_path / "state.json"
    process = subprocess.Popen(
        [sys.executable, "-c", PLAYER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= killed_after:
                break
        os.kill(process.pid, signal.SIGKILL)
        said = [int(line) for line in process.stdout if line.endswith("\n")]
    least = max([killed_after, *said])
    found = Scheduler("C1", path=path).window("CART")
    # The one result that was being written may or may not be there.
    assert found in [played_perfectly(least), played_perfectly(least + 1)]


def played_perfectly(count: int) -> Window:
    """By hand: every 32 results move the frontier by one."""
    high, rest = divmod(count, 32)
    return Window(max(0, high - 4), high, Fraction(rest), rest)


def test_a_half_written_new_file_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    played([(0, True, 3)], path=path)
    (tmp_path / ".state.json.new").write_text('{"vers', encoding="utf-8")
    assert Scheduler(["CART"], path=path).window("CART").total == 3
    assert played([(0, True, 1)], path=path).window("CART").total == 4


def altered(path: Path, **changes: Any) -> None:
    state = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps(state), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"version": "shopsim-rlve-scheduler-v0"}, "state_version"),
        ({"rules": {"block": 8}}, "other_scheduler"),
        ({"windows": {}}, "other_scheduler"),
        ({"windows": {"CART": {}}}, "unreadable_state"),
        ({"windows": []}, "unreadable_state"),
        (
            {"windows": {"CART": {"low": -1, "high": 0, "correct": "0", "total": 0, "failed_blocks": 0}}},
            "unreadable_state",
        ),
        (
            {"windows": {"CART": {"low": 0, "high": 0, "correct": "1/0", "total": 1, "failed_blocks": 0}}},
            "unreadable_state",
        ),
    ],
)
def test_other_states_are_refused_and_left_alone(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    path = tmp_path / "state.json"
    played([(0, True, 3)], path=path)
    altered(path, **changes)
    before = path.read_bytes()
    with pytest.raises(SchedulerStateError, match=r"expected .* found") as caught:
        Scheduler(["CART"], path=path)
    assert (caught.value.code, path.read_bytes()) == (code, before)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"version"'])
def test_files_that_are_no_state_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchedulerStateError) as caught:
        Scheduler("C1", path=path)
    assert caught.value.code == "unreadable_state"


def test_a_result_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    scheduler = Scheduler("C1", path=tmp_path / "missing" / "state.json")
    with pytest.raises(FileNotFoundError):
        scheduler.record("CART", 0, [True])
    assert scheduler.window("CART") == Window()


def test_collections_nest() -> None:
    assert collection("C1") == ("CART",)
    assert collection("C2") == ("CART", "PD")
    assert collection("C4") == ("CART", "PD", "SUB", "RETURN")
    assert collection("R4") == ("PD", "SUB", "CART", "RETURN")
    assert (collection("R1"), collection("R2")) == (("PD",), ("PD", "SUB"))
    assert set(collection("C8")) == set(collection("R8")) == set(ENVIRONMENTS)
    assert collection(["CART"]) == ("CART",)
    for letter in "CR":
        for small, large in ((1, 2), (2, 4), (4, 8)):
            assert COLLECTIONS[f"{letter}{large}"][:small] == COLLECTIONS[f"{letter}{small}"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("C3", "unknown_collection"), (["CARTS"], "unknown_environment"), ([], "bad_collection")],
)
def test_other_collections_are_refused(name: Any, code: str) -> None:
    with pytest.raises(UsageError, match="expected one") as caught:
        collection(name)
    assert caught.value.code == code
    with pytest.raises(UsageError):
        collection(["PD", "PD"])
