"""Episodes of a `LocalClient`: calls of the leases in this process.

Belongs here: the calls of `episodes`, with the checks of the server's tables.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from shopsim_env.client.facts import RlveOpening, wire_action
from shopsim_env.client.rlve import RlveView, wire_turn
from shopsim_env.client.view import EpisodeView
from shopsim_env.errors import PoolError
from shopsim_env.pool import Lease, LeasePool
from shopsim_env.pool.holding import Holding
from shopsim_env.rlve.step import RlveStep
from shopsim_env.server import bodies
from shopsim_env.server.answers import tool_block
from shopsim_env.server.rlve_service import RlveService
from shopsim_env.server.service import tool_kind
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

LOG = logging.getLogger("shopsim_env.client")
T = TypeVar("T")
Self = TypeVar("Self", bound="_LocalLease")


class Calls(Protocol):
    """What an episode needs of its client."""

    def call(self, does: Callable[[], T]) -> T:
        """Calls the leases, with the exceptions of a client."""

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""


class _LocalLease(ABC):
    """A lease in this process. Leaving its `with` block releases it."""

    lease_id: str
    fence: int
    slot: int
    _released: bool

    def __init__(self, client: Calls, leases: Holding, lease: Lease) -> None:
        self._client = client
        self._leases = leases
        self._look(lease)

    @property
    def expires_in_s(self) -> float:
        """Seconds without use after which the lease is gone."""
        return self._leases.ttl_s

    def resume(self) -> None:
        """Sees where the episode stands, as its only holder from now on."""
        self._look(self._client.call(lambda: self._leases.take_over(self.lease_id)))

    def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        self._client.call(lambda: self._leases.use(self.lease_id, self.fence))
        return self.expires_in_s

    def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        given_back = self._client.call(lambda: self._leases.give_back(self.lease_id, self.fence))
        self._released = True
        return given_back

    def leave(self) -> None:
        """Releases the lease if it is still held here."""
        if not self._released:
            try:
                self.release()
            except PoolError as error:
                LOG.warning("an episode was not released: %s", error.code)

    @abstractmethod
    def _seen(self, lease: Lease) -> None:
        """Takes the state of the episode."""

    def _look(self, lease: Lease) -> None:
        self.lease_id, self.fence, self.slot = lease.id, lease.fence, lease.slot
        self._seen(lease)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class LocalEpisode(EpisodeView, _LocalLease):
    """An episode in this process; calls and errors as for `Episode`. Leaving its `with` block releases it."""

    def __init__(self, client: Calls, pool: LeasePool, lease: Lease, private: dict[str, Any] | None) -> None:
        EpisodeView.__init__(self, lease.start, private)
        self._pool = pool
        _LocalLease.__init__(self, client, pool, lease)

    def step(self, action: object) -> Step:
        """Plays one action."""
        played = wire_action(action)
        return self._played(lambda: self._pool.step(self.lease_id, played, fence=self.fence))

    def terminate(self, reason: str) -> Step:
        """Ends the episode from outside."""

        def ending() -> Step:
            bodies.TERMINATE["reason"].check("reason", reason)
            return self._pool.terminate(self.lease_id, reason, fence=self.fence)

        return self._played(ending)

    def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return self._client.call(lambda: self._pool.trace(self.lease_id))

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool schemas as they were asked for: of the current page, of all pages, or None."""
        state = self.reset.observation_state if self.last is None else self.last.observation_state
        block = tool_block(state, self._tool_kind, self.reset.interaction_mode)
        found: list[dict[str, Any]] | None = block.get("tools")
        return found

    def _played(self, does: Callable[[], Step]) -> Step:
        step = self._client.call(does)
        self._note(step)
        return step

    def _seen(self, lease: Lease) -> None:
        self.last, self.actions_played = lease.last, len(lease.entries)
        self._tool_kind = tool_kind(lease)


class LocalRlveEpisode(RlveView, _LocalLease):
    """An RLVE episode in this process; calls and errors as for `RlveEpisode`."""

    def __init__(self, client: Calls, service: RlveService, lease: Lease) -> None:
        start = service.start_of(lease)
        tools = start.pop("tools", None)
        RlveView.__init__(self, RlveOpening(**start), tools)
        self._service = service
        self._rlve = service.open_now()
        _LocalLease.__init__(self, client, self._rlve, lease)

    def step(self, turn: str | Mapping[str, Any]) -> RlveStep:
        """Plays one turn."""
        played = wire_turn(turn)
        step = self._client.call(lambda: self._rlve.step(self.lease_id, played, fence=self.fence))
        self._note(step)
        return step

    def trace(self) -> bytes:
        """The line of the trace so far."""
        return self._client.call(lambda: self._service.trace(self.lease_id))

    def goal(self) -> dict[str, Any]:
        """`goal` and `score`, once the episode is over."""
        return self._client.call(lambda: self._service.goal(self.lease_id))

    def _seen(self, lease: Lease) -> None:
        self.last, self.turns_played = lease.last, len(lease.entries)
