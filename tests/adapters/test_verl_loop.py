"""The agent loop in verl's own workers: registry, hydra, tensors of the old trainer, queue of the new one."""

import asyncio
import logging
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="the extra `verl` is not installed; `make adapters` has it")

import verl
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import SAMPLE_RELEASE
from servers import ADMIN, ServerProcess
from tiny_tokenizer import save_tiny_model, tiny_tokenizer
from token_models import call_text
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.workers.rollout.replica import TokenOutput

from shopsim_env import ShopEnv, load_release
from shopsim_env.errors import UsageError
from shopsim_env.shop.oracle import solve

TOKENIZER = tiny_tokenizer()
PROMPT, RESPONSE = 8_000, 60_000
STEP = {"step": 3, "sample_index": 0, "rollout_n": 0, "validate": False}


class Servers:
    """verl's servers with a model that plays these texts in every trajectory; `seen` has its requests."""

    def __init__(self, texts, before=None, stop_reason="completed"):
        self.texts, self.before, self.stop_reason = texts, before, stop_reason
        self.turns, self.seen = {}, {}

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        if self.before is not None:
            await self.before()
        turn = self.turns[request_id] = self.turns.get(request_id, -1) + 1
        whole = TOKENIZER.encode(self.texts[turn] + "<|im_end|>", add_special_tokens=False)
        said = whole[: sampling_params["max_tokens"]]
        self.seen.setdefault(request_id, []).append((list(prompt_ids), said))
        return TokenOutput(
            token_ids=said,
            log_probs=[-0.5] * len(said),
            stop_reason=self.stop_reason,
            num_preempted=0,
            extra_fields={"min_global_steps": 3 + turn, "max_global_steps": 3 + turn},
        )


@pytest.fixture(scope="module")
def won():
    """A task that the oracle wins, and the texts of a model that plays like it."""
    with load_release() as release:
        env = ShopEnv(release)
        for task_id in release.splits["project/train"]:
            result = solve(release, env, task_id)
            if result.reached:
                return task_id, [call_text(action) for action in result.actions]
    raise AssertionError("the sample has tasks that can be won")


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "1") as found:
        yield found


@pytest.fixture
def make(server, tmp_path):
    """Gives a worker of a class of verl with a model; the agent loop comes from a file, as for users."""
    save_tiny_model(tmp_path)

    def made(servers, kind=AgentLoopWorker, agent=None, **overrides):
        loops = tmp_path / "loops.yaml"
        url = f"http://127.0.0.1:{server.port}"
        target = "shopsim_env.adapters.verl.ShopAgentLoop"
        OmegaConf.save([{"name": "shop_agent", "_target_": target, "url": url, **(agent or {})}], loops)
        settings = {
            "actor_rollout_ref.model.path": tmp_path,
            "actor_rollout_ref.rollout.name": "vllm",
            "actor_rollout_ref.rollout.prompt_length": PROMPT,
            "actor_rollout_ref.rollout.response_length": RESPONSE,
            "actor_rollout_ref.rollout.n": 10,
            "actor_rollout_ref.rollout.calculate_log_probs": True,
            "actor_rollout_ref.rollout.multi_turn.format": "hermes",
            "actor_rollout_ref.rollout.agent.agent_loop_config_path": loops,
            **overrides,
        }
        folder = Path(verl.__file__).parent / "trainer" / "config"
        with initialize_config_dir(str(folder), version_base=None):
            config = compose("ppo_trainer", overrides=[f"{key}={value}" for key, value in settings.items()])
        return kind(config, servers)

    return made


def free_slots(server):
    return server.call("GET", "/healthz")[1]["free_slots"]


def row(task_id, **environment):
    info = {"task_id": task_id, "seed": 1, "prompt": "zh-v1", "environment": environment}
    return {"agent_name": "shop_agent", "raw_prompt": [], "extra_info": info}


def run(worker, columns):
    return asyncio.run(worker._run_agent_loop({"temperature": 1.0}, STEP, trace=False, **columns))


def test_tensors_of_a_won_episode(make, server, won):
    task_id, texts = won
    servers = Servers(texts)
    output = run(make(servers), row(task_id))
    assert (output.reward_score, output.num_turns) == (1.0, 2 * len(texts) + 1)
    assert output.extra_fields["reward_extra_info"]["r_success"] == 1.0
    assert output.extra_fields["shop_valid"] is True
    # Weights of the first turn and of the last one.
    last = 3 + len(texts) - 1
    assert [output.extra_fields[name] for name in ("min_global_steps", "max_global_steps")] == [3, last]
    assert output.metrics.num_preempted == 0

    (seen,) = servers.seen.values()
    prompt = output.prompt_ids[0][-len(seen[0][0]) :].tolist()
    assert prompt == seen[0][0]
    size = int(output.attention_mask[0][PROMPT:].sum())
    ids, mask = output.response_ids[0][:size].tolist(), output.response_mask[0][:size].tolist()
    assert prompt + ids == seen[-1][0] + seen[-1][1]
    assert [number for number, one in zip(ids, mask, strict=True) if one] == [
        n for _, said in seen for n in said
    ]
    probs = output.response_logprobs[0][:size].tolist()
    assert probs == [-0.5 if one else 0.0 for one in mask]
    with load_release() as release:
        start = ShopEnv(release).reset(task_id)
    text = TOKENIZER.decode(prompt)
    assert text.count(start.observation) == text.count(start.task_instruction) == 1
    assert free_slots(server) == 1


def test_our_tokens_are_those_of_verls_own_builder(make, won):
    """verl has builders for model families; ours reads the template. For Qwen2 both say the same."""
    task_id, texts = won
    servers = Servers(texts)
    worker = make(servers)
    run(worker, row(task_id))
    (seen,) = servers.seen.values()
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    builder = create_continuous_token_builder(worker.tokenizer, hf_model_type="qwen2")
    pages = [ids[len(before) + len(said) :] for (before, said), (ids, _) in pairwise(seen)]
    for (before, said), page in zip(seen, pages, strict=False):
        text = TOKENIZER.decode(page).removeprefix("\n<|im_start|>user\n<tool_response>\n")
        content = text.removesuffix("\n</tool_response><|im_end|>\n<|im_start|>assistant\n")
        earlier = [{"role": "user", "content": "-"}, {"role": "assistant", "content": "-"}]
        reply = {"role": "tool", "tool_call_id": "call-1-1", "content": content}
        merged = builder.merge_context_tokens(earlier, [*earlier, reply], before + said)
        assert merged.token_ids == before + said + page
        assert len(merged.inserted_token_ids) + merged.appended_token_count == len(page)


def test_a_model_that_is_cut_off(make, server, won):
    key = "actor_rollout_ref.rollout.response_length"
    output = run(make(Servers(won[1]), **{key: 12}), row(won[0]))
    assert (output.reward_score, output.extra_fields["shop_termination_reason"]) == (0.0, "generation_length")
    assert output.response_mask[0].tolist() == [1] * 12
    assert free_slots(server) == 1


def test_a_prompt_that_is_too_long_and_a_row_without_a_task_are_errors(make, server, won):
    key = "actor_rollout_ref.rollout.prompt_length"
    with pytest.raises(UsageError, match="at most 50 tokens"):
        run(make(Servers(won[1]), **{key: 50}), row(won[0]))
    with pytest.raises(UsageError, match="expected task_id"):
        run(make(Servers(won[1])), {**row(0), "extra_info": {}})
    assert free_slots(server) == 1


def test_the_old_trainer_gets_a_masked_sample_without_a_reward(make, server, won):
    for servers, agent in (
        (Servers(won[1], stop_reason="aborted"), {}),
        (Servers(won[1]), {"options": {"wait_s": 0}}),
    ):
        worker = make(servers, agent=agent)
        held = agent and server.call("POST", "/v1/episodes", {"task_id": won[0]})[1]["lease_id"]
        output = run(worker, row(won[0]))
        assert output.reward_score is None
        assert int(output.response_mask.sum()) == 0
        assert output.extra_fields["shop_valid"] is False
        assert output.extra_fields["shop_failure_kind"] == ("capacity" if held else "adapter")
        if held:
            server.call("DELETE", f"/v1/episodes/{held}")
        # Without rewards for all its members a batch has none, so the old trainer stops rather than learns.
        good = run(make(Servers(won[1])), row(won[0]))
        batch = worker._postprocess([good, output])
        assert "rm_scores" not in batch.batch
        assert "rm_scores" in worker._postprocess([good]).batch
    assert free_slots(server) == 1


def test_the_old_trainer_cannot_drop(make, server, won):
    worker = make(Servers(won[1]), agent={"on_failure": "drop"})
    with pytest.raises(UsageError, match=r"trainer\.use_v1=True") as found:
        run(worker, row(won[0]))
    assert found.value.code == "old_trainer"
    assert free_slots(server) == 1


class LeftServers(Servers):
    """Every second trajectory is cancelled at its second turn, as by a trainer that has enough samples."""

    async def generate(self, request_id, **more):
        if list({**self.turns, request_id: 0}).index(request_id) % 2 and self.turns.get(request_id) == 0:
            asyncio.current_task().cancel()
            await asyncio.sleep(60)
        return await super().generate(request_id, **more)


def test_sixty_trajectories_of_which_every_second_is_left_run_in_four_slots(make, won):
    with ServerProcess(SAMPLE_RELEASE, "--slots", "4") as four:
        agent = {"url": f"http://127.0.0.1:{four.port}", "options": {"wait_s": 120}}
        worker = make(LeftServers(won[1]), agent=agent)

        async def main():
            given = ({"temperature": 1.0}, STEP)
            tasks = [
                asyncio.create_task(worker._run_agent_loop(*given, trace=False, **row(won[0])))
                for _ in range(60)
            ]
            found = await asyncio.gather(*tasks, return_exceptions=True)
            # A cancelled trajectory gives its slot back on its way out.
            while four.call("GET", "/healthz")[1]["free_slots"] < 4:
                await asyncio.sleep(0.01)
            return found

        found = asyncio.run(asyncio.wait_for(main(), 150))
    left = [one for one in found if isinstance(one, asyncio.CancelledError)]
    rewards = [one.reward_score for one in found if not isinstance(one, BaseException)]
    assert (len(left), rewards) == (30, [1.0] * 30)


def test_a_lease_that_is_lost_in_the_middle_keeps_the_tokens_under_a_mask_of_zeros(make, server, won):
    turns = []

    async def lose():
        turns.append(1)
        if len(turns) == 2:
            server.call("DELETE", "/v1/episodes", headers={"authorization": f"Bearer {ADMIN}"})

    servers = Servers(won[1], before=lose)
    output = run(make(servers), row(won[0]))
    assert (output.reward_score, output.extra_fields["shop_failure_kind"]) == (None, "lease_lost")
    (((_, first), _),) = servers.seen.values()
    assert output.response_ids[0][: len(first)].tolist() == first
    assert int(output.response_mask.sum()) == 0
    assert free_slots(server) == 1


def test_other_formats_are_read_by_verls_parsers(make, won):
    name, argument = "search", "收纳"
    text = f"<function={name}>\n<parameter=query>\n{argument}\n</parameter>\n</function>"
    texts = [f"<tool_call>\n{text}\n</tool_call>"] * 2
    worker = make(Servers(texts), **{"actor_rollout_ref.rollout.multi_turn.format": "qwen3_coder"})
    output = run(worker, row(won[0], max_actions=2))
    fields = output.extra_fields
    assert (fields["shop_protocol_errors"], fields["shop_invalid_actions"]) == (0, 1)
    assert fields["shop_termination_reason"] == "action_limit"


@pytest.fixture(scope="module")
def queue():
    """The store of the new trainer, on a Ray of this machine."""
    ray = pytest.importorskip("ray")
    # The queue takes a core for its controller and one for each of two stores.
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    import transfer_queue

    transfer_queue.init()
    yield transfer_queue
    transfer_queue.close()
    ray.shutdown()


class Drops(logging.Handler):
    """Counts samples that were left out."""

    def __init__(self):
        super().__init__()
        self.kinds = []

    def emit(self, record):
        self.kinds.append(record.args[1])


@pytest.fixture
def drops():
    handler = Drops()
    logger = logging.getLogger("shopsim_env.adapters")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.mark.parametrize(("filtering", "status"), [(False, "finished"), (True, "failure")])
def test_nine_of_ten_cannot_start_in_the_new_trainer(make, server, won, queue, drops, filtering, status):
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ

    async def the_others_are_refused():
        while len(drops.kinds) < 9:
            await asyncio.sleep(0.01)

    worker = make(
        Servers(won[1], before=the_others_are_refused),
        kind=AgentLoopWorkerTQ.__ray_metadata__.modified_class,
        agent={"options": {"wait_s": 0}},
        **{"algorithm.filter_groups.enable": filtering},
    )
    uid = f"group-{status}"
    prompt = {**row(won[0]), "uid": uid, "global_steps": 3}
    asyncio.run(asyncio.wait_for(worker._run_prompt(prompt, {"temperature": 1.0}, trajectory=STEP), 60))
    assert drops.kinds == ["capacity"] * 9
    kept = queue.kv_list()["train"]
    assert kept.pop(uid)["status"] == status
    ((key, tag),) = [(key, tag) for key, tag in kept.items() if key.startswith(f"{uid}_")]
    assert tag["status"] == "success"
    data = queue.kv_batch_get(keys=[key], partition_id="train", select_fields=["rm_scores", "response_mask"])
    assert float(data["rm_scores"][0].sum()) == 1.0
    assert int(data["response_mask"][0].sum()) > 0
    assert free_slots(server) == 1
    queue.kv_clear(partition_id="train", keys=[uid, key])


def test_the_template_check_is_made_by_the_loop(make, won):
    worker = make(Servers(won[1]))
    worker.tokenizer.chat_template = "{{ messages[0].content }}"
    with pytest.raises(Exception, match="expected a chat template") as found:
        run(worker, row(won[0]))
    assert isinstance(found.value.__cause__ or found.value, UsageError)
