"""`AsyncClient`: the calls of `Client` for one event loop of asyncio.

Belongs here: running the operations of `core` with a connection and pauses. What they do: see `blocking`.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shopsim_env.client.beating import BeatingTask
from shopsim_env.client.core import Calls, EpisodeCore, members_of
from shopsim_env.client.facts import (
    DEFAULT_WAIT_S,
    Ask,
    Health,
    ReleaseFacts,
    TaskPage,
    member,
)
from shopsim_env.client.retrying import USUAL, Operation, Outcome, Pause, Retries
from shopsim_env.client.wire import AsyncWire, token_of
from shopsim_env.errors import ShopSimError
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

LOG = logging.getLogger("shopsim_env.client")
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
    ) -> "Opening[AsyncEpisode]":
        """Starts an episode: `await` it, or use it in `async with`. Arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options)

        async def start() -> AsyncEpisode:
            return self._episode(await self.run(self._calls.open(ask)), heartbeat=heartbeat)

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
    ) -> "Opening[AsyncGroup]":
        """Starts `n` episodes with identical starts: `await` it, or use it in `async with`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)

        async def start() -> AsyncGroup:
            answer = await self.run(self._calls.open(ask))
            episodes = tuple(self._episode(one, heartbeat=heartbeat) for one in members_of(answer))
            return AsyncGroup(member(answer, "group_id"), member(answer, "anchor"), episodes)

        return Opening(start)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> "Opening[AsyncEpisode]":
        """Takes over an episode that another process began: `await` it, or use it in `async with`."""

        async def start() -> AsyncEpisode:
            return self._episode(await self.run(self._calls.take_over(lease_id)), heartbeat=heartbeat)

        return Opening(start)

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

    def keep(self, episode: "AsyncEpisode", *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def _episode(self, answer: dict[str, Any], *, heartbeat: bool) -> "AsyncEpisode":
        episode = AsyncEpisode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._wire.url!r})"


class AsyncEpisode(EpisodeCore):
    """An episode on a server; calls and errors as for `Episode`. Leaving its `async with` releases it."""

    def __init__(self, client: AsyncClient, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(calls, answer)
        self._client = client

    async def step(self, action: object) -> Step:
        """Plays one action; it is played once, however often it is sent."""
        return await self._client.run(self.stepping(action))

    async def terminate(self, reason: str) -> Step:
        """Ends the episode from outside."""
        return await self._client.run(self.playing("terminate", reason=reason))

    async def resume(self) -> None:
        """Sees where the episode stands after a failure or a cancelled call, as its only holder."""
        await self._client.run(self.resuming())

    async def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        return await self._client.run(self.beating())

    async def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return await self._client.run(self.tracing())

    async def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        return await self._client.run(self.releasing())

    async def leave(self) -> None:
        """Releases the lease if that is possible in a few seconds; otherwise it expires by itself."""
        self._client.keep(self, kept=False)
        if not self.released:
            try:
                await self._client.run(self.releasing(brief=True))
            except ShopSimError as error:
                LOG.warning("an episode was not released and will expire: %s", error.code)


@dataclass(frozen=True, slots=True)
class AsyncGroup:
    """Episodes of one task with identical starts."""

    group_id: str
    anchor: str
    episodes: tuple[AsyncEpisode, ...]

    async def leave(self) -> None:
        """Releases all of them."""
        await asyncio.gather(*(episode.leave() for episode in self.episodes))


class _Left(Protocol):
    async def leave(self) -> None: ...


Opened = TypeVar("Opened", bound=_Left)


class Opening(Generic[Opened]):
    """Something that is opened when it is awaited, or entered and then also left."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, Opened]]) -> None:
        self._start = start
        self._opened: Opened | None = None

    def __await__(self) -> Generator[Any, Any, Opened]:
        return self._start().__await__()

    async def __aenter__(self) -> Opened:
        self._opened = opened = await self._start()
        return opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.leave()
