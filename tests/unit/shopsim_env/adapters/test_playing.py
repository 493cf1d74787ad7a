"""Trajectories in tokens: what a model reads and says, ends, failures, leases; slime's fields of them."""

import asyncio
import sys
from dataclasses import dataclass, field, replace
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest
from places import SAMPLE_RELEASE
from servers import ADMIN, ServerProcess
from token_models import END, ByteTokenizer, Scripted, call_text

from shopsim_env import AsyncClient, ShopEnv, load_release
from shopsim_env.adapters import slime
from shopsim_env.adapters.playing import Play, Sampled, play, server_url, shared_client
from shopsim_env.adapters.rows import TaskRow
from shopsim_env.adapters.tokens import ChatTokens
from shopsim_env.client.retrying import Retries
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.shop.oracle import solve

TOKENIZER = ByteTokenizer()
ROOM = 1_000_000


@pytest.fixture(scope="module")
def release():
    with load_release() as found:
        yield found


def won_actions(release, task_id):
    result = solve(release, ShopEnv(release), task_id)
    return result.actions if result.reached else ()


@pytest.fixture(scope="module")
def won(release):
    """A task that the oracle wins, and the texts of a model that plays like it."""
    for task_id in release.splits["project/train"]:
        if actions := won_actions(release, task_id):
            return task_id, [call_text(action) for action in actions]
    raise AssertionError("the sample has tasks that can be won")


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "1") as found:
        yield found


def playing(server, use):
    """What `use(settings)` gives; afterwards the only slot is free again."""

    async def main():
        async with AsyncClient(f"http://127.0.0.1:{server.port}") as client:
            return await use(Play(client, ChatTokens(TOKENIZER), ROOM))

    try:
        return asyncio.run(main())
    finally:
        assert server.call("GET", "/healthz")[1]["free_slots"] == 1


def test_the_mask_is_what_the_model_said_and_the_prompt_has_the_page_once(server, release, won):
    task_id, texts = won
    model = Scripted(TOKENIZER, texts)
    played = playing(server, lambda settings: play(settings, model, TaskRow(task_id, 1)))
    result, tokens = played.result, played.tokens
    assert (result.reward, result.success, result.valid, result.steps) == (1.0, True, True, len(texts))

    start = ShopEnv(release).reset(task_id)
    prompt = TOKENIZER.decode(tokens.prompt_ids)
    assert prompt.count(start.observation) == 1
    assert prompt.count(start.task_instruction) == 1

    ids, mask = tokens.response_ids, tokens.mask
    assert len(ids) == len(mask) == len(tokens.log_probs)
    said = [number for answer in model.said for number in answer]
    assert [number for number, one in zip(ids, mask, strict=True) if one] == said
    assert [value for value, one in zip(tokens.log_probs, mask, strict=True) if not one] == [
        0.0
    ] * mask.count(0)
    # Every request is the one before, what the model said to it, and what the environment answered.
    assert model.seen[0] == tokens.prompt_ids
    for read, answer, then in zip(model.seen, model.said, model.seen[1:], strict=False):
        assert then[: len(read) + len(answer)] == read + answer
    assert tokens.ids == model.seen[-1] + model.said[-1]
    # Between them stand the pages, as the environment shows them to these actions.
    env = ShopEnv(release)
    env.reset(task_id, seed=1)
    pages = [env.step(action).observation for action in won_actions(release, task_id)[:-1]]
    between = [f"\n<|im_start|>tool\n{page}{END}\n<|im_start|>assistant\n" for page in pages]
    shown = "".join(f"{text}{END}{page}" for text, page in zip(texts, [*between, ""], strict=True))
    assert TOKENIZER.decode(ids) == shown


@pytest.mark.parametrize("most", [5, 400])
def test_a_response_without_room_ends_with_generation_length(server, won, most):
    task_id, texts = won
    model = Scripted(TOKENIZER, texts)
    played = playing(server, lambda one: play(replace(one, most_tokens=most), model, TaskRow(task_id)))
    assert played.result.termination_reason == "generation_length"
    assert (played.result.reward, played.result.truncated, played.result.valid) == (0.0, True, True)
    tokens = played.tokens
    assert len(tokens.response_ids) == len(tokens.mask) == len(tokens.log_probs) <= most
    assert any(tokens.mask)


@pytest.mark.parametrize("whole_call", [False, True])
def test_an_answer_that_the_engine_cut_off_ends_the_episode_unless_it_is_a_call(server, won, whole_call):
    task_id, texts = won
    said = TOKENIZER.encode(texts[0] if whole_call else "我想先看看", add_special_tokens=False)
    asked = []

    async def model(ids, left):
        asked.append(ids)
        return Sampled(said, finish_reason="length")

    row = TaskRow(task_id, None, {"max_actions": 2})
    result = playing(server, lambda settings: play(settings, model, row)).result
    expected = ("action_limit", 2) if whole_call else ("generation_length", 1)
    assert (result.termination_reason, len(asked)) == expected
    assert (result.reward, result.truncated, result.valid) == (0.0, True, True)


def test_a_prompt_without_room_is_refused(server, won):
    def run(**limits):
        row, model = TaskRow(won[0]), Scripted(TOKENIZER, ())
        return playing(server, lambda settings: play(replace(settings, **limits), model, row))

    with pytest.raises(UsageError, match="at most 10 tokens") as found:
        run(most_prompt_tokens=10)
    assert found.value.code == "prompt_too_long"
    played = run(most_context=10)
    assert played.result.termination_reason == "generation_length"
    assert played.tokens.response_ids == []


def test_a_stubborn_model_comes_to_the_limit(server, won):
    model, row = Scripted(TOKENIZER, ["我不知道"] * 3), TaskRow(won[0], None, {"max_actions": 3})
    played = playing(server, lambda settings: play(settings, model, row))
    result = played.result
    assert (result.termination_reason, result.protocol_errors, result.reward) == ("action_limit", 3, 0.0)
    assert result.valid
    assert "tool_protocol_error" in TOKENIZER.decode(played.tokens.response_ids)


class Waiting:
    """A model that stops in the middle until it is told to go on."""

    def __init__(self):
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, *_):
        self.asked.set()
        await self.go.wait()
        return Sampled(TOKENIZER.encode(f"{call_text('search[收纳]')}{END}", add_special_tokens=False))


def test_the_lease_is_freed_when_the_model_fails_is_aborted_or_cancelled(server, won):
    async def failing(ids, left):
        raise RuntimeError("the engine died")

    async def aborted(ids, left):
        return Sampled((), finish_reason="abort")

    async def cancelled(settings):
        model = Waiting()
        task = asyncio.create_task(play(settings, model, TaskRow(won[0])))
        await model.asked.wait()
        assert (await settings.client.health()).free_slots == 0
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    row = TaskRow(won[0])
    with pytest.raises(RuntimeError, match="engine"):
        playing(server, lambda settings: play(settings, failing, row))
    result = playing(server, lambda settings: play(settings, aborted, row)).result
    assert (result.valid, result.failure_kind, result.reward) == (False, "adapter", None)
    playing(server, cancelled)


def test_a_trajectory_that_is_cancelled_in_the_line_takes_no_slot(server, won):
    row = TaskRow(won[0])

    async def use(settings):
        gate = Waiting()
        holder = asyncio.create_task(play(settings, gate, TaskRow(won[0], None, {"max_actions": 1})))
        await gate.asked.wait()
        waiting = [asyncio.create_task(play(settings, Scripted(TOKENIZER, ()), row)) for _ in range(5)]
        while (await settings.client.health()).waiting < 5:
            await asyncio.sleep(0.01)
        for one in waiting:
            one.cancel()
        left = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in left)
        gate.go.set()
        assert (await holder).result.valid
        while (await settings.client.health()).free_slots < 1:
            await asyncio.sleep(0.01)

    playing(server, lambda settings: asyncio.wait_for(use(settings), 30))


def test_sixty_trajectories_of_which_every_second_is_left_run_in_one_slot(server, won):
    task_id, texts = won

    async def left(settings):
        gate = Waiting()
        task = asyncio.create_task(play(settings, gate, TaskRow(task_id)))
        await gate.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def use(settings):
        whole = [play(settings, Scripted(TOKENIZER, texts), TaskRow(task_id)) for _ in range(30)]
        found = await asyncio.gather(*(left(settings) for _ in range(30)), *whole)
        return [played.result.reward for played in found[30:]]

    assert playing(server, use) == [1.0] * 30


def test_what_cannot_be_played_is_an_error(server):
    with pytest.raises(TaskError):
        playing(server, lambda settings: play(settings, Scripted(TOKENIZER, ()), TaskRow(10**9)))


class Status(Enum):
    PENDING = "pending"
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"
    FAILED = "failed"


@dataclass
class Sample:
    """The fields of slime's `Sample` that its documentation names; slime itself cannot be installed."""

    metadata: dict
    group_index: int = 0
    tokens: list = field(default_factory=list)
    response: str = ""
    response_length: int = 0
    reward: float | None = None
    loss_mask: list | None = None
    rollout_log_probs: list | None = None
    status: Status = Status.PENDING
    remove_sample: bool = False

    Status = Status


def consistent(sample):
    assert sample.response_length == len(sample.loss_mask) == len(sample.rollout_log_probs)
    assert 0 < sample.response_length <= len(sample.tokens)
    return sample


def test_a_group_of_which_nine_cannot_start_has_one_usable_sample(server, won):
    task_id, texts = won

    async def group(settings):
        gate = Waiting()
        holder = asyncio.create_task(
            slime.fill(Sample({"task_id": task_id}), settings, gate, {"max_actions": 1, "wait_s": 0})
        )
        await gate.asked.wait()
        others = [
            slime.fill(Sample({"task_id": task_id}), settings, Scripted(TOKENIZER, texts), {"wait_s": 0})
            for _ in range(9)
        ]
        refused = await asyncio.gather(*others)
        gate.go.set()
        return [await holder, *refused]

    samples = playing(server, group)
    usable = [sample for sample in map(consistent, samples) if not sample.remove_sample]
    assert [sample.reward for sample in usable] == [0.0]
    assert usable[0].status is Status.TRUNCATED
    lost = samples[1:]
    assert {(sample.status, sample.reward, sum(sample.loss_mask)) for sample in lost} == {
        (Status.ABORTED, None, 0)
    }
    assert {sample.metadata["shopsim"]["failure_kind"] for sample in lost} == {"capacity"}
    assert slime.has_verdict(None, samples)
    assert not slime.has_verdict(None, lost)
    assert not slime.has_signal(None, samples)
    assert asyncio.run(slime.reward(None, samples)) == [0.0] + [None] * 9
    assert asyncio.run(slime.reward(None, lost[0])) is None


def test_sixty_samples_of_which_every_second_is_left_are_filled_in_four_slots(won):
    task_id, texts = won
    samples = [Sample({"task_id": task_id}) for _ in range(60)]
    chat = ChatTokens(TOKENIZER)

    async def fill(client, number):
        scripted = Scripted(TOKENIZER, texts)

        async def model(ids, left):
            if number % 2:
                asyncio.current_task().cancel()
                await asyncio.sleep(60)
            return await scripted(ids, left)

        settings = Play(client, chat, ROOM)
        await slime.fill(samples[number], settings, model, {"max_actions": 1})

    async def main(served):
        async with AsyncClient(f"http://127.0.0.1:{served.port}") as client:
            tasks = [asyncio.create_task(fill(client, number)) for number in range(60)]
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            while (await client.health()).free_slots < 4:
                await asyncio.sleep(0.01)
            return ends

    with ServerProcess(SAMPLE_RELEASE, "--slots", "4") as four:
        ends = asyncio.run(asyncio.wait_for(main(four), 60))
    assert [type(end) for end in ends] == [type(None), asyncio.CancelledError] * 30
    assert [sample.reward for sample in samples] == [0.0, None] * 30
    statuses = [sample.status for sample in samples]
    assert statuses == [Status.TRUNCATED, Status.PENDING] * 30


@pytest.mark.parametrize("how", ["killed", "lost", "aborted"])
def test_a_failure_in_the_middle_keeps_the_tokens_under_a_mask_of_zeros(server, won, how):
    task_id, texts = won
    scripted = Scripted(TOKENIZER, texts)

    async def fill(served):
        async def model(ids, left):
            if len(scripted.said) == 2 and how == "aborted":
                return Sampled((), finish_reason="abort")
            sampled = await scripted(ids, left)
            if len(scripted.said) == 2 and how == "killed":
                served.kill()
            if len(scripted.said) == 2 and how == "lost":
                served.call("DELETE", "/v1/episodes", headers={"authorization": f"Bearer {ADMIN}"})
            return sampled

        retries = Retries(give_up_s=0.2, first_s=0.02, most_s=0.1)
        async with AsyncClient(f"http://127.0.0.1:{served.port}", retries=retries) as client:
            settings = Play(client, ChatTokens(TOKENIZER), ROOM)
            return await slime.fill(Sample({"task_id": task_id}), settings, model)

    if how == "killed":
        with ServerProcess(SAMPLE_RELEASE, "--slots", "1") as doomed:
            sample = asyncio.run(fill(doomed))
    else:
        sample = asyncio.run(fill(server))
    assert server.call("GET", "/healthz")[1]["free_slots"] == 1
    consistent(sample)
    assert (sample.status, sample.reward, sample.remove_sample) == (Status.ABORTED, None, True)
    kind = {"killed": "env_crash", "lost": "lease_lost", "aborted": "adapter"}[how]
    assert sample.metadata["shopsim"]["failure_kind"] == kind
    response = sample.tokens[-sample.response_length :]
    assert response[: len(scripted.said[0])] == scripted.said[0]
    assert sample.response_length >= sum(map(len, scripted.said))
    assert not any(sample.loss_mask)


@pytest.mark.parametrize("how", ["bought", "limit", "length"])
def test_status_of_a_sample(server, won, how):
    task_id, texts = won
    room = 50 if how == "length" else ROOM
    limits = {"max_actions": 2} if how == "limit" else {}
    sample = Sample({"task_id": task_id, "seed": 1, "label": "kept"})
    model = Scripted(TOKENIZER, texts)
    playing(server, lambda one: slime.fill(sample, replace(one, most_tokens=room), model, limits))
    consistent(sample)
    expected = {
        "bought": (Status.COMPLETED, 1.0, "purchase"),
        "limit": (Status.TRUNCATED, 0.0, "action_limit"),
        "length": (Status.TRUNCATED, 0.0, "generation_length"),
    }[how]
    verdict = sample.metadata["shopsim"]
    assert (sample.status, sample.reward, verdict["termination_reason"]) == expected
    assert not sample.remove_sample
    assert sample.metadata["label"] == "kept"
    assert (
        TOKENIZER.decode(sample.tokens[-sample.response_length :], skip_special_tokens=True)
        == sample.response
    )


def test_rewards_of_a_group_leave_out_what_has_no_verdict():
    def sample(group, reward):
        return Sample({}, group_index=group, reward=reward, remove_sample=reward is None)

    samples = [
        sample(1, 1.0),
        sample(2, None),
        sample(1, 0.0),
        sample(1, None),
        sample(2, None),
        sample(3, 0.5),
    ]
    args = SimpleNamespace(rewards_normalization=True, grpo_std_normalization=False)
    raw, normalized = slime.normalize_rewards(args, samples)
    assert raw == [1.0, 0.0, 0.0, 0.5, 0.0, 0.5]
    assert normalized == [0.5, 0.0, -0.5, 0.0, 0.0, 0.0]
    args.grpo_std_normalization = True
    _, scaled = slime.normalize_rewards(args, samples)
    # Deviation of 1 and 0 as a sample: the root of 0.5.
    assert scaled[0] == pytest.approx(0.5 / 0.5**0.5, rel=1e-5)
    assert scaled[2] == -scaled[0]
    args.rewards_normalization = False
    assert slime.normalize_rewards(args, samples)[1] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.5]


def test_generate_asks_the_engine_over_the_whole_trajectory(server, won, monkeypatch):
    task_id, texts = won
    model = Scripted(TOKENIZER, texts)
    asked = []

    async def post(url, payload):
        asked.append((url, payload))
        sampled = await model(payload["input_ids"], payload["sampling_params"]["max_new_tokens"])
        logged = [[value, number, None] for value, number in zip(sampled.log_probs, sampled.ids, strict=True)]
        return {"text": "", "meta_info": {"finish_reason": {"type": "stop"}, "output_token_logprobs": logged}}

    def module(name, **members):
        made = ModuleType(name)
        made.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, made)

    args = SimpleNamespace(
        sglang_router_ip="127.0.0.1",
        sglang_router_port=3000,
        rollout_max_response_len=ROOM,
        shopsim={"wait_s": 5},
    )
    with pytest.raises(UsageError, match="from its repository"):
        asyncio.run(slime.generate(args, Sample({"task_id": task_id}), {}))
    for name in ("slime", "slime.rollout", "slime.utils"):
        module(name)
    module("slime.rollout.sglang_rollout", GenerateState=lambda _: SimpleNamespace(tokenizer=TOKENIZER))
    module("slime.utils.http_utils", post=post)
    monkeypatch.setenv("SHOPSIM_URL", f"http://127.0.0.1:{server.port}")

    async def generated():
        sample = Sample({"task_id": task_id})
        done = await slime.generate(args, sample, {"temperature": 1.0, "max_new_tokens": ROOM})
        assert shared_client(server_url()) is shared_client(server_url())
        await shared_client(server_url()).close()
        return done

    sample = asyncio.run(generated())
    assert server.call("GET", "/healthz")[1]["free_slots"] == 1
    assert (sample.status, sample.reward) == (Status.COMPLETED, 1.0)
    url, payload = asked[0]
    assert url == "http://127.0.0.1:3000/generate"
    assert payload["return_logprob"] is True
    assert payload["sampling_params"] == {"temperature": 1.0, "max_new_tokens": ROOM}
    left = ROOM - (len(asked[1][1]["input_ids"]) - len(payload["input_ids"]))
    assert asked[1][1]["sampling_params"]["max_new_tokens"] == left


def test_the_address_comes_from_the_argument_or_the_environment(monkeypatch):
    monkeypatch.delenv("SHOPSIM_URL", raising=False)
    with pytest.raises(UsageError, match="SHOPSIM_URL") as found:
        server_url()
    assert found.value.code == "no_server"
    monkeypatch.setenv("SHOPSIM_URL", "http://127.0.0.1:1")
    assert server_url() == "http://127.0.0.1:1"
    assert server_url("http://127.0.0.1:2") == "http://127.0.0.1:2"
