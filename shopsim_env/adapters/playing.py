"""One trajectory of a model that speaks tokens, for trainers: from the lease to the record of tokens.

Belongs here: the loop of the adapters for verl and slime and what it promises: the lease is freed on every
path, and a failure of the infrastructure is no reward. A trainer's own types stay in its module.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from shopsim_env.adapters.rows import TaskRow
from shopsim_env.adapters.tokens import ChatTokens, TokenRecord
from shopsim_env.adapters.tool_text import read_answer
from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.runner.core import RolloutResult, failure_kind
from shopsim_env.runner.protocol import Message
from shopsim_env.runner.rollout import AsyncRollout

LOG = logging.getLogger("shopsim_env.adapters")
URL_VARIABLE: Final = "SHOPSIM_URL"
_CLIENTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncClient]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a model sampled: ids, their log probabilities, and why it stopped ("stop", "length", "abort")."""

    ids: Sequence[int]
    log_probs: "Sequence[float] | None" = None
    finish_reason: str = "stop"


Model: TypeAlias = Callable[[list[int], int], Awaitable[Sampled]]
"""Called with all ids so far and the most tokens that still fit."""
Reader: TypeAlias = Callable[[Sequence[int], list[dict[str, Any]]], Awaitable[Message]]
"""Called with the ids of an answer and the tools that were offered."""


@dataclass(frozen=True, slots=True)
class Play:
    """How trajectories are played.

    Args:
        client: Where; it stays open.
        chat: The model's chat template.
        most_tokens: Longest response in tokens, pages included.
        most_prompt_tokens: Longest prompt; a longer one is refused, for a cut one would lose its rules.
        read: What ids of an answer mean: the assistant message. Default: `tool_text.read_answer` of the text.
        most_context: What prompt and response have room in together; None when nothing else limits them.
    """

    client: AsyncClient
    chat: ChatTokens
    most_tokens: int
    most_prompt_tokens: "int | None" = None
    read: "Reader | None" = None
    most_context: "int | None" = None

    def left(self, tokens: TokenRecord) -> int:
        """How many tokens still fit."""
        left = self.most_tokens - len(tokens.response_ids)
        return left if self.most_context is None else min(left, self.most_context - len(tokens.ids))


@dataclass(frozen=True, slots=True)
class Played:
    """A trajectory. `tokens` is None when there was no episode; `result.valid` says whether it counts."""

    result: RolloutResult
    tokens: "TokenRecord | None" = None


async def play(settings: Play, model: Model, row: TaskRow) -> Played:
    """Plays the task of a row to its end.

    A model that the trainer stops (`abort`) leaves a result that is not valid, kind `adapter`: there is
    nothing that a reward could be about.

    Raises:
        UsageError, TaskError: what was asked for cannot be played; whatever the model raises. The lease is
            freed before.
    """
    options = {"tools": "static", "heartbeat": True, **row.options}
    try:
        rollout = await AsyncRollout.open(settings.client, row.task_id, seed=row.seed, **options)
    except ShopSimError as error:
        return Played(refused(error, row.task_id))
    async with rollout:
        tokens = TokenRecord(settings.chat, rollout.messages, rollout.tools)
        _require_fitting(settings, tokens)
        while not rollout.done:
            if not await _turn(settings, model, rollout, tokens):
                return Played(RolloutResult(valid=False, failure_kind="adapter"), tokens)
    tokens.cut(settings.most_tokens)
    if not rollout.result.valid:
        report_dropped(rollout.result, row.task_id)
    return Played(rollout.result, tokens)


async def _turn(settings: Play, model: Model, rollout: AsyncRollout, tokens: TokenRecord) -> bool:
    """One answer and what came of it; False when the trainer stopped the model."""
    left = settings.left(tokens)
    if left < 1:
        await rollout.terminate("generation_length")
        return True
    sampled = await model(tokens.ids, left)
    if sampled.finish_reason == "abort":
        return False
    tokens.add_answer(sampled.ids, sampled.log_probs)
    if settings.read is None:
        answer = read_answer(settings.chat.text(sampled.ids))
    else:
        answer = await settings.read(sampled.ids, rollout.tools)
    replies = await rollout.act(answer, finish_reason=sampled.finish_reason)
    if not rollout.done:
        tokens.add_messages(replies)
    return True


def refused(error: ShopSimError, task_id: int) -> RolloutResult:
    """The result of a trajectory that was not opened.

    Raises:
        ShopSimError: the call was wrong, which is no failure of the infrastructure.
    """
    if error.wrong_use:
        raise error
    result = RolloutResult(valid=False, failure_kind=failure_kind(error))
    report_dropped(result, task_id)
    return result


def report_dropped(result: RolloutResult, task_id: int) -> None:
    """Says in the log that a sample has no verdict, and why."""
    LOG.warning("a sample of task %s is left out: %s", task_id, result.failure_kind)


def server_url(given: "str | None" = None) -> str:
    """The address of the server: `given`, or the variable SHOPSIM_URL.

    Raises:
        UsageError: there is none (code `no_server`).
    """
    url = given or os.environ.get(URL_VARIABLE)
    if not url:
        raise UsageError(
            f"url: expected the address of 'shopsim serve', here or in {URL_VARIABLE}, found nothing",
            code="no_server",
        )
    return url


def shared_client(url: str) -> AsyncClient:
    """The client of the running event loop for an address; all its trajectories share connections."""
    clients = _CLIENTS.setdefault(asyncio.get_running_loop(), {})
    if url not in clients:
        clients[url] = AsyncClient(url)
    return clients[url]


def _require_fitting(settings: Play, tokens: TokenRecord) -> None:
    most = settings.most_prompt_tokens
    if most is not None and len(tokens.prompt_ids) > most:
        raise UsageError(
            f"prompt: expected at most {most} tokens, found {len(tokens.prompt_ids)}; "
            "raise the trainer's prompt length",
            code="prompt_too_long",
        )
