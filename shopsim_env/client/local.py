"""`LocalClient`: the calls of `Client` over a pool in this process, without HTTP.

Belongs here: the same checks, exceptions and answers, from the same tables as the server's. A lock makes it
safe for threads, so that one may wait for a slot that another gives back.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from shopsim_env.client.beating import BeatingThread
from shopsim_env.client.core import checked_wait
from shopsim_env.client.facts import (
    DEFAULT_WAIT_S,
    Ask,
    Health,
    ReleaseFacts,
    TaskPage,
    read,
    read_tasks,
    wire_action,
)
from shopsim_env.client.faults import error_of
from shopsim_env.client.view import EpisodeGroup, EpisodeView
from shopsim_env.errors import PoolError
from shopsim_env.pool import Lease, LeasePool
from shopsim_env.pool.waiting import Ticket
from shopsim_env.release import Release
from shopsim_env.server import bodies
from shopsim_env.server.answers import goal_block, tool_block
from shopsim_env.server.fields import read_fields
from shopsim_env.server.operations import TASKS_QUERY
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.service import Service, episode_request, tool_kind
from shopsim_env.shop.anchor import start_key
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

LOG = logging.getLogger("shopsim_env.client")
_SWEEP_S: Final = 0.05
T = TypeVar("T")


class LocalClient:
    """Episodes in this process, with the calls and errors of `Client`. Close it, or use it in a `with` block.

    Args:
        release: What is played; it stays open.
        slots: Number of episodes at once.
        pool_options: Further keywords of `LeasePool`, such as `ttl_s`.

    Raises:
        UsageError: a number out of range.
    """

    def __init__(self, release: Release, slots: int = 64, **pool_options: Any) -> None:
        self.pool = LeasePool(release, slots, **pool_options)
        self._release = release
        self._service = Service(release, self.pool)
        self._lock = threading.RLock()
        self._beats = BeatingThread()

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
    ) -> "LocalEpisode":
        """Starts an episode, waiting for a slot; arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options)
        (lease,) = self._open(ask, bodies.RESET)
        return self._episode(lease, private=private, heartbeat=heartbeat)

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
    ) -> "EpisodeGroup[LocalEpisode]":
        """Starts `n` episodes with identical starts; arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)
        leases = self._open(ask, bodies.GROUP)
        start = leases[0].start
        anchor = start_key(start.task_instruction, start.user_persona, start.observation_state)
        episodes = tuple(self._episode(lease, private=private, heartbeat=heartbeat) for lease in leases)
        return EpisodeGroup(str(leases[0].group), anchor, episodes)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> "LocalEpisode":
        """Takes over an episode that another holder began."""
        lease = self.call(lambda: self.pool.take_over(lease_id))
        return self._episode(lease, private=False, heartbeat=heartbeat)

    def release_facts(self) -> ReleaseFacts:
        """What is played."""
        return read(ReleaseFacts, self._service.about())

    def tasks(self, split: str | None = None, *, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of the task list, of one split or of all tasks."""
        asked = {"split": split, "offset": offset, "limit": limit}
        found = self.call(lambda: self._service.tasks(read_fields(TASKS_QUERY, asked, "query")))
        return read_tasks(found)

    def health(self) -> Health:
        """Readiness and load."""
        with self._lock:
            return read(Health, self._service.health())

    def release_all(self) -> int:
        """Releases every lease."""
        return self.call(self.pool.give_back_all)

    def close(self) -> None:
        """Ends heartbeats and drops every episode. Closing twice is fine."""
        self._beats.stop()
        with self._lock:
            self.pool.close()

    def call(self, does: Callable[[], T]) -> T:
        """Calls the pool, with the exceptions of a client."""
        try:
            with self._lock:
                return does()
        except (PoolError, ProblemError) as error:
            raise error_of(error.code, str(error)) from error

    def keep(self, episode: "LocalEpisode", *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def goal(self, task_id: int) -> dict[str, Any]:
        """The goal of a task; a public copy of a release has none."""
        return goal_block(self._release.private(), task_id)

    def _open(self, ask: Ask, fields: Any) -> tuple[Lease, ...]:
        wait_s = checked_wait(ask.wait_s)
        settled = threading.Event()

        def asking() -> Ticket:
            found = read_fields(fields, ask.body(0.0, None), "body")
            n, group = (1, False) if ask.n is None else (found["n"], True)
            request = episode_request(found)
            return self.pool.ask(request, wait_s, n=n, group=group, notify=lambda _: settled.set())

        ticket = self.call(asking)
        try:
            while not ticket.settled:
                settled.wait(_SWEEP_S)
                self.call(self.pool.sweep)
        finally:
            if not ticket.settled:
                self.call(lambda: self.pool.give_up(ticket))
        return self.call(ticket.result)

    def _episode(self, lease: Lease, *, private: bool, heartbeat: bool) -> "LocalEpisode":
        episode = LocalEpisode(self, lease, private=private)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def __enter__(self) -> "LocalClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalEpisode(EpisodeView):
    """An episode in this process; calls and errors as for `Episode`. Leaving its `with` block releases it."""

    def __init__(self, client: LocalClient, lease: Lease, *, private: bool) -> None:
        super().__init__(lease.start, client.goal(lease.start.task_id) if private else None)
        self._client = client
        self._pool = client.pool
        self._look(lease)

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

    def resume(self) -> None:
        """Sees where the episode stands, as its only holder from now on."""
        self._look(self._client.call(lambda: self._pool.take_over(self.lease_id)))

    def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        self._client.call(lambda: self._pool.use(self.lease_id, self.fence))
        return self.expires_in_s

    def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return self._client.call(lambda: self._pool.trace(self.lease_id))

    def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        given_back = self._client.call(lambda: self._pool.give_back(self.lease_id, self.fence))
        self._released = True
        return given_back

    def leave(self) -> None:
        """Releases the lease if it is still held here."""
        if not self.released:
            try:
                self.release()
            except PoolError as error:
                LOG.warning("an episode was not released: %s", error.code)

    @property
    def expires_in_s(self) -> float:
        """Seconds without use after which the lease is gone."""
        return self._pool.ttl_s

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

    def _look(self, lease: Lease) -> None:
        self.lease_id, self.fence, self.slot = lease.id, lease.fence, lease.slot
        self.last, self.actions_played = lease.last, len(lease.entries)
        self._tool_kind = tool_kind(lease)

    def __enter__(self) -> "LocalEpisode":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
