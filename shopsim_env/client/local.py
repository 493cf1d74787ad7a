"""`LocalClient`: the calls of `Client` over a pool in this process, without HTTP.

Belongs here: the same checks, exceptions and answers, from the same tables as the server's. A lock makes it
safe for threads, so that one may wait for a slot that another gives back.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from shopsim_env.client.beating import BeatingThread
from shopsim_env.client.calls import checked_wait
from shopsim_env.client.facts import (
    DEFAULT_WAIT_S,
    Ask,
    Health,
    ReleaseFacts,
    RlveAsk,
    RlveFacts,
    TaskPage,
    read,
    read_tasks,
)
from shopsim_env.client.faults import error_of
from shopsim_env.client.local_episodes import LocalEpisode, LocalRlveEpisode
from shopsim_env.client.view import EpisodeGroup
from shopsim_env.errors import PoolError
from shopsim_env.pool import Lease, LeasePool
from shopsim_env.pool.reception import Reception
from shopsim_env.pool.waiting import Notify, Ticket
from shopsim_env.release import Release
from shopsim_env.server import bodies
from shopsim_env.server.answers import goal_block
from shopsim_env.server.fields import read_fields
from shopsim_env.server.operations import TASKS_QUERY
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.rlve_bodies import RLVE_INFO_QUERY, RLVE_RESET
from shopsim_env.server.rlve_service import RlveService, rlve_request
from shopsim_env.server.service import Service, episode_request
from shopsim_env.shop.anchor import start_key

_SWEEP_S: Final = 0.05
_RULES: Final = ("ttl_s", "max_waiting", "clock", "prefix")
"""What holds for the leases of both worlds."""
T = TypeVar("T")


class LocalClient:
    """Episodes in this process, with the calls and errors of `Client`. Close it, or use it in a `with` block.

    Args:
        release: What is played; it stays open.
        slots: Number of episodes at once, and as many again of RLVE.
        pool_options: Further keywords of `LeasePool`, such as `ttl_s`.

    Raises:
        UsageError: a number out of range.
    """

    def __init__(self, release: Release, slots: int = 64, **pool_options: Any) -> None:
        self.pool = LeasePool(release, slots, **pool_options)
        self._release = release
        rules = {name: pool_options[name] for name in _RULES if name in pool_options}
        self._service = Service(release, self.pool, RlveService(release, slots, **rules))
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
    ) -> LocalEpisode:
        """Starts an episode, waiting for a slot; arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options)
        (lease,) = self._open(ask)
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
    ) -> EpisodeGroup[LocalEpisode]:
        """Starts `n` episodes with identical starts; arguments and errors as for `Client`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)
        leases = self._open(ask)
        start = leases[0].start
        anchor = start_key(start.task_instruction, start.user_persona, start.observation_state)
        episodes = tuple(self._episode(lease, private=private, heartbeat=heartbeat) for lease in leases)
        return EpisodeGroup(str(leases[0].group), anchor, episodes)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> LocalEpisode:
        """Takes over an episode that another holder began."""
        lease = self.call(lambda: self.pool.take_over(lease_id))
        return self._episode(lease, private=False, heartbeat=heartbeat)

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
    ) -> LocalRlveEpisode:
        """Starts an RLVE episode, waiting for a slot; arguments and errors as for `Client`."""
        ask = RlveAsk(env_id, difficulty, seed, language, overrides or {}, strict, tools, wait_s)
        fields = self.call(lambda: read_fields(RLVE_RESET, ask.body(0.0, None), "body"))
        leases = self.call(self._service.rlve.open_now)
        (lease,) = self._waited(
            leases, lambda wait_s, told: leases.ask(rlve_request(fields), wait_s, notify=told), wait_s
        )
        return self._rlve(lease, heartbeat=heartbeat)

    def attach_rlve(self, lease_id: str, *, heartbeat: bool = False) -> LocalRlveEpisode:
        """Takes over an RLVE episode that another holder began."""
        lease = self.call(lambda: self._service.rlve.live().take_over(lease_id))
        return self._rlve(lease, heartbeat=heartbeat)

    def rlve_facts(self, language: str = "zh") -> RlveFacts:
        """What can be played of RLVE."""

        def about() -> dict[str, Any]:
            RLVE_INFO_QUERY["language"].check("language", language)
            self._service.rlve.open_now()
            return self._service.rlve.about(language)

        return read(RlveFacts, self.call(about))

    def release_all_rlve(self) -> int:
        """As `release_all`, for RLVE."""
        return int(self.call(self._service.rlve.give_back_all)["released"])

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
            self._service.rlve.close()

    def call(self, does: Callable[[], T]) -> T:
        """Calls the pool, with the exceptions of a client."""
        try:
            with self._lock:
                return does()
        except PoolError as error:
            raise error_of(error.code, str(error)) from error
        except ProblemError as error:
            raise error_of(error.code, str(error), error.status) from error

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def goal(self, task_id: int) -> dict[str, Any]:
        """The goal of a task; a public copy of a release has none."""
        return goal_block(self._release.private(), task_id)

    def _open(self, ask: Ask) -> tuple[Lease, ...]:
        def asking(wait_s: float, told: Notify) -> Ticket:
            fields = bodies.RESET if ask.n is None else bodies.GROUP
            found = read_fields(fields, ask.body(0.0, None), "body")
            n, group = (1, False) if ask.n is None else (found["n"], True)
            return self.pool.ask(episode_request(found), wait_s, n=n, group=group, notify=told)

        return self._waited(self.pool, asking, ask.wait_s)

    def _waited(
        self, leases: Reception, asking: Callable[[float, Notify], Ticket], wait_s: float
    ) -> tuple[Lease, ...]:
        """Asks for leases and waits for them, while other threads go on."""
        wait_s = checked_wait(wait_s)
        settled = threading.Event()
        ticket = self.call(lambda: asking(wait_s, lambda _: settled.set()))
        try:
            while not ticket.settled:
                settled.wait(_SWEEP_S)
                self.call(leases.sweep)
        finally:
            if not ticket.settled:
                self.call(lambda: leases.give_up(ticket))
        return self.call(ticket.result)

    def _rlve(self, lease: Lease, *, heartbeat: bool) -> LocalRlveEpisode:
        episode = LocalRlveEpisode(self, self._service.rlve, lease)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def _episode(self, lease: Lease, *, private: bool, heartbeat: bool) -> LocalEpisode:
        goal = self.goal(lease.start.task_id) if private else None
        episode = LocalEpisode(self, self.pool, lease, goal)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def __enter__(self) -> "LocalClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
