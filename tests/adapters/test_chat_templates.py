"""Incremental tokens with the chat templates that TRL ships, against the templates themselves."""

import importlib.resources

import pytest

pytest.importorskip("trl", reason="the extra `trl` is not installed; `make adapters` has it")

from tiny_tokenizer import tiny_tokenizer

from shopsim_env.adapters.tokens import ChatTokens, TokenRecord
from shopsim_env.errors import UsageError

TEMPLATES = importlib.resources.files("trl") / "chat_templates"
CALL = '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>'
START = [{"role": "system", "content": "规则"}, {"role": "user", "content": "买杯子"}]
PAGE = {"role": "tool", "tool_call_id": "call-1-1", "content": "第一页"}
TALK = {"role": "user", "content": "请重新作答"}
ENDS = {"glm4moe": "", "llama3_1": "<|eot_id|>", "llama3_2": "<|eot_id|>", "llama3": "<|eot_id|>"}
GOOD = ("qwen2_5", "qwen3_instruct_2507", "qwen3_5_nothink", "llama3_1", "llama3_2", "lfm2_2_5", "glm4moe")
THINKING = ("qwen3", "qwen3_5_think", "qwen3_6", "qwen3_8", "nemotron_3_nano")
BAD = ("gemma", "gemma3", "gemma4", "gptoss", "cohere", "phi3")


def tokenizer_of(name):
    found = tiny_tokenizer()
    specials = ["<|eot_id|>", "<|observation|>", "<|user|>", "<|assistant|>"]
    found.add_special_tokens({"additional_special_tokens": specials})
    found.chat_template = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
    return found


def played(name, end, reply):
    tokenizer = tokenizer_of(name)
    tokens = TokenRecord(ChatTokens(tokenizer), START)
    answer = tokenizer.encode(CALL + end, add_special_tokens=False)
    tokens.add_answer(answer)
    tokens.add_messages([reply])
    assert tokens.mask == [1] * len(answer) + [0] * (len(tokens.mask) - len(answer))
    return tokenizer, tokens, answer


@pytest.mark.parametrize("reply", [PAGE, TALK], ids=["page", "talk"])
@pytest.mark.parametrize("name", GOOD)
def test_a_turn_is_what_the_template_writes_for_the_whole_conversation(name, reply):
    end = ENDS.get(name, "<|im_end|>")
    tokenizer, tokens, answer = played(name, end, reply)
    opening = tokenizer.decode(tokens.prompt_ids)
    whole = tokenizer.apply_chat_template(
        [*START, {"role": "assistant", "content": CALL}, reply], tokenize=False, add_generation_prompt=True
    )
    behind = whole[whole.rindex(CALL) + len(CALL) :]
    assert tokenizer.decode(tokens.ids) == opening + CALL + behind
    assert tokens.ids[len(tokens.prompt_ids) :][: len(answer)] == answer


@pytest.mark.parametrize("reply", [PAGE, TALK], ids=["page", "talk"])
@pytest.mark.parametrize("name", THINKING)
def test_thinking_that_a_template_would_write_anew_stays_as_sampled(name, reply):
    tokenizer, tokens, answer = played(name, "<|im_end|>", reply)
    behind = tokenizer.decode(tokens.ids[len(tokens.prompt_ids) + len(answer) :])
    assert behind.startswith("\n<|im_start|>user\n")
    assert behind.count(reply["content"]) == 1
    assert "<|im_start|>assistant\n" in behind


@pytest.mark.parametrize("reply", [PAGE, TALK], ids=["page", "talk"])
def test_a_token_that_glm_samples_to_hand_over_stands_once(reply):
    end = "<|observation|>" if reply is PAGE else "<|user|>"
    tokenizer, tokens, _ = played("glm4moe", end, reply)
    text = tokenizer.decode(tokens.ids[len(tokens.prompt_ids) :])
    assert text.count(end) == 1


@pytest.mark.parametrize("name", BAD)
def test_templates_that_cannot_take_tool_messages_alone_are_refused(name):
    with pytest.raises(UsageError) as found:
        ChatTokens(tokenizer_of(name))
    assert found.value.code == "bad_template"
