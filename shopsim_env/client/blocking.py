"""`Client`: blocking calls over HTTP.

Belongs here: running operations with a connection and pauses. Threads may share a client, an episode
(`episodes`) belongs to one of them at a time.
"""

import ssl
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from shopsim_env.client.beating import BeatingThread
from shopsim_env.client.calls import RLVE_EPISODES, Calls
from shopsim_env.client.core import members_of
from shopsim_env.client.episodes import Episode, RlveEpisode
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
from shopsim_env.client.view import EpisodeGroup
from shopsim_env.client.wire import Wire, token_of

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
    ) -> Episode:
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
    ) -> EpisodeGroup[Episode]:
        """Starts `n` episodes with identical starts; arguments and errors as for `episode`."""
        ask = Ask(task_id, split, seed, tools, wait_s, private, options, n)
        answer = self.run(self._calls.open(ask))
        episodes = tuple(self._episode(one, heartbeat=heartbeat) for one in members_of(answer))
        return EpisodeGroup(member(answer, "group_id"), member(answer, "anchor"), episodes)

    def attach(self, lease_id: str, *, heartbeat: bool = False) -> Episode:
        """Takes over an episode that another process began: whoever holds it is shut out.

        Raises:
            LeaseLostError: the lease is gone.
            ServiceError: as `episode`.
        """
        return self._episode(self.run(self._calls.take_over(lease_id)), heartbeat=heartbeat)

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
    ) -> RlveEpisode:
        """Starts an RLVE episode, waiting for a slot.

        Args:
            env_id: Environment, one of `rlve_facts().environments`.
            difficulty: d, from 0.
            seed: Seed of the episode.
            language: "zh" or "en".
            overrides: Axes by name instead of those of d.
            strict: Whether a turn that cannot be read ends the episode, as in training.
            tools: "functions" or "none".
            wait_s: Seconds to wait for a slot.
            heartbeat: Whether to keep the lease alive in the background.

        Raises:
            UsageError: what was asked for cannot be played.
            CapacityError: no slot in time.
            ServiceError: no answer, or not the right one; a server without RLVE (`rlve_unavailable`).
        """
        ask = RlveAsk(env_id, difficulty, seed, language, overrides or {}, strict, tools, wait_s)
        return self._rlve(self.run(self._calls.open(ask)), heartbeat=heartbeat)

    def attach_rlve(self, lease_id: str, *, heartbeat: bool = False) -> RlveEpisode:
        """Takes over an RLVE episode that another process began; errors as for `attach`."""
        return self._rlve(self.run(self._calls.take_over(lease_id, RLVE_EPISODES)), heartbeat=heartbeat)

    def rlve_facts(self, language: str = "zh") -> RlveFacts:
        """What can be played of RLVE: environments, collections, tools, in the words of a language."""
        return self.run(self._calls.rlve_facts(language))

    def release_all_rlve(self) -> int:
        """As `release_all`, for RLVE."""
        return self.run(self._calls.release_all(RLVE_EPISODES))

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

    def keep(self, episode: Any, *, kept: bool) -> None:
        """Begins or ends the heartbeats of an episode."""
        (self._beats.add if kept else self._beats.remove)(episode)

    def _episode(self, answer: dict[str, Any], *, heartbeat: bool) -> Episode:
        episode = Episode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def _rlve(self, answer: dict[str, Any], *, heartbeat: bool) -> RlveEpisode:
        episode = RlveEpisode(self, self._calls, answer)
        if heartbeat:
            self.keep(episode, kept=True)
        return episode

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r})"
