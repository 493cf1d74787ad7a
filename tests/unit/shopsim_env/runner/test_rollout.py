"""One trajectory: messages, counts, ends, failures; in this process and over a real socket."""

import asyncio
import json
from contextlib import contextmanager

import pytest
from places import SAMPLE_RELEASE
from servers import ServerProcess

from shopsim_env import AsyncClient, Client, LocalClient, ShopEnv, load_release
from shopsim_env.client.retrying import Retries
from shopsim_env.errors import CapacityError, EpisodeError, TaskError, UsageError
from shopsim_env.replay import verify_line
from shopsim_env.runner import AsyncRollout, Prompt, Rollout, RolloutResult, open_many, open_many_async
from shopsim_env.shop.oracle import solve

SHAPES = {"search": "query", "click": "value", "ask_shopper": "message"}


def said(name, argument, call_id="c1"):
    arguments = json.dumps({SHAPES[name]: argument}, ensure_ascii=False)
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def said_text(text):
    """The message of a canonical text."""
    name, _, rest = text.partition("[")
    return said(name, rest[:-1])


TALK = {"content": "我觉得这个不错", "tool_calls": []}


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


@contextmanager
def slots_free_after(client, count=4):
    yield
    assert client.health().free_slots == count


def test_the_start_is_prompt_persona_request_and_page_once(client, release, won):
    task_id, _ = won
    with slots_free_after(client), Rollout.open(client, task_id) as rollout:
        system, user = rollout.messages
        start = ShopEnv(release).reset(task_id)
        assert system["role"] == "system"
        shown = json.dumps(start.user_persona, ensure_ascii=False, sort_keys=True, indent=1)
        assert system["content"].endswith(shown)
        assert user == {"role": "user", "content": f"{start.task_instruction}\n\n{start.observation}"}
        assert [tool["function"]["name"] for tool in rollout.tools] == ["search"]
        assert rollout.result == RolloutResult()
        replies = rollout.act(said("search", "收纳"))
        assert replies == [{"role": "tool", "tool_call_id": "c1", "content": rollout.observation}]
        assert start.observation not in replies[0]["content"]
        assert [tool["function"]["name"] for tool in rollout.tools] == ["click"]
        assert rollout.conversation[:2] == [system, user]
        assert rollout.conversation[2]["tool_calls"][0]["id"] == "c1"
        assert rollout.conversation[3:] == replies


def test_the_oracles_actions_win_and_the_slot_is_free_at_once(client, release, won):
    task_id, actions = won
    rollout = Rollout.open(client, task_id, keep_trace=True)
    for text in actions:
        assert not rollout.done
        rollout.act(said_text(text))
    assert client.health().free_slots == 4, "an ended rollout that nobody closes holds no slot"
    result = rollout.result
    assert (result.reward, result.success, result.valid) == (1.0, True, True)
    assert (result.terminated, result.truncated, result.termination_reason) == (True, False, "purchase")
    assert result.steps == len(actions)
    assert set(result.components.values()) == {1.0}
    assert {"r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price"} <= set(
        result.components
    )
    assert rollout.tools == []
    assert verify_line(rollout.trace.line(), 1, release) is None
    rollout.terminate("action_limit")
    assert rollout.result == result
    with pytest.raises(EpisodeError) as found:
        rollout.act(TALK)
    assert found.value.code == "ended"
    rollout.close()
    rollout.close()


def test_protocol_errors_cost_a_step_each_and_end_with_the_limit(client, won):
    rollout = Rollout.open(client, won[0], max_actions=3, prompt="en-v1")
    told = rollout.act(TALK)
    assert json.loads(told[0]["content"])["code"] == "tool_call_count"
    assert json.loads(told[0]["content"])["available_tools"] == ["search"]
    assert rollout.last_turn.answer is None
    rollout.act(said("search", "收纳"))
    assert not rollout.done
    replies = rollout.act(said("search", "again"))
    assert json.loads(replies[0]["content"])["code"] == "unavailable_tool"
    assert replies[0]["tool_call_id"] == "c1"
    result = rollout.result
    assert (result.reward, result.termination_reason, result.truncated) == (0.0, "action_limit", True)
    assert (result.steps, result.protocol_errors, result.invalid_actions) == (3, 2, 0)
    assert rollout.last_turn.forced.termination_reason == "action_limit"
    assert result.success is False
    assert client.health().free_slots == 4


def test_the_environments_own_limit_and_its_refusals(client, won):
    rollout = Rollout.open(client, won[0], max_actions=2)
    rollout.act(said("search", "收纳"))
    rollout.act(said("click", "nothing"))
    result = rollout.result
    assert (result.steps, result.invalid_actions, result.termination_reason) == (2, 1, "action_limit")
    assert rollout.last_turn.forced is None, "the environment ended it"
    assert rollout.last_turn.action == "click[nothing]"


def test_max_invalid_counts_broken_answers_and_refusals_in_a_row(client, won):
    rollout = Rollout.open(client, won[0], max_invalid=2)
    rollout.act(TALK)
    rollout.act(said("search", "收纳"))
    rollout.act(said("click", "nothing"))
    assert not rollout.done
    rollout.act(TALK)
    assert rollout.result.termination_reason == "action_limit"
    assert rollout.result.steps == 4


@pytest.mark.parametrize("message", [TALK, {"content": "", "tool_calls": []}])
def test_an_answer_cut_off_for_its_length_ends_the_episode(client, won, message):
    rollout = Rollout.open(client, won[0])
    assert rollout.act(message, finish_reason="length") == []
    result = rollout.result
    assert (result.reward, result.termination_reason) == (0.0, "generation_length")
    assert (result.steps, result.protocol_errors) == (1, 0)


def test_a_whole_call_counts_even_when_the_length_was_reached(client, won):
    with Rollout.open(client, won[0]) as rollout:
        rollout.act(said("search", "收纳"), finish_reason="length")
        assert not rollout.done
        rollout.terminate("generation_length")
        assert rollout.result.termination_reason == "generation_length"
        with pytest.raises(UsageError):
            rollout.terminate("tired")


def test_text_and_static_tools_and_own_prompts(client, won):
    mine = Prompt("mine-1", "zh", "买一件东西。")
    with Rollout.open(client, won[0], tools="static", prompt=mine, task_mode="standard") as rollout:
        assert rollout.messages[0] == {"role": "system", "content": "买一件东西。"}, "no persona, no block"
        assert [tool["function"]["name"] for tool in rollout.tools] == ["search", "click"]
        (reply,) = rollout.act_text("search[收纳]")
        assert reply == {"role": "user", "content": rollout.observation}
        rollout.act_text("我不知道")
        assert (rollout.result.steps, rollout.result.invalid_actions) == (2, 1)
        rollout.act(said("search", "offered by static tools, refused by the page"))
        assert rollout.last_turn.answer.action_feedback["reason"] == "search_unavailable"
    assert rollout.done
    assert rollout.result.reward is None, "left before its end: no reward"
    assert rollout.result.valid


def test_multi_turn_offers_the_shopper(client, won):
    with Rollout.open(client, won[0], interaction_mode="multi_turn", seed=5) as rollout:
        assert "ask_shopper" in rollout.messages[0]["content"]
        rollout.act(said("ask_shopper", "预算多少"))
        assert rollout.last_turn.action == "ask_shopper[预算多少]"
        assert rollout.last_turn.answer.action_feedback["valid"]


@pytest.mark.parametrize("name", ["search", "click"])
def test_a_model_that_writes_a_book_has_made_a_mistake_and_no_failure(client, won, name):
    with Rollout.open(client, won[0], tools="static") as rollout:
        rollout.act(said(name, "字" * 200_000))
        assert rollout.last_turn.answer.action_feedback["reason"] == "too_long"
        rollout.act_text("想" * 200_000)
        assert rollout.last_turn.answer.action_feedback["reason"] == "too_long"
        assert rollout.result.valid


def test_wrong_calls_raise_and_hold_no_slot(client, won):
    for wrong in (
        {"prompt": "xx"},
        {"tools": "none"},
        {"private": True},
        {"nonsense": 1},
        {"task_mode": "x"},
    ):
        with slots_free_after(client), pytest.raises(UsageError):
            Rollout.open(client, won[0], **wrong)
    with slots_free_after(client), pytest.raises(TaskError):
        open_many(client, [won[0], 10**9])


def test_a_lost_lease_is_no_reward(client, won):
    rollout = Rollout.open(client, won[0])
    client.release_all()
    assert rollout.act(said("search", "收纳")) == []
    assert rollout.done
    result = rollout.result
    assert (result.valid, result.failure_kind, result.reward, result.success) == (
        False,
        "lease_lost",
        None,
        None,
    )
    assert rollout.error.code == "lease_lost"


def test_a_catalogue_that_cannot_be_read_is_no_reward(won):
    with load_release() as own, LocalClient(own, slots=1) as client:
        rollout = Rollout.open(client, won[0])
        own.close()
        assert rollout.act(said("search", "收纳盒")) == []
        result = rollout.result
        assert (result.valid, result.failure_kind, result.reward) == (False, "env_crash", None)
        assert client.pool.free_slots == 1


def test_nine_of_ten_members_fail_and_one_is_usable(release, won):
    task_id, actions = won
    with LocalClient(release, slots=1) as client:
        members = open_many(client, [task_id] * 10, wait_s=0)
        good = [member for member in members if isinstance(member, Rollout)]
        bad = [member for member in members if isinstance(member, RolloutResult)]
        assert (len(good), len(bad)) == (1, 9)
        assert {(one.valid, one.failure_kind, one.reward) for one in bad} == {(False, "capacity", None)}
        for text in actions:
            good[0].act(said_text(text))
        assert good[0].result.reward == 1.0
        with pytest.raises(CapacityError), Rollout.open(client, task_id):
            Rollout.open(client, task_id, wait_s=0)


def test_forgotten_rollouts_expire(release, won):
    with LocalClient(release, slots=2, ttl_s=0.3) as client:
        for _ in range(6):
            forgotten = Rollout.open(client, won[0], wait_s=60)
            forgotten.act(said("search", "收纳"))
        assert forgotten.result.valid


def test_over_a_socket_blocking_and_asynchronous_and_after_the_server_died(won):
    task_id, actions = won
    with ServerProcess(SAMPLE_RELEASE, "--slots", "3") as server:
        url = f"http://127.0.0.1:{server.port}"
        with Client(url, retries=Retries(give_up_s=0.2)) as client:
            with Rollout.open(client, task_id) as rollout:
                for text in actions:
                    rollout.act(said_text(text))
                assert rollout.result.reward == 1.0
            book = Rollout.open(client, task_id)
            book.act(said("search", "\x01字" * 100_000))
            assert book.last_turn.answer.action_feedback["reason"] == "too_long"
            book.close()
            assert client.health().free_slots == 3
            asyncio.run(_side_by_side(url, task_id, actions))
            assert client.health().free_slots == 3
            broken = Rollout.open(client, task_id)
            server.kill()
            assert broken.act(said("search", "收纳")) == []
            assert (broken.result.valid, broken.result.failure_kind) == (False, "env_crash")


async def _side_by_side(url, task_id, actions):
    async with AsyncClient(url) as client:
        members = await open_many_async(client, [task_id] * 4, wait_s=0)
        good = [member for member in members if isinstance(member, AsyncRollout)]
        assert len(good) == 3
        assert [one.failure_kind for one in members if isinstance(one, RolloutResult)] == ["capacity"]

        async def play(rollout):
            async with rollout:
                for text in actions:
                    await rollout.act(said_text(text))
            return rollout.result.reward

        assert await asyncio.gather(*map(play, good)) == [1.0] * 3
        async with await AsyncRollout.open(client, task_id) as left:
            await left.act_text("search[收纳]")
            await left.terminate("action_limit")
        assert left.result.reward == 0.0
        with pytest.raises(TaskError):
            await open_many_async(client, [task_id, 10**9])


class SlowClient:
    """A client whose server answers a reset late, and a release too."""

    def __init__(self, client, late_s):
        self.client, self.late_s = client, late_s

    async def episode(self, task_id, **asked):
        await asyncio.sleep(self.late_s)
        return SlowEpisode(self.client.episode(task_id, **asked), self.late_s)


class SlowEpisode:
    def __init__(self, episode, late_s):
        self.episode, self.reset, self.tools, self.late_s = episode, episode.reset, episode.tools, late_s

    async def leave(self):
        await asyncio.sleep(self.late_s)
        self.episode.leave()


@pytest.mark.parametrize("when_s", [0.0, 0.05, 0.15])
def test_a_cancelled_rollout_holds_no_slot(client, won, when_s):
    """Cancelled before the answer to the reset came, or while the slot is given back."""

    async def play():
        async with await AsyncRollout.open(SlowClient(client, 0.1), won[0]):
            pass

    async def cancelled():
        task = asyncio.ensure_future(play())
        await asyncio.sleep(when_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert client.health().free_slots == 4
