"""TRL's environment class without TRL: tools, prompts, leases, what has no verdict."""

import inspect
import pickle

import pytest
from places import SAMPLE_RELEASE
from servers import ServerProcess

from shopsim_env import LocalClient, ShopEnv, load_release
from shopsim_env.adapters.trl import (
    ENDED,
    AskingShopTools,
    ShopFactory,
    ShopTools,
    dataset_rows,
    shop_metrics,
)
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.runner import Rollout
from shopsim_env.shop.oracle import solve


@pytest.fixture(scope="module")
def release():
    with load_release() as found:
        yield found


@pytest.fixture(scope="module")
def won(release):
    """A task that the oracle wins, and how."""
    env = ShopEnv(release)
    for task_id in release.splits["project/train"]:
        result = solve(release, env, task_id)
        if result.reached:
            return task_id, result.actions
    raise AssertionError("the sample has tasks that can be won")


@pytest.fixture
def client(release):
    with LocalClient(release, slots=4) as found:
        yield found
        assert found.health().free_slots == 4


def call(tools, action):
    name, _, rest = action.partition("[")
    return getattr(tools, name)(rest[:-1])


@pytest.mark.parametrize(
    ("kind", "tools"),
    [(ShopTools, {"search", "click"}), (AskingShopTools, {"search", "click", "ask_shopper"})],
)
def test_only_tools_are_public(kind, tools):
    public = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    assert public == tools | {"reset", "get_reward"}


def test_a_won_episode(client, release, won):
    task_id, actions = won
    tools = ShopTools(lambda: client)
    page = tools.reset(prompt=[{"role": "user", "content": "x"}], extra_info={"task_id": task_id, "seed": 1})
    env = ShopEnv(release)
    start = env.reset(task_id, seed=1)
    assert page == f"\n\n{start.observation}"
    for action in actions:
        assert call(tools, action) == env.step(action).observation
    assert tools.get_reward() == 1.0
    assert tools.get_reward() == 1.0
    assert client.health().free_slots == 4
    assert tools.search("收纳") == tools.click("buy now") == ENDED


def test_prompt_and_page_are_the_start_of_a_rollout(client, release, won):
    task_id, _ = won
    with Rollout.open(client, task_id, prompt="en-v1") as rollout:
        expected = rollout.messages
    (row,) = dataset_rows(client, [task_id], prompt="en-v1")
    page = ShopTools(lambda: client).reset(**row)
    system, user = row["prompt"]
    assert [system, {**user, "content": user["content"] + page}] == expected
    assert row["extra_info"] == {"task_id": task_id, "seed": None}


def test_an_episode_that_the_model_leaves_has_reward_0(client, won):
    tools = ShopTools(lambda: client)
    tools.reset(task_id=won[0])
    tools.search("收纳")
    assert client.health().free_slots == 3
    assert tools.get_reward() == 0.0
    assert tools._result.termination_reason == "generation_length"
    assert client.health().free_slots == 4


def test_a_shopper_can_be_asked(client, won):
    tools = AskingShopTools(lambda: client, interaction_mode="multi_turn")
    tools.reset(task_id=won[0], seed=2)
    assert tools.ask_shopper("预算多少？") not in ("", ENDED)


def test_nine_of_ten_resets_fail(release, won):
    logged = {}
    with LocalClient(release, slots=1) as client:
        group = [ShopTools(lambda: client, wait_s=0) for _ in range(10)]
        pages = [tools.reset(task_id=won[0]) for tools in group]
        assert [page == f"\n\n{ENDED}" for page in pages] == [False] + [True] * 9
        assert group[5].search("收纳") == ENDED
        for action in won[1]:
            call(group[0], action)
        assert [tools.get_reward() for tools in group] == [1.0] + [None] * 9
        assert shop_metrics(group, logged.__setitem__, prompts=[]) == [None] * 10
        assert logged == {"shop/left_out": 0.9, "shop/bought": 1.0, "shop/success": 1.0}


def test_a_failure_in_the_middle_has_no_reward(release, won):
    with LocalClient(release, slots=1) as client:
        tools = ShopTools(lambda: client)
        tools.reset(task_id=won[0])
        tools.search("收纳")
        client.pool.give_back_all()
        assert tools.search("收纳") == ENDED
        assert tools.get_reward() is None
        tools.reset(task_id=won[0])
        client.pool.give_back_all()
        assert tools.get_reward() is None
        assert tools._result.failure_kind == "lease_lost"


def test_sixty_rollouts_of_a_forgetful_trainer_run_in_four_slots(release, won):
    with LocalClient(release, slots=4) as client:
        pooled = [ShopTools(lambda: client, wait_s=0) for _ in range(4)]
        for _ in range(15):
            for tools in pooled:  # neither asked for a reward nor closed
                assert tools.reset(task_id=won[0]) != f"\n\n{ENDED}"
        del pooled, tools
        for _ in range(60):  # dropped
            assert ShopTools(lambda: client, wait_s=0).reset(task_id=won[0]) != f"\n\n{ENDED}"
    with LocalClient(release, slots=4, ttl_s=0.05) as client:
        kept = [ShopTools(lambda: client, wait_s=20) for _ in range(60)]  # kept for ever: leases expire
        assert all(tools.reset(task_id=won[0]) != f"\n\n{ENDED}" for tools in kept)


def test_what_cannot_be_played_is_an_error(client):
    with pytest.raises(TaskError):
        ShopTools(lambda: client).reset(task_id=10**9)
    with pytest.raises(UsageError, match="expected task_id"):
        ShopTools(lambda: client).reset(prompt="x")


def test_a_factory_can_be_pickled_and_connects_at_the_first_reset(won, monkeypatch):
    monkeypatch.delenv("SHOPSIM_URL", raising=False)
    lost = ShopFactory()()
    with pytest.raises(UsageError, match="SHOPSIM_URL"):
        lost.reset(task_id=won[0])
    with ServerProcess(SAMPLE_RELEASE, "--slots", "2") as server:
        url = f"http://127.0.0.1:{server.port}"
        made = pickle.loads(pickle.dumps(ShopFactory(url, multi_turn=True, options={"wait_s": 0})))()  # noqa: S301
        assert type(made) is AskingShopTools
        other = ShopFactory(url)()
        made.reset(task_id=won[0], seed=1)
        other.reset(task_id=won[0])
        assert made._connect() is other._connect()
        assert server.call("GET", "/healthz")[1]["free_slots"] == 0
        assert (made.get_reward(), other.get_reward()) == (0.0, 0.0)
        assert server.call("GET", "/healthz")[1]["free_slots"] == 2
        made._connect().close()
