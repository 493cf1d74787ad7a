"""TRL's own trainer with our environments and a model that says what it is told to."""

import importlib.resources
import os

import pytest

pytest.importorskip("trl", reason="the extra `trl` is not installed; `make adapters` has it")
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import torch
from places import SAMPLE_RELEASE
from servers import ServerProcess
from tiny_tokenizer import tiny_tokenizer
from token_models import call_text
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from shopsim_env import Client, ShopEnv, load_release
from shopsim_env.adapters.trl import ENDED, ShopFactory, dataset, shop_metrics
from shopsim_env.shop.oracle import solve

ROOM = 60_000


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
    with ServerProcess(SAMPLE_RELEASE, "--slots", "10") as found:
        yield found


def free_slots(server):
    return server.call("GET", "/healthz")[1]["free_slots"]


@pytest.fixture
def make(server, won, tmp_path):
    """Gives a trainer for one task, ten generations, with these scripts for its model."""
    url = f"http://127.0.0.1:{server.port}"

    def made(scripts, **options):
        tokenizer = tiny_tokenizer()
        template = importlib.resources.files("trl") / "chat_templates" / "qwen2_5.jinja"
        tokenizer.chat_template = template.read_text(encoding="utf-8")
        sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = Qwen2Config(
            vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=ROOM, **sizes
        )
        with Client(url) as client:
            rows = dataset(client, [won[0]] * 2)
        trainer = GRPOTrainer(
            Qwen2ForCausalLM(config),
            shop_metrics,
            GRPOConfig(
                output_dir=str(tmp_path),
                use_cpu=True,
                bf16=False,
                per_device_train_batch_size=10,
                num_generations=10,
                max_completion_length=ROOM,
                report_to=[],
                max_steps=1,
                save_strategy="no",
            ),
            train_dataset=rows,
            processing_class=tokenizer,
            environment_factory=ShopFactory(url, options=options),
        )
        scripted(trainer, tokenizer, scripts)
        return trainer, [dict(rows[0]) for _ in range(10)]

    return made


def scripted(trainer, tokenizer, scripts):
    """Puts the scripts in place of generation. A trajectory is known by the end of what it has read."""
    state = {"turns": None, "seen": []}
    trainer.scripted = state

    def say(prompt_ids, *_, **__):
        if state["turns"] is None:
            state["turns"], live = [0] * len(prompt_ids), list(range(len(prompt_ids)))
        else:
            live = [place for place in state["live"] if state["said"][place]]
        state["said"], out = {}, []
        for place, ids in zip(live, prompt_ids, strict=True):
            text = scripts[place][state["turns"][place]]
            state["turns"][place] += 1
            state["said"][place] = "<tool_call>" in text
            state["seen"].append((place, list(ids)))
            out.append(tokenizer.encode(text + "<|im_end|>", add_special_tokens=False))
        state["live"] = live
        return out, None

    trainer._generate_single_turn = say


def test_the_reward_is_the_environments_and_the_prompt_has_the_page_once(make, server, won):
    task_id, texts = won
    bye = ["好了"]
    trainer, inputs = make([[*texts, *bye]] * 5 + [[texts[0], *bye]] * 5)
    output = trainer._generate_and_score_completions(inputs)
    advantages = output["advantages"]
    # Five of 1 and five of 0: mean 0.5, deviation as of a sample 0.527.
    expected = torch.tensor([0.5] * 5 + [-0.5] * 5) / (0.5 * (10 / 9) ** 0.5 + 1e-4)
    assert torch.allclose(advantages, expected, atol=1e-4)
    prompt = trainer.processing_class.decode(trainer.scripted["seen"][0][1])
    with load_release() as release:
        start = ShopEnv(release).reset(task_id)
    assert prompt.count(start.observation) == prompt.count(start.task_instruction) == 1
    assert '"name": "search"' in prompt
    assert '"name": "reset"' not in prompt
    metrics = {name: values[-1] for name, values in trainer._metrics["train"].items()}
    assert metrics["shop/left_out"] == 0.0
    assert metrics["shop/success"] == 0.5
    assert metrics["rewards/ShopTools/mean"] == 0.5
    # Pages are masked, what the model said is not.
    mask, ids = output["tool_mask"][0], output["completion_ids"][0]
    said = sum(len(trainer.processing_class.encode(text + "<|im_end|>")) for text in [*texts, *bye])
    whole = int(output["completion_mask"][0].sum())
    assert int((mask * output["completion_mask"][0]).sum()) == said < whole <= len(ids)
    assert free_slots(server) == 10


def test_nine_of_ten_resets_fail(make, server, won):
    held = [server.call("POST", "/v1/episodes", {"task_id": won[0]})[1]["lease_id"] for _ in range(9)]
    trainer, inputs = make([[*won[1], "好了"]] + [["好了"]] * 9, wait_s=0)
    # The probe of the tools has taken no slot; the tenth is for the first member.
    output = trainer._generate_and_score_completions(inputs)
    assert [environment.get_reward() for environment in trainer.environments] == [1.0] + [None] * 9
    assert not output["advantages"].isnan().any()
    assert output["advantages"].tolist() == [0.0] * 10
    metrics = {name: values[-1] for name, values in trainer._metrics["train"].items()}
    assert metrics["shop/left_out"] == pytest.approx(0.9)
    assert metrics["rewards/ShopTools/mean"] == 1.0
    assert ENDED in trainer.processing_class.decode(trainer.scripted["seen"][1][1])
    for lease in held:
        server.call("DELETE", f"/v1/episodes/{lease}")
    assert free_slots(server) == 10


def test_a_failure_in_the_middle_leaves_the_sample_out(make, server, won):
    trainer, inputs = make([[*won[1], "好了"]] * 2 + [[won[1][0], "好了"]] * 8)
    original = trainer._generate_single_turn

    def say(prompt_ids, *more, **others):
        out = original(prompt_ids, *more, **others)
        for environment in trainer.environments[5:]:  # their leases go away under them
            if not environment._rollout.done:
                server.call("DELETE", f"/v1/episodes/{environment._rollout._episode.lease_id}")
        return out

    trainer._generate_single_turn = say
    output = trainer._generate_and_score_completions(inputs)
    rewards = [environment.get_reward() for environment in trainer.environments]
    assert rewards == [1.0, 1.0, 0.0, 0.0, 0.0] + [None] * 5
    advantages = output["advantages"].tolist()
    # Mean 0.4 and deviation 0.5477 of the five that have a verdict.
    assert advantages[:2] == pytest.approx([0.6 / (0.3**0.5 + 1e-4)] * 2, rel=1e-4)
    assert advantages[2:5] == pytest.approx([-0.4 / (0.3**0.5 + 1e-4)] * 3, rel=1e-4)
    assert advantages[5:] == [0.0] * 5
    assert free_slots(server) == 10


def test_a_step_of_training_with_samples_left_out(make, server, won):
    held = [server.call("POST", "/v1/episodes", {"task_id": won[0]})[1]["lease_id"] for _ in range(8)]
    trainer, _ = make([[*won[1], "好了"], ["不买"]] + [["好了"]] * 8, wait_s=0)
    before = {name: value.clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    assert all(bool(torch.isfinite(value).all()) for value in trainer.model.parameters())
    assert any(not torch.equal(value, before[name]) for name, value in trainer.model.named_parameters())
    for lease in held:
        server.call("DELETE", f"/v1/episodes/{lease}")
    assert free_slots(server) == 10
