"""Leases: who owns what and for how long, fencing, waiting, repeated requests. The clock is a number."""

import dataclasses

import pytest
from shop_world import LAMP, shop_release

from shopsim_env.errors import EpisodeError, PoolError, SearchIndexError, TaskError, TraceError, UsageError
from shopsim_env.pool import EpisodeRequest, LeasePool
from shopsim_env.shop.env import ShopEnv

LAMPS = "search[星野台灯]"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def release(tmp_path):
    small = shop_release(tmp_path)
    yield small
    small.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def pool(release, clock):
    return LeasePool(release, 2, ttl_s=10, max_waiting=2, clock=clock)


def code_of(error: type[Exception], call, *arguments, **more) -> str:
    with pytest.raises(error) as caught:
        call(*arguments, **more)
    return caught.value.code


def task(number: int = 3, **more) -> EpisodeRequest:
    return EpisodeRequest(task_id=number, **more)


def test_an_episode_is_that_of_a_single_environment(release, pool):
    lease = pool.open(task(8, options={"task_mode": "standard"}))
    env = ShopEnv(release, task_mode="standard")
    assert lease.start == env.reset(8)
    for action in (LAMPS, f"click[{LAMP}]", {"name": "click", "arguments": {"value": "颜色分类=沙色"}}):
        assert pool.step(lease.id, action, fence=lease.fence) == env.step(action)
    assert pool.terminate(lease.id, "generation_length", fence=lease.fence) == env.terminate(
        "generation_length"
    )
    assert lease.done
    assert code_of(EpisodeError, pool.step, lease.id, LAMPS, fence=lease.fence) == "ended"
    assert (pool.free_slots, pool.running) == (1, 0), "owned after the end as well"
    assert pool.give_back(lease.id)
    assert not pool.give_back(lease.id)
    assert pool.free_slots == 2
    assert dataclasses.asdict(pool.counters) | {} == {
        **dict.fromkeys(dataclasses.asdict(pool.counters), 0),
        "opened": 1,
        "steps": 4,
        "ended": 1,
        "released": 1,
        "stale": 0,
    }


def test_ids_are_secrets_and_fences_go_up(pool):
    first = pool.open(task())
    pool.give_back(first.id)
    second = pool.open(task())
    assert first.id != second.id
    assert len(first.id) >= 32
    assert (first.slot, second.slot) == (0, 0)
    assert second.fence > first.fence
    assert first.id not in repr(first)


def test_a_lease_lives_as_long_as_it_is_used(pool, clock):
    lease = pool.open(task())
    other = pool.open(task())
    for _ in range(3):
        clock.now += 9
        pool.use(lease.id, lease.fence)
    pool.sweep()
    assert pool.free_slots == 1, "the other one was not used"
    assert code_of(PoolError, pool.use, other.id) == "lease_lost"
    clock.now += 9
    pool.step(lease.id, LAMPS, fence=lease.fence)
    clock.now += 9.5
    assert not lease.done
    pool.use(lease.id)
    clock.now += 10
    assert code_of(PoolError, pool.step, lease.id, LAMPS, fence=lease.fence) == "lease_lost"
    pool.sweep()
    assert (pool.counters.expired, pool.counters.stale, pool.free_slots) == (2, 2, 2)


def test_only_the_current_fence_may_act(pool):
    lease = pool.open(task())
    old = lease.fence
    taken = pool.take_over(lease.id)
    assert taken is lease
    assert lease.fence > old
    for call in (
        lambda: pool.step(lease.id, LAMPS, fence=old),
        lambda: pool.terminate(lease.id, "action_limit", fence=old),
        lambda: pool.use(lease.id, old),
        lambda: pool.give_back(lease.id, old),
    ):
        assert code_of(PoolError, call) == "stale_fence"
    assert lease.last is None
    pool.step(lease.id, LAMPS, fence=lease.fence)
    assert pool.give_back(lease.id, lease.fence)


def test_a_repeated_request_gives_the_first_answer(pool):
    lease = pool.open(task())
    first = pool.step(lease.id, LAMPS, fence=lease.fence, request_id="a")
    second = pool.step(lease.id, f"click[{LAMP}]", fence=lease.fence, request_id="b")
    assert pool.step(lease.id, f"click[{LAMP}]", fence=lease.fence, request_id="b") == second
    assert pool.step(lease.id, LAMPS, fence=lease.fence, request_id="a") == first
    assert pool.step(lease.id, "click[buy now]", fence=lease.fence, request_id="a") == first, (
        "nothing is played"
    )
    end = pool.terminate(lease.id, "action_limit", fence=lease.fence, request_id="c")
    assert pool.terminate(lease.id, "action_limit", fence=lease.fence, request_id="c") == end
    assert pool.step(lease.id, LAMPS, fence=lease.fence, request_id="a") == first, "also after the end"
    assert (pool.counters.steps, pool.counters.repeated) == (3, 5)


def test_a_repeated_request_for_an_episode_gives_the_same_lease(pool):
    lease = pool.open(task(request_id="k" * 32))
    pool.step(lease.id, LAMPS, fence=lease.fence)
    assert pool.open(task(request_id="k" * 32)) is lease
    assert pool.free_slots == 1
    pool.give_back(lease.id)
    assert pool.open(task(request_id="k" * 32)) is not lease


def test_a_group_is_repeated_as_a_whole_or_not_at_all(pool):
    group = pool.open_group(task(request_id="g" * 32), 2)
    assert pool.open_group(task(request_id="g" * 32), 2) == group
    assert {lease.group for lease in group} == {"task-000003__group-000001"}
    assert group[0].start == group[1].start
    pool.give_back(group[0].id)
    assert code_of(PoolError, pool.open_group, task(request_id="g" * 32), 2) == "capacity"


def test_another_request_under_the_same_id_is_refused(pool):
    pool.open(task(request_id="k" * 32))
    for other in (task(7, request_id="k" * 32), task(request_id="k" * 32, seed=1)):
        assert code_of(PoolError, pool.open, other) == "request_id_reused"
    assert code_of(PoolError, pool.open_group, task(request_id="k" * 32), 1) == "request_id_reused"
    pool.open(task())
    pool.ask(task(request_id="r" * 32), 9)
    assert code_of(PoolError, pool.ask, task(7, request_id="r" * 32), 9) == "request_id_reused"
    assert pool.waiting == 1


def test_one_action_at_a_time(tmp_path, clock):
    """A release that calls back while it searches: the inner action is refused, the outer one goes on."""
    release = shop_release(tmp_path)
    search, found = release.search, []

    def reentrant(query, top_k=150):
        found.append(code_of(PoolError, pool.step, lease.id, LAMPS, fence=lease.fence))
        return search(query, top_k)

    pool = LeasePool(release, 1, clock=clock)
    lease = pool.open(task())
    release.search = reentrant
    step = pool.step(lease.id, LAMPS, fence=lease.fence)
    assert found == ["busy"]
    assert step.observation_state["page_type"] == "search_results"
    release.close()


def test_a_broken_release_is_no_step(release, pool, monkeypatch):
    lease = pool.open(task())
    with monkeypatch.context() as patch:

        def broken(*_):
            raise SearchIndexError("disk")

        patch.setattr(release, "search", broken)
        step = pool.step(lease.id, LAMPS, fence=lease.fence, request_id="a")
        assert (step.valid, step.reward, step.failure_kind) == (False, None, "env_crash")
    step = pool.step(lease.id, LAMPS, fence=lease.fence, request_id="a")
    assert (step.valid, step.info["action_count"]) == (True, 1)
    assert pool.counters.invalid_steps == 1


def test_wrong_requests_touch_no_slot(pool):
    """BR-03: unknown ids are refused before a slot is taken, and a valid reset works right after."""
    for number in (13_000, -1, "7", "task-999", ""):
        assert code_of(TaskError, pool.open, EpisodeRequest(task_id=number)) in ("unknown_task", "task_error")
    assert code_of(UsageError, pool.open, EpisodeRequest()) == "no_task"
    assert code_of(UsageError, pool.open, task(split="project/test")) == "task_and_split"
    assert code_of(TaskError, pool.open, EpisodeRequest(split="nothing", seed=1)) == "unknown_split"
    assert code_of(UsageError, pool.open, EpisodeRequest(split="project/test")) == "no_seed"
    assert code_of(UsageError, pool.open, task(options={"task_mode": "other"})) == "usage_error"
    assert code_of(UsageError, pool.open_group, task(), 3) == "group_too_large"
    assert code_of(UsageError, pool.open_group, task(), 0) == "usage_error"
    assert (pool.free_slots, pool.counters.opened) == (2, 0)
    assert pool.open(EpisodeRequest(split="project/test", seed=3)).start.task_id in (3, 7, 8, 9)


def test_actions_that_no_log_can_hold_are_not_played(pool):
    lease = pool.open(task())
    assert code_of(TraceError, pool.step, lease.id, object(), fence=lease.fence) == "unrecordable_action"
    assert lease.last is None
    assert code_of(UsageError, pool.terminate, lease.id, "boredom", fence=lease.fence) == "usage_error"


def test_who_waits_is_served_in_order(pool):
    held = [pool.open(task()), pool.open(task())]
    told = []
    first = pool.ask(task(7), 5, notify=told.append)
    second = pool.ask(task(8), 5, notify=told.append)
    assert pool.waiting == 2
    assert not first.settled
    assert code_of(PoolError, first.result) == "waiting"
    assert code_of(PoolError, pool.ask, task(9), 5) == "queue_full"
    assert code_of(PoolError, pool.open, task(9)) == "capacity"
    pool.give_back(held[0].id)
    assert told == [first]
    assert first.result()[0].start.task_id == 7
    assert code_of(PoolError, pool.open, task(9)) == "capacity", "nobody jumps the line"
    pool.give_back(held[1].id)
    assert told == [first, second]
    assert (pool.waiting, pool.free_slots, pool.counters.turned_away) == (0, 0, 1)


def test_a_group_at_the_head_is_not_overtaken(pool):
    held = [pool.open(task()), pool.open(task())]
    group = pool.ask(task(7), 5, n=2, group=True)
    single = pool.ask(task(8), 5)
    pool.give_back(held[0].id)
    assert not group.settled
    assert not single.settled
    pool.give_back(held[1].id)
    assert len(group.result()) == 2
    assert not single.settled
    pool.give_back(group.leases[0].id)
    assert single.settled


def test_waiting_ends(pool, clock):
    pool.open(task())
    lease = pool.open(task())
    short, long = pool.ask(task(7), 3), pool.ask(task(8), 30)
    clock.now += 3
    pool.use(lease.id)
    pool.sweep()
    assert code_of(PoolError, short.result) == "capacity"
    assert (pool.waiting, pool.counters.timed_out) == (1, 1)
    clock.now += 7
    pool.sweep()
    assert long.settled, "the lease that nobody used made room"


def test_a_place_is_given_up_or_taken_over(pool):
    held = [pool.open(task()), pool.open(task())]
    told = []
    gone = pool.ask(task(7), 9, notify=told.append)
    pool.give_up(gone)
    assert pool.waiting == 0
    first = pool.ask(task(8, request_id="r" * 32), 9, notify=told.append)
    again = pool.ask(task(8, request_id="r" * 32), 9)
    assert told == [first]
    assert code_of(PoolError, first.result) == "superseded"
    pool.give_back(held[0].id)
    assert again.result()[0].start.task_id == 8
    assert pool.open(task(8, request_id="r" * 32)) is again.result()[0]


def test_a_stopping_pool_lets_episodes_end(pool):
    lease = pool.open(task())
    pool.open(task())
    waiting = pool.ask(task(7), 9)
    pool.stop()
    assert code_of(PoolError, waiting.result) == "stopping"
    assert code_of(PoolError, pool.open, task()) == "stopping"
    assert pool.step(lease.id, LAMPS, fence=lease.fence).valid
    pool.close()
    pool.close()
    assert code_of(PoolError, pool.use, lease.id) == "lease_lost"
    assert code_of(PoolError, pool.open, task()) == "closed"


def test_everything_is_released_at_once(pool):
    leases = [pool.open(task()), pool.open(task())]
    waiting = pool.ask(task(7), 9)
    assert pool.give_back_all() == 2
    assert waiting.settled
    assert pool.free_slots == 1
    for lease in leases:
        assert code_of(PoolError, pool.use, lease.id) == "lease_lost"


def test_numbers_are_checked(release):
    for arguments in ({"slots": 0}, {"slots": True}, {"ttl_s": 0}, {"max_waiting": -1}):
        with pytest.raises(UsageError, match="expected"):
            LeasePool(release, **arguments)


def test_a_storm_shares_no_lease(release, clock):  # noqa: C901 - many things happen at once
    """Many takers, holders that vanish, old ids tried again: everybody sees their own task alone."""
    pool = LeasePool(release, 4, ttl_s=5, clock=clock)
    live, dead = {}, []
    for turn in range(400):
        clock.now += 0.5
        number = (3, 7, 8, 9)[turn % 4]
        try:
            lease = pool.open(task(number, options={"task_mode": "standard"}))
        except PoolError:
            lease = None
        if lease is not None:
            assert lease.id not in live
            assert lease.id not in dead
            live[lease.id] = (lease.fence, number, lease.slot)
        for key, (fence, task_id, slot) in list(live.items()):
            if (turn + slot) % 3 == 0:
                continue  # not used this time; some expire
            try:
                found = pool.use(key, fence)
            except PoolError:
                del live[key]
                dead.append(key)
                continue
            assert (found.start.task_id, found.slot) == (task_id, slot)
            if turn % 7 == slot:
                pool.give_back(key, fence)
                del live[key]
                dead.append(key)
        slots = [pool.peek(key).slot for key in live if key in pool._table.leases]
        assert len(slots) == len(set(slots))
        for key in dead[-20:]:
            assert code_of(PoolError, pool.use, key) == "lease_lost"
    assert pool.counters.opened > 50
