"""`RayPool` on two nodes: the episodes of `EnvPool`, and what is left when an actor is killed or hangs."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shopsim_env import EnvPool, Release, ShopSimError, Step, load_release
from shopsim_env.adapters.ray import RayPool
from shopsim_env.adapters.ray.actors import Actors
from shopsim_env.errors import EpisodeError, PoolError, ReleaseError, ServiceError, TaskError, UsageError

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(release: Release) -> Iterator[RayPool]:
    """Two actors with five slots each; every test gives back what it takes."""
    with RayPool(release, actors=2, slots=5, task_mode="persona") as pool:
        yield pool


@pytest.fixture
def pool(shared: RayPool) -> Iterator[RayPool]:
    yield shared
    assert shared.free_slots == 10


def tasks_at(release: Release, home: int, count: int) -> list[int]:
    """The first tasks whose number divided by two leaves `home`."""
    return [task_id for task_id in release.tasks if task_id % 2 == home][:count]


def play(pool: Any, slots: list[int], texts: list[str]) -> list[list[Step]]:
    """A search, its first product and its purchase in every slot; the steps by round."""
    asked = {slot: f"search[{text}]" for slot, text in zip(slots, texts, strict=True)}
    rounds = [list(pool.step(asked).values())]
    first = [step.observation_state["products"][0]["asin"] for step in rounds[0]]
    opened = {slot: f"click[{asin}]" for slot, asin in zip(slots, first, strict=True)}
    rounds.append(list(pool.step(opened).values()))
    rounds.append(list(pool.step(dict.fromkeys(slots, "click[buy now]")).values()))
    return rounds


def test_the_same_episodes_as_in_this_process(release: Release, pool: RayPool) -> None:
    ids = [*tasks_at(release, 0, 3), *tasks_at(release, 1, 2)]
    local = EnvPool(release, 10, task_mode="persona")
    here, there = local.reset(ids, seed=5), pool.reset(ids, seed=5)
    assert [one.start for one in here] == [one.start for one in there]
    # Even tasks in the first actor, odd ones in the second.
    assert [one.slot for one in there] == [0, 1, 2, 5, 6]
    texts = [one.start.task_instruction for one in here]
    played = play(pool, [one.slot for one in there], texts)
    assert played == play(local, [one.slot for one in here], texts)
    assert {step.valid for step in played[0]} == {True}
    pool.give_back([one.slot for one in there])


def test_groups_start_as_in_this_process_and_their_ids_count_up(release: Release) -> None:
    (task,) = tasks_at(release, 1, 1)
    local = EnvPool(release, 6)
    with RayPool(release, actors=2, slots=3) as pool:
        for _ in range(2):
            here, there = local.reset_group(task, 2, seed=1), pool.reset_group(task, 2, seed=1)
            # The second group finds one free slot at its home and goes to the other actor.
            assert there == replace(here, members=there.members)
            assert [one.start for one in there.members] == [one.start for one in here.members]
        assert there.slots == (0, 1)
        assert there.group_id == f"task-{task:06d}__group-000002"
        assert pool.tools(0) == local.tools(0)
        ended = pool.terminate(there.slots, "generation_length")
        assert [*ended.values()] == [*local.terminate(here.slots, "generation_length").values()]
        with pytest.raises(EpisodeError, match="has ended") as caught:
            pool.step({0: "search[杯]"})
        assert caught.value.code == "ended"


def test_the_actors_are_on_two_nodes(pool: RayPool) -> None:
    from ray._private.state import actors

    pids = {process["pid"] for process in pool.processes()}
    nodes = {actor["Address"]["NodeID"] for actor in actors().values() if actor.get("Pid") in pids}
    assert (len(pids), len(nodes)) == (2, 2)
    assert all(process["peak_bytes"] > 20 << 20 for process in pool.processes())


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda pool, ids: pool.reset([ids[0], ids[0]]), TaskError, "duplicate_task"),
        (lambda pool, ids: pool.reset([ids[0], ids[1], 10**9]), TaskError, "unknown_task"),
        (lambda pool, _: pool.reset(["0"]), TaskError, "task_error"),
        (lambda pool, ids: pool.reset_group(ids[0], 0), UsageError, "usage_error"),
        (lambda pool, ids: pool.reset_group(ids[0], 6), PoolError, "capacity"),
        (lambda pool, ids: pool.reset(ids[:11]), PoolError, "capacity"),
        (lambda pool, _: pool.step({3: "search[杯]"}), PoolError, "not_owned"),
        (lambda pool, _: pool.give_back([3]), PoolError, "not_owned"),
    ],
)
def test_wrong_use_changes_nothing(release: Release, pool: RayPool, call: Any, kind: Any, code: str) -> None:
    with pytest.raises(kind) as caught:
        call(pool, list(release.tasks))
    assert (type(caught.value) is kind or kind is TaskError, caught.value.code) == (True, code)
    assert pool.free_slots == 10
    # All ten slots of the actors are free too.
    started = pool.reset(list(release.tasks)[:10])
    pool.give_back([one.slot for one in started])


def test_another_release_is_refused(release: Release) -> None:
    other = Actors(1, (str(release.path), "0" * 64, 2, {}), {}, 60)
    with pytest.raises(
        ReleaseError, match=f"expected release {'0' * 64}, as the driver has, found {release.id}"
    ) as caught:
        other.start([0])
    assert caught.value.code == "release_mismatch"


def test_options_are_refused_as_in_this_process(release: Release) -> None:
    with pytest.raises(UsageError, match="task_mode"):
        RayPool(release, task_mode="other")


def test_a_killed_actor_is_no_reward(release: Release, pool: RayPool) -> None:
    ids = [*tasks_at(release, 0, 5), *tasks_at(release, 1, 5)]
    slots = [one.slot for one in pool.reset(ids, seed=2)]
    before = [process["pid"] for process in pool.processes()]
    os.kill(before[0], signal.SIGKILL)
    for _ in range(2):
        steps = pool.step(dict.fromkeys(slots, "search[收纳]"))
        lost, going = [steps[slot] for slot in range(5)], [steps[slot] for slot in range(5, 10)]
        assert {(step.valid, step.failure_kind, step.reward, step.done) for step in lost} == {
            (False, "env_crash", None, False)
        }
        assert {step.info["error"] for step in lost} == {"actor_lost"}
        assert {(step.valid, step.failure_kind, step.reward) for step in going} == {(True, None, 0.0)}
    ended = pool.terminate(slots, "action_limit")
    assert [step.valid for step in ended.values()] == [False] * 5 + [True] * 5
    with pytest.raises(ServiceError) as caught:
        pool.tools(0)
    assert (caught.value.code, caught.value.failure_kind) == ("actor_lost", "env_crash")
    pool.give_back(slots)
    # The next reset has a new actor, and the other one is the same.
    again = pool.reset(ids[:2], seed=2)
    after = [process["pid"] for process in pool.processes()]
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert pool.step({again[0].slot: "search[收纳]"})[again[0].slot].valid
    pool.give_back([one.slot for one in again])


def test_lost_slots_are_nobody_elses_until_they_are_given_back(release: Release, pool: RayPool) -> None:
    ids = tasks_at(release, 0, 5)
    lost = pool.reset(ids[:3])
    os.kill(pool.processes()[0]["pid"], signal.SIGKILL)
    assert not pool.step({0: "search[杯]"})[0].valid
    new = pool.reset(ids[3:5])
    # The new actor counts from 0 again; the driver's numbers do not.
    assert [one.slot for one in new] == [3, 4]
    steps = pool.step(dict.fromkeys(range(5), "search[杯]"))
    assert [step.valid for step in steps.values()] == [False] * 3 + [True] * 2
    pool.give_back([one.slot for one in [*lost, *new]])


def test_an_actor_that_dies_at_a_reset_takes_no_slot(release: Release, pool: RayPool) -> None:
    ids = [*tasks_at(release, 0, 2), *tasks_at(release, 1, 2)]
    os.kill(pool.processes()[1]["pid"], signal.SIGKILL)
    with pytest.raises(ServiceError) as caught:
        pool.reset(ids)
    assert (caught.value.code, caught.value.failure_kind) == ("actor_lost", "env_crash")
    assert pool.free_slots == 10
    pool.give_back([one.slot for one in pool.reset(ids)])


def test_an_actor_that_hangs_is_given_up(release: Release) -> None:
    ids = [*tasks_at(release, 0, 1), *tasks_at(release, 1, 1)]
    with RayPool(release, actors=2, slots=1, timeout_s=60) as pool:
        pool.reset(ids)
        pool._actors._timeout_s = 3
        pid = pool.processes()[0]["pid"]
        os.kill(pid, signal.SIGSTOP)
        steps = pool.step(dict.fromkeys((0, 1), "search[收纳]"))
        assert [(step.valid, step.failure_kind, step.reward) for step in steps.values()] == [
            (False, "timeout", None),
            (True, None, 0.0),
        ]
        with suppress(ProcessLookupError):  # ended already
            os.kill(pid, signal.SIGCONT)
        # A late answer must not make the lost episode go on.
        assert pool.step({0: "search[收纳]"})[0].failure_kind == "timeout"


def test_a_closed_pool(release: Release) -> None:
    pool = RayPool(release, slots=1)
    pool.close()
    pool.close()
    for call in (lambda: pool.reset([0]), lambda: pool.step({}), lambda: pool.give_back([])):
        with pytest.raises(PoolError) as caught:
            call()
        assert caught.value.code == "closed"


def test_no_goal_text_in_what_ray_writes(release: Release, pool: RayPool, cluster: Any) -> None:
    """Ray's logs of the session, after every test above, hold no private text of the tasks played."""
    goals = [
        release.private().goal(task_id) for task_id in [*tasks_at(release, 0, 5), *tasks_at(release, 1, 5)]
    ]
    private = {goal.instruction for goal in goals if goal.has_persona}
    assert private
    folder = Path(cluster.head_node.get_session_dir_path()) / "logs"
    logs = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert logs
    assert not [text for text in private if any(text.encode() in log for log in logs)]
    with pytest.raises(ShopSimError) as caught:
        pool.reset([goals[0].task_id, 10**9])
    assert not any(text in str(caught.value) for text in private)
