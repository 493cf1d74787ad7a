"""What of the Ray adapter needs no cluster; `tests/adapters/ray_cluster` has the rest."""

import sys
from pathlib import Path

import pytest

from shopsim_env import EnvPool, load_release
from shopsim_env.adapters.ray import RayPool, SharedSchedule, home_of
from shopsim_env.adapters.ray.host import PoolHost
from shopsim_env.adapters.ray.schedule import ScheduleHost
from shopsim_env.errors import ReleaseError, ScheduleError, TaskError, UsageError
from shopsim_env.pool.slots import failed_step
from shopsim_env.rlve.scheduler import Result, Settings, Window


def test_tasks_go_round_the_actors() -> None:
    assert [home_of(task_id, 3) for task_id in (0, 1, 2, 3, 700)] == [0, 1, 2, 0, 1]
    assert home_of("700", 3) == 0  # type: ignore[arg-type]


def test_a_host_is_the_pool_over_the_release_of_its_path() -> None:
    with load_release() as release:
        host, pool = (
            PoolHost(str(release.path), release.id, 3, {"page_size": 5}),
            EnvPool(release, 3, page_size=5),
        )
        group = host.call("reset_group", (3, 2), {"seed": 1})
        assert group == pool.reset_group(3, 2, seed=1)
        actions = dict.fromkeys(group.slots, f"search[{group.members[0].start.task_instruction}]")
        assert host.call("step", (actions,), {}) == pool.step(actions)
        with pytest.raises(TaskError):
            host.call("reset", ([10**9],), {"seed": None})
        process = host.process()
    assert process["pid"] > 0
    assert process["peak_bytes"] > 10 << 20


def test_a_host_refuses_another_release_at_every_call() -> None:
    with load_release() as release:
        host = PoolHost(str(release.path), "0" * 64, 1, {})
        for _ in range(2):
            with pytest.raises(
                ReleaseError, match=f"expected release 0{{64}}.* found {release.id}"
            ) as caught:
                host.process()
            assert caught.value.code == "release_mismatch"


def test_an_infrastructure_failure_is_no_reward() -> None:
    step = failed_step("actor_lost", "env_crash")
    assert (step.valid, step.failure_kind, step.reward, step.done) == (False, "env_crash", None, False)
    assert step.info == {"error": "actor_lost"}


def test_a_schedule_host_serves_those_who_expect_it(tmp_path: Path) -> None:
    identity = (str(tmp_path / "s.json"), "s1", ("PD", "CART"), Settings(block=2))
    host = ScheduleHost(identity)
    assert host.call(identity, "report", Result(0, "PD", 0, 1)) == "counted"
    assert host.call(identity, "report_all", [Result(1, "PD", 0, 1), Result(0, "PD", 0, 1)]) == [
        "counted",
        "repeated",
    ]
    assert host.call(identity, "windows") == {"PD": Window(high=1), "CART": Window()}
    assert host.call(identity, "frozen") is False
    with pytest.raises(ScheduleError, match="expected suite 's2', found 's1'") as caught:
        host.call((identity[0], "s2", *identity[2:]), "windows")
    assert caught.value.code == "schedule_mismatch"
    # Another process of the same identity goes on with the file.
    assert ScheduleHost(identity).call(identity, "windows") == host.call(identity, "windows")


@pytest.mark.parametrize(
    "asked",
    [{"actors": 0}, {"slots": True}, {"timeout_s": 0}, {"timeout_s": float("inf")}],
    ids=lambda asked: "-".join(map(str, asked)),
)
def test_numbers_out_of_range(asked: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(asked))):
        RayPool(**asked)  # type: ignore[arg-type]


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"install 'shopsim\[ray\]'") as caught:
        RayPool()
    assert caught.value.code == "missing_extra"
    with pytest.raises(UsageError) as caught:
        SharedSchedule(tmp_path / "s.json", suite="s1", environments=("PD",))
    assert caught.value.code == "missing_extra"
    assert list(tmp_path.iterdir()) == []
