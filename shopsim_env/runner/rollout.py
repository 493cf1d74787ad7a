"""`Rollout` and `AsyncRollout`: one trajectory that owns one lease, from open to close.

Belongs here: running the operations of `core` on an episode of a client. Forgotten rollouts hold no thread;
their leases expire by themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.client.blocking import Client
from shopsim_env.client.facts import DEFAULT_WAIT_S
from shopsim_env.client.local import LocalClient
from shopsim_env.errors import ShopSimError
from shopsim_env.runner.core import Operation, RolloutCore, RolloutResult, Settings, failure_kind
from shopsim_env.runner.prompts import Prompt
from shopsim_env.runner.protocol import Message

T = TypeVar("T")
_SETTLE_S: Final = 5.0


class Rollout(RolloutCore):
    """One trajectory over a `Client` or a `LocalClient`. Close it, or use it in a `with` block."""

    @classmethod
    def open(
        cls,
        client: Client | LocalClient,
        task_id: int | None = None,
        *,
        split: str | None = None,
        seed: int | None = None,
        prompt: str | Prompt = "zh-v1",
        tools: str = "dynamic",
        text_beside_call: bool = True,
        keep_trace: bool = False,
        wait_s: float = DEFAULT_WAIT_S,
        heartbeat: bool = False,
        **environment: Any,
    ) -> "Rollout":
        """Starts an episode, waiting for a slot.

        Args:
            client: Where it is played.
            task_id: Task to play, or `split` and `seed` to draw one.
            split: Split to draw from.
            seed: Seed of the draw and of the shopper's wordings.
            prompt: `zh-v1`, `en-v1` or a `Prompt`.
            tools: "dynamic" schemas of each page, or "static" ones of every page.
            text_beside_call: False makes visible text beside a call a protocol error (`mixed_content`).
            keep_trace: Whether to keep the record of the episode (`trace`) when it ends.
            wait_s: Seconds to wait for a slot.
            heartbeat: Whether to keep the lease alive while the model thinks. A forgotten rollout with
                heartbeats holds its slot as long as its client is open.
            environment: Keywords of `ShopEnv`. `max_actions` limits the answers of the model; a protocol
                error is one. `max_invalid` counts protocol errors and refused actions in a row.

        Raises:
            UsageError, TaskError: what was asked for cannot be played.
            CapacityError, ServiceError, PoolError: no episode; see `open_many` for groups.
        """
        settings = Settings.of(prompt, tools, text_beside_call, keep_trace, environment)
        asked: dict[str, Any] = {
            "split": split,
            "seed": seed,
            "tools": tools,
            "wait_s": wait_s,
            "heartbeat": heartbeat,
        }
        return cls(client.episode(task_id, **asked, **environment), settings)

    def act(self, message: object, *, finish_reason: str | None = None) -> list[Message]:
        """Plays one assistant message `{"content": ..., "tool_calls": [...]}`.

        Args:
            message: As a chat endpoint gives it; arguments as JSON text or as an object.
            finish_reason: "length" ends the episode with `generation_length` when the message holds no proper
                call.

        Returns:
            The messages that the model gets back: the page in a tool message, or a typed protocol error; none
            when the infrastructure failed, which `result` then says.

        Raises:
            EpisodeError: the rollout has ended (code `ended`).
        """
        return self._run(self.acting(message, finish_reason))

    def act_text(self, text: str) -> list[Message]:
        """Plays canonical text such as `search[…]`, for trainers without tool calls; as `act`."""
        return self._run(self.acting_text(text))

    def terminate(self, reason: str) -> None:
        """Ends the episode with reward 0 ("action_limit", "generation_length"); nothing after an end."""
        self._run(self.ending(reason))

    def close(self) -> None:
        """Frees the lease. Closing twice is fine."""
        self._run(self.leaving())

    def _run(self, operation: Operation[T]) -> T:
        try:
            effect = next(operation)
            while True:
                try:
                    outcome = effect(self._episode)
                except ShopSimError as error:  # noqa: PERF203
                    effect = operation.throw(error)
                else:
                    effect = operation.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    def __enter__(self) -> "Rollout":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRollout(RolloutCore):
    """One trajectory over an `AsyncClient`; calls as for `Rollout`. Close it, or use it in `async with`."""

    @classmethod
    async def open(
        cls,
        client: AsyncClient,
        task_id: int | None = None,
        *,
        split: str | None = None,
        seed: int | None = None,
        prompt: str | Prompt = "zh-v1",
        tools: str = "dynamic",
        text_beside_call: bool = True,
        keep_trace: bool = False,
        wait_s: float = DEFAULT_WAIT_S,
        heartbeat: bool = False,
        **environment: Any,
    ) -> "AsyncRollout":
        """Starts an episode, waiting for a slot; arguments and errors as for `Rollout.open`."""
        settings = Settings.of(prompt, tools, text_beside_call, keep_trace, environment)
        asked: dict[str, Any] = {
            "split": split,
            "seed": seed,
            "tools": tools,
            "wait_s": wait_s,
            "heartbeat": heartbeat,
        }
        opening = client.episode(task_id, **asked, **environment)
        return cls(await _to_the_end(opening, undo=lambda episode: episode.leave()), settings)

    async def act(self, message: object, *, finish_reason: str | None = None) -> list[Message]:
        """Plays one assistant message; as `Rollout.act`."""
        return await self._run(self.acting(message, finish_reason))

    async def act_text(self, text: str) -> list[Message]:
        """Plays canonical text; as `Rollout.act_text`."""
        return await self._run(self.acting_text(text))

    async def terminate(self, reason: str) -> None:
        """Ends the episode from outside; as `Rollout.terminate`."""
        await self._run(self.ending(reason))

    async def close(self) -> None:
        """Frees the lease. Closing twice is fine."""
        await _to_the_end(self._run(self.leaving()))

    async def _run(self, operation: Operation[T]) -> T:
        try:
            effect = next(operation)
            while True:
                try:
                    outcome = await effect(self._episode)
                except ShopSimError as error:  # noqa: PERF203
                    effect = operation.throw(error)
                else:
                    effect = operation.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    async def __aenter__(self) -> "AsyncRollout":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def open_many(
    client: Client | LocalClient, task_ids: Iterable[int], **options: Any
) -> list[Rollout | RolloutResult]:
    """Opens one rollout per task id, each on its own: one that cannot be opened does not stop the others.

    A group for comparison is one task id many times. In place of a member that the infrastructure refused
    stands its result (`valid` False, no reward): drop it and count it. Members are opened one after another
    and hold their slots, so more of them than there are slots wait in vain for `wait_s` seconds each.

    Raises:
        UsageError, TaskError: what was asked for cannot be played; members opened before are closed.
    """
    opened: list[Rollout | RolloutResult] = []
    try:
        for task_id in task_ids:
            try:
                opened.append(Rollout.open(client, task_id, **options))
            except ShopSimError as error:  # noqa: PERF203
                opened.append(_refused(error))
    except BaseException:
        for member in opened:
            if isinstance(member, Rollout):
                member.close()
        raise
    return opened


async def open_many_async(
    client: AsyncClient, task_ids: Iterable[int], **options: Any
) -> list[AsyncRollout | RolloutResult]:
    """`open_many` for an `AsyncClient`; members are opened side by side."""

    async def one(task_id: int) -> AsyncRollout | RolloutResult:
        try:
            return await AsyncRollout.open(client, task_id, **options)
        except ShopSimError as error:
            return _refused(error)

    tasks = [asyncio.ensure_future(one(task_id)) for task_id in task_ids]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(found, AsyncRollout):
                await found.close()
        raise


async def _to_the_end(call: Awaitable[T], undo: Callable[[T], Awaitable[None]] | None = None) -> T:
    """The result of a call that gets or frees a lease; when we are cancelled, it still gets some seconds.

    Else the server would give a lease that nobody knows of, and hold the slot until it expires. `undo` takes
    back what came too late.
    """
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_SETTLE_S)
        if not task.done():
            task.cancel()
        elif undo is not None and not task.cancelled() and task.exception() is None:
            await undo(task.result())
        raise


def _refused(error: ShopSimError) -> RolloutResult:
    """The result of a rollout that was not opened.

    Raises:
        ShopSimError: the call was wrong, which is no failure of the infrastructure.
    """
    if error.wrong_use:
        raise error
    return RolloutResult(valid=False, failure_kind=failure_kind(error))
