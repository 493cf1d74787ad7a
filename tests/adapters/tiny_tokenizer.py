"""A real tokenizer of a few hundred tokens with a chat template in ChatML, trained here on a few lines."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

LINES = [
    "搜索结果：收纳盒，价格 25 元，第 1 页",
    "<tool_call>\n{}\n</tool_call>",
    '{"name": "search"}',
    "可点击",
] * 4
TEMPLATE = """{%- if tools %}<|im_start|>system
{{ messages[0].content if messages[0].role == 'system' else '' }}
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or message.role == 'assistant' %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n' + (call.function | tojson) + '\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def tiny_tokenizer() -> Any:
    """The tokenizer. A text has one encoding of its own, and others that a model may sample."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=360, special_tokens=specials, initial_alphabet=alphabet)
    )
    names = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    found = PreTrainedTokenizerFast(tokenizer_object=made, **names)
    found.chat_template = TEMPLATE
    return found


def save_tiny_model(folder: Path) -> None:
    """A folder as of a small Qwen2: configuration and tokenizer, without weights."""
    from transformers import Qwen2Config

    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(folder)
    Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        architectures=["Qwen2ForCausalLM"],
    ).save_pretrained(folder)
