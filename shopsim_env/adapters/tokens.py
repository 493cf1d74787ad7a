"""A trajectory in tokens, exact: what the model sampled is kept as it was sampled, the rest is appended.

Belongs here: the one rule of masks, and how messages of the environment become tokens without writing earlier
turns anew. Nothing about a trainer.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from shopsim_env.errors import UsageError
from shopsim_env.runner.protocol import Message

_MARK: Final = "\u2055shopsim\u2055"


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used."""

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """The conversation as text (`tokenize=False`)."""

    def encode(self, text: str, **options: Any) -> Any:
        """Token ids of a text."""


class TokenRecord:
    """Ids of the prompt and of the response, with the mask that training needs.

    `response_ids`, `mask` and `log_probs` have equal lengths. The mask is 1 for what the model sampled and 0
    for what the environment said; a log probability is 0.0 where the mask is 0.

    Args:
        tokenizer: With a chat template.
        messages: The messages at the start.
        tools: Schemas for the template; None leaves them out.

    Raises:
        UsageError: code `bad_template`, when the template cannot be continued turn by turn.
    """

    def __init__(
        self, tokenizer: Tokenizer, messages: Sequence[Message], tools: "list[dict[str, Any]] | None" = None
    ) -> None:
        self._tokenizer = tokenizer
        self._end = _text_after_answer(tokenizer)
        self.prompt_ids = _encoded(tokenizer, _rendered(tokenizer, messages, tools=tools, open_turn=True))
        self.response_ids: list[int] = []
        self.mask: list[int] = []
        self.log_probs: list[float] = []

    @property
    def ids(self) -> list[int]:
        """Everything so far: what the model reads before its next answer."""
        return self.prompt_ids + self.response_ids

    def add_answer(self, ids: Sequence[int], log_probs: "Sequence[float] | None" = None) -> None:
        """Appends what the model sampled.

        Raises:
            UsageError: another number of log probabilities than of ids (code `bad_count`).
        """
        if log_probs is not None and len(log_probs) != len(ids):
            raise UsageError(
                f"log_probs: expected one for each of {len(ids)} tokens, found {len(log_probs)}",
                code="bad_count",
            )
        self._add(ids, 1, [0.0] * len(ids) if log_probs is None else log_probs)

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Appends what the environment said, up to where the model's next answer begins."""
        if not messages:
            return
        text = self._missing_end() + _continuation(self._tokenizer, messages, self._end)
        ids = _encoded(self._tokenizer, text)
        self._add(ids, 0, [0.0] * len(ids))

    def cut(self, most: int) -> None:
        """Keeps the first `most` tokens of the response."""
        for column in (self.response_ids, self.mask, self.log_probs):
            del column[most:]

    def _missing_end(self) -> str:
        """What a template writes after an answer, without the end of turn that the model sampled itself."""
        sampled_end = getattr(self._tokenizer, "eos_token_id", None)
        written = getattr(self._tokenizer, "eos_token", None)
        if self.response_ids and self.response_ids[-1] == sampled_end and written:
            return self._end.removeprefix(written)
        return self._end

    def _add(self, ids: Sequence[int], mask: int, log_probs: Sequence[float]) -> None:
        self.response_ids += ids
        self.mask += [mask] * len(ids)
        self.log_probs += log_probs


def _rendered(tokenizer: Tokenizer, messages: Sequence[Message], *, open_turn: bool, **options: Any) -> str:
    return str(
        tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=open_turn, **options
        )
    )


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def _stand_in() -> list[Message]:
    """A conversation that ends with an answer. Only its shape matters: real answers are never rendered."""
    return [{"role": "user", "content": "-"}, {"role": "assistant", "content": _MARK}]


def _text_after_answer(tokenizer: Tokenizer, messages: Sequence[Message] = ()) -> str:
    """What a template writes behind an answer: the end of the turn, then `messages` up to the next answer.

    Only the part behind the answer is looked at. Templates write the thinking of an answer otherwise when
    something follows it, and real answers stay as they were sampled.
    """
    text = _rendered(tokenizer, [*_stand_in(), *messages], open_turn=bool(messages))
    head, mark, tail = text.rpartition(_MARK)
    if not mark or _MARK in head:
        raise UsageError(
            "tokenizer: expected a chat template that writes the text of an answer once, found none",
            code="bad_template",
        )
    return tail


def _continuation(tokenizer: Tokenizer, messages: Sequence[Message], end: str) -> str:
    after = _text_after_answer(tokenizer, messages)
    if not after.startswith(end):
        raise UsageError(
            "tokenizer: expected a chat template that ends an answer alike whatever follows it, found another; "
            "training on it would not be token-exact",
            code="bad_template",
        )
    return after[len(end) :]
