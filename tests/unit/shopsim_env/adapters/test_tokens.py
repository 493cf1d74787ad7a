"""Masks and ids of a trajectory, against texts written out by hand."""

import pytest
from token_models import END, OBSERVATION, START, ByteTokenizer

from shopsim_env.adapters.tokens import ChatTokens, TokenRecord
from shopsim_env.errors import UsageError

MESSAGES = [{"role": "system", "content": "规则"}, {"role": "user", "content": "买一个杯子"}]
PAGE = {"role": "tool", "tool_call_id": "call-1-1", "content": "第一页：杯子"}
TALK = {"role": "user", "content": "请重新作答"}
HEAD = f"{START}system\n规则{END}\n{START}user\n买一个杯子{END}\n{START}assistant\n"


def encoded(text):
    return ByteTokenizer().encode(text, add_special_tokens=False)


def record(tokenizer=None, **options):
    return TokenRecord(ChatTokens(tokenizer or ByteTokenizer(), **options), MESSAGES)


@pytest.mark.parametrize("reply", [PAGE, TALK])
def test_a_turn_in_tokens_is_the_conversation_as_the_template_writes_it(reply):
    tokens = record()
    assert tokens.prompt_ids == encoded(HEAD)
    answer, second = encoded(f"查找杯子{END}"), encoded(f"买{END}")
    tokens.add_answer(answer, [-0.25] * len(answer))
    tokens.add_messages([reply])
    tokens.add_answer(second)
    between = encoded(f"\n{START}{reply['role']}\n{reply['content']}{END}\n{START}assistant\n")
    assert tokens.ids == encoded(HEAD) + answer + between + second
    assert tokens.mask == [1] * len(answer) + [0] * len(between) + [1] * len(second)
    assert tokens.log_probs == [-0.25] * len(answer) + [0.0] * (len(between) + len(second))


def test_an_end_that_the_model_did_not_sample_is_the_environments():
    tokens = record()
    answer = encoded("查找")
    tokens.add_answer(answer)
    tokens.add_messages([PAGE])
    between = encoded(f"{END}\n{START}tool\n{PAGE['content']}{END}\n{START}assistant\n")
    assert tokens.response_ids == answer + between
    assert tokens.mask == [1] * len(answer) + [0] * len(between)


def test_what_was_sampled_is_never_encoded_anew():
    tokens = record()
    odd = list(b"search") + encoded(END)
    assert odd != encoded(f"search{END}"), "the tokenizer itself would have merged a pair"
    tokens.add_answer(odd)
    tokens.add_messages([PAGE])
    assert tokens.response_ids[: len(odd)] == odd


def test_several_messages_and_tools():
    chat = ChatTokens(ByteTokenizer())
    other = {**PAGE, "tool_call_id": "call-1-2", "content": "错误"}
    ids = chat.following(encoded(f"x{END}"), [PAGE, other])
    assert ids == encoded(
        f"\n{START}tool\n{PAGE['content']}{END}\n{START}tool\n错误{END}\n{START}assistant\n"
    )
    tools = [{"type": "function", "function": {"name": "search"}}]
    assert TokenRecord(chat, MESSAGES, tools).prompt_ids[: len(encoded(f"{START}tools\n["))] == encoded(
        f"{START}tools\n["
    )


def test_cutting_keeps_the_columns_equal():
    tokens = record()
    tokens.add_answer(encoded(f"abcdef{END}"))
    tokens.add_messages([PAGE])
    tokens.cut(9)
    assert len(tokens.response_ids) == len(tokens.mask) == len(tokens.log_probs) == 9
    assert tokens.mask == [1] * 7 + [0] * 2


class Observing(ByteTokenizer):
    """As GLM: the token that ends an answer is the one that begins the page."""

    def apply_chat_template(self, conversation, *, add_generation_prompt, **_):
        heads = {"user": START + "user\n", "assistant": START + "assistant\n", "tool": OBSERVATION + "\n"}
        heads["system"] = START + "system\n"
        text = "".join(heads[one["role"]] + one["content"] for one in conversation)
        return text + (START + "assistant\n" if add_generation_prompt else "")


def test_a_token_that_begins_the_page_stands_once():
    tokens = record(Observing())
    answer = encoded(f"查找{OBSERVATION}")
    tokens.add_answer(answer)
    tokens.add_messages([PAGE])
    between = encoded(f"\n{PAGE['content']}{START}assistant\n")
    assert tokens.response_ids == answer + between
    assert tokens.mask == [1] * len(answer) + [0] * len(between)


class Plain(ByteTokenizer):
    """Its answers end in no token of their own, and a line break follows them."""

    def apply_chat_template(self, conversation, *, add_generation_prompt, **_):
        text = "".join(f"{START}{one['role']}: {one['content']}\n" for one in conversation)
        return text + (f"{START}assistant: " if add_generation_prompt else "")


def test_a_token_with_a_text_of_its_own_is_no_end_of_a_turn():
    tokens = record(Plain())
    answer = encoded("查找\n")
    tokens.add_answer(answer)
    tokens.add_messages([PAGE])
    between = encoded(f"\n{START}tool: {PAGE['content']}\n{START}assistant: ")
    assert tokens.response_ids == answer + between
    assert tokens.mask == [1] * len(answer) + [0] * len(between)


class Thinking(ByteTokenizer):
    """As Qwen3: thinking of earlier answers is written only while no user has spoken since."""

    def apply_chat_template(self, conversation, *, add_generation_prompt, **options):
        users = [place for place, one in enumerate(conversation) if one["role"] == "user"]
        text = ""
        for place, one in enumerate(conversation):
            thought = "<think>\n\n</think>\n\n" if one["role"] == "assistant" and place > users[-1] else ""
            text += f"{START}{one['role']}\n{thought}{one['content']}{END}\n"
        opening = "" if options.get("enable_thinking", True) else "<think>\n\n</think>\n\n"
        return text + (f"{START}assistant\n{opening}" if add_generation_prompt else "")


@pytest.mark.parametrize(
    ("options", "opening"),
    [({}, ""), ({"enable_thinking": False}, "<think>\n\n</think>\n\n")],
)
def test_a_template_that_writes_earlier_answers_otherwise(options, opening):
    tokens = record(Thinking(), **options)
    answer = encoded(f"<think>嗯</think>查找{END}")
    tokens.add_answer(answer)
    tokens.add_messages([TALK])
    between = encoded(f"\n{START}user\n请重新作答{END}\n{START}assistant\n{opening}")
    assert tokens.response_ids == answer + between


class Deaf(ByteTokenizer):
    def apply_chat_template(self, conversation, **options):
        return super().apply_chat_template([one for one in conversation if one["role"] != "tool"], **options)


class Strict(ByteTokenizer):
    def apply_chat_template(self, conversation, **options):
        if any(one["role"] == "tool" for one in conversation):
            raise ValueError("roles must alternate")
        return super().apply_chat_template(conversation, **options)


class Twice(ByteTokenizer):
    def apply_chat_template(self, conversation, **options):
        return super().apply_chat_template([*conversation, *conversation[1:2]], **options)


@pytest.mark.parametrize(
    ("tokenizer", "said"), [(Deaf, "leaves it out"), (Strict, "roles must alternate"), (Twice, "2 times")]
)
def test_templates_that_cannot_be_continued_are_refused(tokenizer, said):
    with pytest.raises(UsageError, match=said) as found:
        ChatTokens(tokenizer())
    assert found.value.code == "bad_template"


def test_log_probs_must_fit():
    with pytest.raises(UsageError, match="one for each of 2 tokens, found 1") as found:
        record().add_answer([1, 2], [-0.1])
    assert found.value.code == "bad_count"
