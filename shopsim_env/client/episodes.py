"""Episodes of a `Client`: blocking calls over HTTP.

Belongs here: running the operations of `leasing`, `core` and `rlve`. The connection and its pauses are the
client's.
"""

import logging
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from shopsim_env.client.calls import Calls
from shopsim_env.client.core import EpisodeCore
from shopsim_env.client.leasing import LeaseCore
from shopsim_env.client.retrying import Operation
from shopsim_env.client.rlve import RlveCore
from shopsim_env.errors import ShopSimError
from shopsim_env.rlve.step import RlveStep
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

LOG = logging.getLogger("shopsim_env.client")
S = TypeVar("S")
T = TypeVar("T")
Self = TypeVar("Self", bound="_Lease[Any]")


class Runs(Protocol):
    """What an episode needs of its client."""

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation."""

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""


class _Lease(LeaseCore[S]):
    """A lease on a server. Leaving its `with` block releases it."""

    _client: Runs

    def resume(self) -> None:
        """Sees where the episode stands after a failure, as its only holder from now on.

        Raises:
            LeaseLostError, ServiceError: as `step`.
        """
        self._client.run(self.resuming())

    def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        return self._client.run(self.beating())

    def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        return self._client.run(self.releasing())

    def leave(self) -> None:
        """Releases the lease if that is possible in a few seconds; otherwise it expires by itself."""
        self._client.keep(self, kept=False)
        if not self._released:
            try:
                self._client.run(self.releasing(brief=True))
            except ShopSimError as error:
                LOG.warning("an episode was not released and will expire: %s", error.code)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Episode(EpisodeCore, _Lease[Step]):
    """An episode on a server. Leaving its `with` block releases it."""

    def __init__(self, client: Runs, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(calls, answer)
        self._client = client

    def step(self, action: object) -> Step:
        """Plays one action: text, a tool call or a typed action. It is played once, however often it is sent.

        Raises:
            EpisodeError: the episode has ended (`ended`); the outcome of another action is unknown
                (`unsettled`).
            LeaseLostError: the lease is gone or taken over.
            ServiceError: no answer. Whether the action was played is unknown: give the same action again, or
                call `resume`.
            UsageError, TraceError: no action, or none that JSON holds.
        """
        return self._client.run(self.stepping(action))

    def terminate(self, reason: str) -> Step:
        """Ends the episode from outside: "action_limit" or "generation_length"; errors as for `step`."""
        return self._client.run(self.playing("terminate", reason=reason))

    def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return self._client.run(self.tracing())


class RlveEpisode(RlveCore, _Lease[RlveStep]):
    """An RLVE episode on a server. Leaving its `with` block releases it."""

    def __init__(self, client: Runs, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(calls, answer)
        self._client = client

    def step(self, turn: str | Mapping[str, Any]) -> RlveStep:
        """Plays one turn: text as a model wrote it, or the object that it stands for; played once.

        Raises:
            EpisodeError, LeaseLostError, ServiceError: as `Episode.step`.
            UsageError: neither text nor an object that JSON holds.
        """
        return self._client.run(self.stepping(turn))

    def trace(self) -> bytes:
        """The line of the trace so far, as `shopsim replay --verify` reads it."""
        return self._client.run(self.tracing())

    def goal(self) -> dict[str, Any]:
        """`goal` and `score`, once the episode is over.

        Raises:
            EpisodeError: it is not over (`not_ended`).
        """
        return self._client.run(self.goal_of())
