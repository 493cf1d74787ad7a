"""`AsyncClient`: the calls of `Client` for one event loop of asyncio.

Belongs here: running the operations of `core` with a connection and pauses. What they do: see `blocking`.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from shopsim_env.client.async_episodes import AsyncEpisode, AsyncGroup, AsyncRlveEpisode, Opening
from shopsim_env.client.beating import BeatingTask
from shopsim_env.client.calls import RLVE_EPISODES, Asked, Calls, new_request_id
from shopsim_env.client.core import members_of
from shopsim_env.client.facts import (
    DEFAULT_WAIT_S,
    Ask,
    Health,
    ReleaseFacts,
    RlveAsk,
    RlveFacts,
    TaskPage,
    member,
)
from shopsim_env.client.retrying import USUAL, Operation, Outcome, Pause, Retries
from shopsim_env.client.wire import AsyncWire, token_of
from shopsim_env.errors import ShopSimError

LOG = logging.getLogger("shopsim_env.client")
_FINISH_S: Final = 10.0
T = TypeVar("T")


class AsyncClient:
    """Episodes on a server, for one event loop; arguments as for `Client`."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        admin_token: str | None = None,
        timeout_s: float = 30.0,
        retries: Retries = USUAL,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        tokens = (token_of(token, "SHOPSIM_TOKEN"), token_of(admin_token, "SHOPSIM_ADMIN_TOKEN"))
        self._calls = Calls(*tokens, timeout_s, retries)
        self._wire = AsyncWire(url, tls)
        self._beats = BeatingTask()
        self._finishing: set[asyncio.Task[None]] = set()

    def episode(
        self,
        task_id: int | None = None,
        *,
        split: str | None = None,
        seed: int | None = None,
        tools: str = "dynamic",
        wait_s: float = DEFAULT_WAIT_S,
        private: bool = False,
        heartbeat: bool = False,
        **options: Any,
    ) -> Opening[AsyncEpisode]:
        """Starts an episode: `await` it, or use it in `async with`. Arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options)

        async def start() -> AsyncEpisode:
            return self._episode(await self._open(ask), heartbeat=heartbeat)

        return Opening(start)

    def group(
        self,
        task_id: int | None = None,
        *,
        n: int,
        split: str | None = None,
        seed: int | None = None,
        tools: str = "dynamic",
        wait_s: float = DEFAULT_WAIT_S,
        private: bool = False,
        heartbeat: bool = False,
        **options: Any,
    ) -> Opening[AsyncGroup]:
        """Starts `n` episodes with identical starts: `await` it, or use it in `async with`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)

        async def start() -> AsyncGroup:
            answer = await self._open(ask)
            episodes = tuple(self._episode(one, heartbeat=heartbeat) for one in members_of(answer))
            return AsyncGroup(member(answer, "group_id"), member(answer, "anchor"), episodes)

        return Opening(start)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> Opening[AsyncEpisode]:
        """Takes over an episode that another process began: `await` it, or use it in `async with`."""

        async def start() -> AsyncEpisode:
            return self._episode(await self.run(self._calls.take_over(lease_id)), heartbeat=heartbeat)

        return Opening(start)

    def rlve(
        self,
        env_id: str,
        difficulty: int,
        seed: int,
        *,
        language: str = "zh",
        overrides: Mapping[str, Any] | None = None,
        strict: bool = True,
        tools: str = "functions",
        wait_s: float = DEFAULT_WAIT_S,
        heartbeat: bool = False,
    ) -> Opening[AsyncRlveEpisode]:
        """Starts an RLVE episode: `await` it, or use it in `async with`; arguments as for `Client`."""
        ask = RlveAsk(env_id, difficulty, seed, language, overrides or {}, strict, tools, wait_s)

        async def start() -> AsyncRlveEpisode:
            return self._rlve(await self._open(ask), heartbeat=heartbeat)

        return Opening(start)

    def attach_rlve(self, lease_id: str, *, heartbeat: bool = False) -> Opening[AsyncRlveEpisode]:
        """Takes over an RLVE episode that another process began: `await` it, or use it in `async with`."""

        async def start() -> AsyncRlveEpisode:
            taken = await self.run(self._calls.take_over(lease_id, RLVE_EPISODES))
            return self._rlve(taken, heartbeat=heartbeat)

        return Opening(start)

    async def rlve_facts(self, language: str = "zh") -> RlveFacts:
        """What can be played of RLVE."""
        return await self.run(self._calls.rlve_facts(language))

    async def release_all_rlve(self) -> int:
        """As `release_all`, for RLVE."""
        return await self.run(self._calls.release_all(RLVE_EPISODES))

    async def release_facts(self) -> ReleaseFacts:
        """What the server serves."""
        return await self.run(self._calls.facts())

    async def tasks(self, split: str | None = None, *, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of the task list, of one split or of all tasks."""
        return await self.run(self._calls.tasks(split, offset, limit))

    async def health(self) -> Health:
        """Readiness and load."""
        return await self.run(self._calls.health())

    async def release_all(self) -> int:
        """Releases every lease of the server, whoever has it; needs the admin token."""
        return await self.run(self._calls.release_all())

    async def close(self) -> None:
        """Ends heartbeats and connections; leases that were not released expire. Closing twice is fine."""
        await self._beats.stop()
        if self._finishing:
            await asyncio.wait(self._finishing)
        await self._wire.close()

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation: sends what it asks for, pauses when it says so."""
        outcome: Outcome = None
        try:
            while True:
                effect = operation.send(outcome)
                if isinstance(effect, Pause):
                    await asyncio.sleep(effect.seconds)
                    outcome = None
                else:
                    outcome = await self._wire.send(effect)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    async def finish(self, operation: Operation[Any]) -> None:
        """Runs an operation that gives something back, for a few seconds at most and to its end.

        Whoever waits for it may be cancelled; `close` waits for it then. A failure is logged, since the
        lease expires by itself.
        """
        task = asyncio.ensure_future(self._finish(operation))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        await asyncio.shield(task)

    async def _finish(self, operation: Operation[Any]) -> None:
        try:
            await asyncio.wait_for(self.run(operation), _FINISH_S)
        except (ShopSimError, asyncio.TimeoutError) as error:
            code = error.code if isinstance(error, ShopSimError) else "timeout"
            LOG.warning("an episode was not released and will expire: %s", code)

    async def _open(self, ask: Asked) -> dict[str, Any]:
        """The answer to a request for episodes. What a cancelled one may have opened is given back."""
        request_id = new_request_id()
        try:
            return await self.run(self._calls.open(ask, request_id))
        except asyncio.CancelledError:
            await self.finish(self._calls.undo(ask, request_id))
            raise

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def _episode(self, answer: dict[str, Any], *, heartbeat: bool) -> AsyncEpisode:
        episode = AsyncEpisode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def _rlve(self, answer: dict[str, Any], *, heartbeat: bool) -> AsyncRlveEpisode:
        episode = AsyncRlveEpisode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._wire.url!r})"
