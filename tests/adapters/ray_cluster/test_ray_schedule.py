"""RLVE's schedule as one actor: many workers, one state, and nothing lost when the actor is killed."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from worker_functions import ENVIRONMENTS, attach, report_some

from shopsim_env.errors import ScheduleError
from shopsim_env.rlve.schedule_file import ScheduleFile
from shopsim_env.rlve.scheduler import Result, Settings, Window

pytestmark = pytest.mark.usefixtures("cluster")


def test_many_workers_share_one_state(tmp_path: Path) -> None:
    import ray

    path = tmp_path / "many.json"
    worker = ray.remote(num_cpus=0.5)(report_some)
    answers = ray.get([worker.remote(path, first, 4, 64) for first in range(4)])
    # 32 successes move the frontier to 1; the other 32 are late for it, whoever sent them.
    flat = [answer for one in answers for answer in one]
    assert (flat.count("counted"), flat.count("off_frontier")) == (32, 32)
    shared = attach(path)
    assert shared.windows() == {"PD": Window(low=0, high=1, waited=32), "CART": Window()}
    assert {shared.draw("PD", prompt) for prompt in range(64, 96)} == {0, 1}
    shared.stop()


def test_kill_and_reload_gives_the_same_windows(tmp_path: Path) -> None:
    results = [Result(number, "CART", 0, successes=number % 8, rollouts=7) for number in range(40)]
    alone = ScheduleFile(
        tmp_path / "alone.json", suite="suite-v1", environments=ENVIRONMENTS, settings=Settings(seed=7)
    )
    expected = [alone.report(result) for result in results]
    shared, found = attach(tmp_path / "killed.json"), []
    for number, result in enumerate(results):
        if number % 10 == 5:
            before = shared.process(), shared.windows()
            os.kill(before[0], signal.SIGKILL)
            assert shared.windows() == before[1]
            assert shared.process() != before[0]
        found.append(shared.report(result))
    assert found == expected
    # A log may be sent again from its beginning.
    assert shared.report_all(results) == ["repeated"] * 40
    assert shared.plateaus() == alone.plateaus()
    shared.stop()
    assert (tmp_path / "killed.json").read_bytes() == (tmp_path / "alone.json").read_bytes()
    again = attach(tmp_path / "killed.json")
    assert again.plateaus() == alone.plateaus()
    again.stop()


def test_a_frozen_schedule_stays_so_for_everybody(tmp_path: Path) -> None:
    one, other = attach(tmp_path / "frozen.json"), attach(tmp_path / "frozen.json")
    with one.evaluating():
        with other.evaluating():
            assert other.report(Result(0, "PD", 0, successes=1)) == "frozen"
        assert one.report(Result(0, "PD", 0, successes=1)) == "frozen"
    assert other.report(Result(0, "PD", 0, successes=1)) == "counted"
    one.stop()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"suite": "suite-v2"}, "suite"),
        ({"environments": ("PD",)}, "environments"),
        ({"settings": Settings(seed=8)}, "settings"),
    ],
)
def test_another_schedule_under_the_name_is_refused(tmp_path: Path, change: Any, named: str) -> None:
    first = attach(tmp_path / "taken.json")
    with pytest.raises(ScheduleError, match=f"expected {named}") as caught:
        attach(tmp_path / "taken.json", **change)
    assert caught.value.code == "schedule_mismatch"
    first.stop()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "damaged.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ScheduleError) as caught:
        attach(path)
    assert caught.value.code == "schedule_damaged"
