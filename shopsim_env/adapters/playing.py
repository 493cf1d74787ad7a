"""One trajectory of a model that speaks tokens, for trainers: from the lease to the record of tokens.

Belongs here: the loop of `slime`, and what every adapter promises: the lease is freed on every path, and a
failure of the infrastructure is no reward. What a trainer's own types are called stays in its module.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shopsim_env.adapters.tokens import Tokenizer, TokenRecord
from shopsim_env.adapters.tool_text import read_answer
from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.errors import ShopSimError
from shopsim_env.runner.core import RolloutResult, failure_kind
from shopsim_env.runner.protocol import Message
from shopsim_env.runner.rollout import AsyncRollout


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a model sampled: ids, their log probabilities, and why it stopped ("stop", "length", "abort")."""

    ids: Sequence[int]
    log_probs: "Sequence[float] | None" = None
    finish_reason: str = "stop"
    text: "str | None" = None


Model: TypeAlias = Callable[[list[int], int], Awaitable[Sampled]]
"""Called with all ids so far and the most tokens that still fit."""


@dataclass(frozen=True, slots=True)
class Play:
    """How trajectories are played.

    Args:
        client: Where; it stays open.
        tokenizer: Of the model.
        most_tokens: Longest response in tokens, pages included.
        read: What a text of the model means; default `tool_text.read_answer`.
        options: Keywords of `AsyncRollout.open`, such as `prompt`, `task_mode`, `wait_s`.
    """

    client: AsyncClient
    tokenizer: Tokenizer
    most_tokens: int
    read: Callable[[str], Message] = read_answer
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Played:
    """A trajectory. `tokens` is None when there was no episode; `result.valid` says whether it counts."""

    result: RolloutResult
    tokens: "TokenRecord | None" = None


async def play(settings: Play, model: Model, task_id: int, *, seed: "int | None" = None) -> Played:
    """Plays one task to its end.

    Raises:
        UsageError, TaskError: what was asked for cannot be played; whatever the model raises. The lease is
            freed before.
    """
    try:
        rollout = await AsyncRollout.open(
            settings.client,
            task_id,
            seed=seed,
            **{"tools": "static", "heartbeat": True, **settings.options},
        )
    except ShopSimError as error:
        if error.wrong_use:
            raise
        return Played(RolloutResult(valid=False, failure_kind=failure_kind(error)))
    async with rollout:
        tokens = TokenRecord(settings.tokenizer, rollout.messages, rollout.tools)
        while not rollout.done:
            aborted = await _turn(settings, model, rollout, tokens)
            if aborted:
                return Played(RolloutResult(valid=False, failure_kind="adapter"), tokens)
    return Played(rollout.result, tokens)


async def _turn(settings: Play, model: Model, rollout: AsyncRollout, tokens: TokenRecord) -> bool:
    """One answer and what came of it; True when the trainer stopped the model, which no reward may follow."""
    left = settings.most_tokens - len(tokens.response_ids)
    if left < 1:
        tokens.cut(settings.most_tokens)
        await rollout.terminate("generation_length")
        return False
    sampled = await model(tokens.ids, left)
    if sampled.finish_reason == "abort":
        return True
    tokens.add_answer(sampled.ids, sampled.log_probs)
    text = sampled.text if sampled.text is not None else _decoded(settings.tokenizer, sampled.ids)
    replies = await rollout.act(settings.read(text), finish_reason=sampled.finish_reason)
    if not rollout.done:
        tokens.add_messages(replies)
    return False


def _decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=True))
