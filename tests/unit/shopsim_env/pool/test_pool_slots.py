"""Slots, groups and batches."""

import pytest
from shop_world import LAMP, ODD, shop_release

from shopsim_env.errors import (
    EpisodeError,
    PoolError,
    SearchIndexError,
    TaskError,
    UnknownTaskError,
    UsageError,
)
from shopsim_env.pool import EnvPool
from shopsim_env.shop.anchor import start_key
from shopsim_env.shop.env import ShopEnv


@pytest.fixture
def release(tmp_path):
    small = shop_release(tmp_path)
    yield small
    small.close()


@pytest.fixture
def pool(release):
    return EnvPool(release, 4)


def test_a_group_starts_identically(release, pool):
    group = pool.reset_group(3, 3, seed=5)
    assert (group.group_id, group.task_id, group.slots) == ("task-000003__group-000001", 3, (0, 1, 2))
    alone = ShopEnv(release).reset(3, seed=5)
    assert [member.start for member in group.members] == [alone] * 3
    assert group.anchor == start_key(alone.task_instruction, alone.user_persona, alone.observation_state)
    assert pool.free_slots == 1
    group.members[0].start.observation_state.clear()
    assert group.members[1].start == alone


def test_the_anchor_of_a_group_tells_tasks_and_persona_views_apart(release, pool):
    without = EnvPool(release, 1, persona_view="without_searches")
    groups = [pool.reset_group(3, 1), pool.reset_group(8, 1), without.reset_group(3, 1)]
    assert groups[0].members[0].start.user_persona != groups[2].members[0].start.user_persona
    assert len({group.anchor for group in groups}) == 3
    assert EnvPool(release, 1).reset_group(3, 1).anchor == groups[0].anchor


def test_members_of_a_group_go_their_own_ways(pool):
    a, b, c = pool.reset_group(3, 3).slots
    steps = pool.step({a: "search[风铃]", b: "search[毛毡]", c: "nonsense"})
    assert list(steps) == [a, b, c]
    assert [steps[slot].observation_state.get("total_results") for slot in (a, b, c)] == [1, 150, None]
    assert steps[c].action_feedback["reason"] == "invalid_format"
    steps = pool.step({a: f"click[{ODD}]"})
    assert steps[a].observation_state["page_type"] == "product_detail"
    assert pool.step({b: "click[next >]"})[b].observation_state["page"] == 2


def test_steps_equal_those_of_a_single_environment(release, pool):
    (member,) = pool.reset_group(8, 1).members
    env = ShopEnv(release)
    env.reset(8)
    for action in (
        "search[星野台灯]",
        f"click[{LAMP}]",
        "click[颜色分类=沙色]",
        "click[套装=单灯]",
        "click[buy now]",
    ):
        assert pool.step({member.slot: action})[member.slot] == env.step(action)


def test_batched_reset_takes_the_lowest_slots_and_gives_them_back(pool):
    started = pool.reset([7, 3])
    assert [(item.slot, item.start.task_id) for item in started] == [(0, 7), (1, 3)]
    pool.give_back([0])
    assert [item.slot for item in pool.reset([8, 9])] == [0, 2]
    assert pool.free_slots == 1


def test_group_ids_count_up(pool):
    ids = [pool.reset_group(3, 1).group_id, pool.reset_group(7, 1).group_id]
    assert ids == ["task-000003__group-000001", "task-000007__group-000002"]


@pytest.mark.parametrize(
    ("tasks", "error", "code"),
    [
        ([3, 99], UnknownTaskError, "unknown_task"),
        ([3, 3], TaskError, "duplicate_task"),
        ([3, 7, 8, 9, 10], PoolError, "capacity"),
    ],
)
def test_a_refused_reset_takes_no_slot(pool, tasks, error, code):
    with pytest.raises(error) as caught:
        pool.reset(tasks)
    assert (caught.value.code, pool.free_slots) == (code, 4)
    assert [item.slot for item in pool.reset([3])] == [0]


def test_a_group_that_is_too_large_or_empty(pool):
    with pytest.raises(PoolError, match="expected 5 free slots, found 4 of 4"):
        pool.reset_group(3, 5)
    for n in (0, True, "2"):
        with pytest.raises(UsageError):
            pool.reset_group(3, n)
    with pytest.raises(UnknownTaskError):
        pool.reset_group(99, 2)
    assert pool.free_slots == 4


def test_a_batch_with_a_wrong_slot_plays_nothing(pool):
    a, b = pool.reset_group(3, 2).slots
    with pytest.raises(PoolError) as caught:
        pool.step({a: "search[毛毡]", 3: "search[毛毡]"})
    assert caught.value.code == "not_owned"
    pool.terminate([b], "generation_length")
    with pytest.raises(EpisodeError) as ended:
        pool.step({a: "search[毛毡]", b: "search[毛毡]"})
    assert ended.value.code == "ended"
    assert pool.step({a: "x"})[a].info["action_count"] == 1


def test_terminate_ends_with_reward_zero(pool):
    a, b = pool.reset_group(3, 2).slots
    with pytest.raises(UsageError):
        pool.terminate([a], "bored")
    steps = pool.terminate([a, b, a], "action_limit")
    assert [(steps[slot].reward, steps[slot].termination_reason) for slot in (a, b)] == [
        (0.0, "action_limit")
    ] * 2
    pool.give_back([a, b])
    assert pool.free_slots == 4
    with pytest.raises(PoolError):
        pool.give_back([a])


def test_an_unreadable_release_is_no_reward_and_no_end(release, pool, monkeypatch):
    a, b = pool.reset_group(3, 2).slots

    def broken(query, top_k=150):
        if query == "毛毡":
            raise SearchIndexError("damaged")
        return engine_search(query, top_k)

    engine_search = release.engine.search
    monkeypatch.setattr(release.engine, "search", broken)
    steps = pool.step({a: "search[毛毡]", b: "search[星野台灯]"})
    assert (steps[a].valid, steps[a].failure_kind, steps[a].reward, steps[a].done) == (
        False,
        "env_crash",
        None,
        False,
    )
    assert steps[a].info == {"error": "search_index_error"}
    assert steps[b].valid
    monkeypatch.undo()
    assert pool.step({a: "search[毛毡]"})[a].info["action_count"] == 1


def test_tools_and_options(release):
    with EnvPool(release, 1, page_size=5) as pool:
        (slot,) = pool.reset_group(3, 1).slots
        assert [tool["function"]["name"] for tool in pool.tools(slot)] == ["search"]
        assert len(pool.tools(slot, dynamic=False)) == 2
        assert len(pool.step({slot: "search[毛毡]"})[slot].observation_state["products"]) == 5
        assert pool.slots == 1
    with pytest.raises(PoolError) as caught:
        pool.reset([3])
    assert caught.value.code == "closed"
    with pytest.raises(PoolError):
        pool.step({})


def test_wrong_size(release):
    for slots in (0, True, "8"):
        with pytest.raises(UsageError):
            EnvPool(release, slots)
