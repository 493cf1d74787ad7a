"""Episodes of an `AsyncClient`: the calls of `episodes` for one event loop.

Belongs here: running the operations of `leasing`, `core` and `rlve`; opening and leaving in `async with`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shopsim_env.client.calls import Calls
from shopsim_env.client.core import EpisodeCore
from shopsim_env.client.leasing import LeaseCore
from shopsim_env.client.retrying import Operation
from shopsim_env.client.rlve import RlveCore
from shopsim_env.rlve.step import RlveStep
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

S = TypeVar("S")
T = TypeVar("T")


class Runs(Protocol):
    """What an episode needs of its client."""

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation."""

    async def finish(self, operation: Operation[Any]) -> None:
        """Runs an operation to its end, also when whoever waits is cancelled."""

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""


class _Lease(LeaseCore[S]):
    """A lease on a server; calls and errors as in `episodes`."""

    _client: Runs

    async def resume(self) -> None:
        """Sees where the episode stands after a failure or a cancelled call, as its only holder."""
        await self._client.run(self.resuming())

    async def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        return await self._client.run(self.beating())

    async def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        return await self._client.run(self.releasing())

    async def leave(self) -> None:
        """Releases the lease if that is possible in a few seconds; otherwise it expires by itself.

        Also when it is cancelled meanwhile.
        """
        self._client.keep(self, kept=False)
        if not self._released:
            await self._client.finish(self.releasing(brief=True))


class AsyncEpisode(EpisodeCore, _Lease[Step]):
    """An episode on a server; calls and errors as for `Episode`. Leaving its `async with` releases it."""

    def __init__(self, client: Runs, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(calls, answer)
        self._client = client

    async def step(self, action: object) -> Step:
        """Plays one action; it is played once, however often it is sent."""
        return await self._client.run(self.stepping(action))

    async def terminate(self, reason: str) -> Step:
        """Ends the episode from outside."""
        return await self._client.run(self.playing("terminate", reason=reason))

    async def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return await self._client.run(self.tracing())


class AsyncRlveEpisode(RlveCore, _Lease[RlveStep]):
    """An RLVE episode on a server; calls and errors as for `RlveEpisode`."""

    def __init__(self, client: Runs, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(calls, answer)
        self._client = client

    async def step(self, turn: str | Mapping[str, Any]) -> RlveStep:
        """Plays one turn; it is played once, however often it is sent."""
        return await self._client.run(self.stepping(turn))

    async def trace(self) -> bytes:
        """The line of the trace so far."""
        return await self._client.run(self.tracing())

    async def goal(self) -> dict[str, Any]:
        """`goal` and `score`, once the episode is over."""
        return await self._client.run(self.goal_of())


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
