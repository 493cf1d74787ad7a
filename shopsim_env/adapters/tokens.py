"""A trajectory in tokens, exact: what the model sampled is kept as it was sampled, the rest is appended.

Belongs here: the one rule of masks, and how messages of the environment become tokens without writing earlier
turns anew. Nothing about a trainer.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from shopsim_env.errors import UsageError
from shopsim_env.runner.protocol import Message

# Stand in an answer, and in what follows it, to find them again in what a template wrote.
_ANSWER: Final = "shopsim-answer-mark"
_REPLY: Final = "shopsim-reply-mark"


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used."""

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """The conversation as text (`tokenize=False`)."""

    def encode(self, text: str, **options: Any) -> Any:
        """Token ids of a text."""

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """The text of token ids."""


class ChatTokens:
    """What a chat template writes, in tokens, without rendering an answer of the model.

    Args:
        tokenizer: With a chat template.
        template_options: Further keywords of the template, such as `enable_thinking`.

    Raises:
        UsageError: code `bad_template`: the template refuses a tool message or a second user message, or
            leaves it out.
    """

    def __init__(self, tokenizer: Tokenizer, **template_options: Any) -> None:
        self._tokenizer = tokenizer
        self._options = template_options
        self._special = _special_ids(tokenizer)
        for probe in ({"role": "tool", "tool_call_id": "call-1-1"}, {"role": "user"}):
            if self._behind_answer([{**probe, "content": _REPLY}]).count(_REPLY) != 1:
                raise _bad_template(f"writes a {probe['role']} message after an answer", "leaves it out")

    def start(self, messages: Sequence[Message], tools: "list[dict[str, Any]] | None") -> list[int]:
        """Ids of the messages at the start, up to where the model's first answer begins."""
        return self._encoded(self._rendered(messages, tools=tools))

    def following(self, sampled: Sequence[int], messages: Sequence[Message]) -> list[int]:
        """Ids behind an answer: the end of its turn, `messages`, and the beginning of the next answer.

        A token that ends the turn in the template, or begins the next one, is left out when the model
        sampled it itself.
        """
        ids = self._encoded(self._behind_answer(messages))
        sampled_it = bool(sampled and ids) and sampled[-1] == ids[0] and ids[0] in self._special
        return ids[1:] if sampled_it else ids

    @property
    def filler(self) -> list[int]:
        """One token that stands for nothing, where a trainer's tensors must not be empty."""
        return [int(getattr(self._tokenizer, "eos_token_id", None) or 0)]

    def text(self, ids: Sequence[int]) -> str:
        """The text of an answer without its special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def _behind_answer(self, messages: Sequence[Message]) -> str:
        """What the template writes behind an answer that `messages` follow.

        Only the part behind the answer is looked at: templates write the thinking of an answer otherwise when
        something follows it, and real answers stay as they were sampled.
        """
        text = self._rendered(
            [{"role": "user", "content": "-"}, {"role": "assistant", "content": _ANSWER}, *messages]
        )
        if text.count(_ANSWER) != 1:
            raise _bad_template("writes the text of an answer once", f"writes it {text.count(_ANSWER)} times")
        return text.partition(_ANSWER)[2]

    def _rendered(self, messages: Sequence[Message], **more: Any) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages), tokenize=False, add_generation_prompt=True, **more, **self._options
                )
            )
        except Exception as error:
            # Templates are programs of their own and raise what they like; the text is theirs.
            raise _bad_template("takes system, user, assistant and tool messages", f"says {error}") from error

    def _encoded(self, text: str) -> list[int]:
        return [int(one) for one in self._tokenizer.encode(text, add_special_tokens=False)]


class TokenRecord:
    """Ids of the prompt and of the response, with the mask that training needs.

    `response_ids`, `mask` and `log_probs` have equal lengths. The mask is 1 for what the model sampled and 0
    for what the environment said; a log probability is 0.0 where the mask is 0.

    Args:
        chat: The chat template in tokens.
        messages: The messages at the start.
        tools: Schemas for the template; None leaves them out.
    """

    def __init__(
        self, chat: ChatTokens, messages: Sequence[Message], tools: "list[dict[str, Any]] | None" = None
    ) -> None:
        self._chat = chat
        self.prompt_ids = chat.start(messages, tools)
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
        ids = self._chat.following(self.response_ids, messages)
        self._add(ids, 0, [0.0] * len(ids))

    def cut(self, most: int) -> None:
        """Keeps the first `most` tokens of the response."""
        for column in (self.response_ids, self.mask, self.log_probs):
            del column[most:]

    def _add(self, ids: Sequence[int], mask: int, log_probs: Sequence[float]) -> None:
        self.response_ids += ids
        self.mask += [mask] * len(ids)
        self.log_probs += log_probs


def _special_ids(tokenizer: Any) -> frozenset[int]:
    """Ids that stand for no text of their own."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    named = getattr(tokenizer, "all_special_ids", ())
    return frozenset(named) | {number for number, token in added.items() if token.special}


def _bad_template(expected: str, found: str) -> UsageError:
    message = f"tokenizer: expected a chat template that {expected}, found one that {found}"
    return UsageError(message, code="bad_template")
