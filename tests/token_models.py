"""A tokenizer of bytes with a chat template, and models that say what they are told to, in tokens."""

import json
import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from shopsim_env.adapters.playing import Sampled

START, END, OBSERVATION = "<|im_start|>", "<|im_end|>", "<|observation|>"
SPECIALS = {START: 256, END: 257, OBSERVATION: 258}
MERGED = {"se": 300, "ar": 301}
SHAPES = {"search": "query", "click": "value", "ask_shopper": "message"}


class ByteTokenizer:
    """Bytes of UTF-8, three special tokens, two merged pairs: a text has more than one encoding."""

    eos_token_id = SPECIALS[END]
    all_special_ids = (SPECIALS[END],)

    added_tokens_decoder: ClassVar = {number: SimpleNamespace(special=True) for number in SPECIALS.values()}

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        found: list[int] = []
        for piece in re.split(f"({'|'.join(map(re.escape, (*SPECIALS, *MERGED)))})", text):
            known = {**SPECIALS, **MERGED}.get(piece)
            found += list(piece.encode()) if known is None else [known]
        return found

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        names = {number: name for name, number in {**SPECIALS, **MERGED}.items()}
        out = b""
        for number in token_ids:
            if not (skip_special_tokens and number in SPECIALS.values()):
                out += bytes([number]) if number < 256 else names[number].encode()
        return out.decode(errors="replace")

    def apply_chat_template(
        self,
        conversation: Sequence[dict[str, Any]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        tools: "list[dict[str, Any]] | None" = None,
        **_: Any,
    ) -> str:
        assert not tokenize
        head = f"{START}tools\n{json.dumps(tools)}{END}\n" if tools else ""
        turns = "".join(f"{START}{one['role']}\n{one['content']}{END}\n" for one in conversation)
        return head + turns + (f"{START}assistant\n" if add_generation_prompt else "")


def call_text(action: str) -> str:
    """The text of a model that plays a canonical action as a tool call."""
    name, _, rest = action.partition("[")
    call = {"name": name, "arguments": {SHAPES[name]: rest[:-1]}}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


class Scripted:
    """A model for `play` that says these texts in turn, each with its end. `seen` has what it read."""

    def __init__(self, tokenizer: Any, texts: Iterable[str], end: str = END) -> None:
        self._tokenizer = tokenizer
        self._texts = iter(texts)
        self._end = end
        self.seen: list[list[int]] = []
        self.said: list[list[int]] = []

    async def __call__(self, ids: list[int], left: int) -> Sampled:
        self.seen.append(list(ids))
        whole = self._tokenizer.encode(next(self._texts) + self._end, add_special_tokens=False)
        said = whole[:left]
        self.said.append(said)
        log_probs = [-0.5 - place for place in range(len(said))]
        return Sampled(said, log_probs, "stop" if len(said) == len(whole) else "length")
