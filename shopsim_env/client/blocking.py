"""`Client`: blocking calls over HTTP.

Belongs here: running the operations of `core` with a connection and pauses. Threads may share a client, an
episode belongs to one of them at a time.
"""

import logging
import ssl
import time
from typing import Any, TypeVar

from shopsim_env.client.beating import BeatingThread
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
from shopsim_env.client.view import EpisodeGroup
from shopsim_env.client.wire import Wire, token_of
from shopsim_env.errors import ShopSimError
from shopsim_env.shop.env import Step
from shopsim_env.trace import TraceRecord

LOG = logging.getLogger("shopsim_env.client")
T = TypeVar("T")


class Client:
    """Episodes on a server. Close it when done, or use it in a `with` block.

    Args:
        url: Address, such as `http://127.0.0.1:5700`.
        token: Bearer token; None reads SHOPSIM_TOKEN.
        admin_token: Token for private goals and `release_all`; None reads SHOPSIM_ADMIN_TOKEN.
        timeout_s: Seconds that an answer may take, waiting for a slot apart.
        retries: How long failed requests are repeated.
        tls: Certificates to trust; None takes the usual ones.

    Raises:
        UsageError: a bad address, token or number; httpx is not installed (`missing_extra`).
    """

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
        self._wire = Wire(url, tls)
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
    ) -> "Episode":
        """Starts an episode, waiting for a slot.

        Args:
            task_id: Task to play, or `split` and `seed` to draw one.
            split: Split to draw from.
            seed: Seed of the draw and of the shopper's wordings.
            tools: "dynamic", "static" or "none".
            wait_s: Seconds to wait for a slot.
            private: Whether to get the goal, which needs the admin token.
            heartbeat: Whether to keep the lease alive in the background.
            options: Keywords of `ShopEnv`.

        Raises:
            UsageError, TaskError: what was asked for cannot be played.
            CapacityError: no slot in time.
            ServiceError: no answer, or not the right one.
        """
        ask = Ask(task_id, split, seed, tools, wait_s, private, options)
        return self._episode(self.run(self._calls.open(ask)), heartbeat=heartbeat)

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
    ) -> "EpisodeGroup[Episode]":
        """Starts `n` episodes with identical starts; arguments and errors as for `episode`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)
        answer = self.run(self._calls.open(ask))
        episodes = tuple(self._episode(one, heartbeat=heartbeat) for one in members_of(answer))
        return EpisodeGroup(member(answer, "group_id"), member(answer, "anchor"), episodes)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> "Episode":
        """Takes over an episode that another process began: whoever holds it is shut out.

        Raises:
            LeaseLostError: the lease is gone.
            ServiceError: as `episode`.
        """
        return self._episode(self.run(self._calls.take_over(lease_id)), heartbeat=heartbeat)

    def release_facts(self) -> ReleaseFacts:
        """What the server serves."""
        return self.run(self._calls.facts())

    def tasks(self, split: str | None = None, *, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of the task list, of one split or of all tasks."""
        return self.run(self._calls.tasks(split, offset, limit))

    def health(self) -> Health:
        """Readiness and load."""
        return self.run(self._calls.health())

    def release_all(self) -> int:
        """Releases every lease of the server, whoever has it; needs the admin token."""
        return self.run(self._calls.release_all())

    def close(self) -> None:
        """Ends heartbeats and connections; leases that were not released expire. Closing twice is fine."""
        self._beats.stop()
        self._wire.close()

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation: sends what it asks for, pauses when it says so."""
        outcome: Outcome = None
        try:
            while True:
                effect = operation.send(outcome)
                if isinstance(effect, Pause):
                    time.sleep(effect.seconds)
                    outcome = None
                else:
                    outcome = self._wire.send(effect)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    def keep(self, episode: "Episode", *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def _episode(self, answer: dict[str, Any], *, heartbeat: bool) -> "Episode":
        episode = Episode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r})"


class Episode(EpisodeCore):
    """An episode on a server. Leaving its `with` block releases it."""

    def __init__(self, client: Client, calls: Calls, answer: dict[str, Any]) -> None:
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

    def resume(self) -> None:
        """Sees where the episode stands after a failure, as its only holder from now on.

        Raises:
            LeaseLostError, ServiceError: as `step`.
        """
        self._client.run(self.resuming())

    def heartbeat(self) -> float:
        """Renews the lease; the seconds that it is good for."""
        return self._client.run(self.beating())

    def trace(self) -> TraceRecord:
        """The trace of the episode so far."""
        return self._client.run(self.tracing())

    def release(self) -> bool:
        """Gives the slot back; False when the lease was gone already."""
        self._client.keep(self, kept=False)
        return self._client.run(self.releasing())

    def leave(self) -> None:
        """Releases the lease if that is possible in a few seconds; otherwise it expires by itself."""
        self._client.keep(self, kept=False)
        if not self.released:
            try:
                self._client.run(self.releasing(brief=True))
            except ShopSimError as error:
                LOG.warning("an episode was not released and will expire: %s", error.code)

    def __enter__(self) -> "Episode":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
