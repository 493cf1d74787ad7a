"""One session of the protocol over the shared pool: at most one episode, and its lease only while it runs.

Belongs here: when a slot is taken and given back, what a call after the end gets, what the state tells. A
slot is taken by `reset`, which waits for one, and given back at the end of the episode, by the next reset or
by `close`; a session that is left alone loses it when the lease expires (docs/decisions/0034).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shopsim_env.adapters.openenv.asking import DEFAULT_SPLIT, Asked, read_asked
from shopsim_env.adapters.openenv.faults import WireError, clean
from shopsim_env.client.local import LocalClient
from shopsim_env.client.local_episodes import LocalEpisode
from shopsim_env.release import Release
from shopsim_env.shop.env import Reset, Step

LOG = logging.getLogger("shopsim_env.server")
DEFAULT_WAIT_S: Final = 50.0
"""Clients of the protocol give up on an answer after 60 seconds."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What all sessions share.

    Args:
        release: What is played.
        client: The pool; its lock makes it safe for the threads of the sessions.
        wait_s: Seconds that a reset waits for a slot.
        split: Split that a reset without any task draws from.
        options: Keywords of `ShopEnv` that hold where a reset does not say otherwise.
    """

    release: Release
    client: LocalClient
    wait_s: float = DEFAULT_WAIT_S
    split: str = DEFAULT_SPLIT
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Played:
    """A step as a session answers it; `again` when the episode had ended before, so no reward is in it."""

    step: Step
    structured: bool
    again: bool


class Session:
    """One client's session. Every call succeeds whole or raises `WireError`; no fault becomes a reward."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._asked: Asked | None = None
        self._episode: LocalEpisode | None = None
        self._closed = False

    def reset(self, given: Mapping[str, Any]) -> tuple[Reset, Asked, list[dict[str, Any]] | None]:
        """Starts an episode: its start, what was asked for, and tool schemas if they were.

        Arguments are checked first: a wrong one leaves the running episode alone. Its slot is free before the
        new one is waited for, so that full pools cannot lock each other out.

        Raises:
            WireError: a wrong argument; no slot within the time (failure kind `capacity`).
        """
        with clean():
            self._check_open()
            asked = read_asked(self._shop.release, given, self._shop.split, self._shop.options)
            self._let_go()
            episode = self._shop.client.episode(
                asked.task_id,
                split=asked.split,
                seed=asked.seed,
                tools=asked.tools,
                wait_s=self._shop.wait_s,
                **asked.options,
            )
            self._asked, self._episode = asked, episode
            self._log("episode opened", {})
            if self._closed:  # by another thread, while this one waited
                self._let_go()
                self._check_open()
            return episode.reset, asked, episode.tools

    def step(self, action: object) -> Played:
        """Plays one action; after the end it gives the terminal page again.

        Raises:
            WireError: before reset (`not_started`); the infrastructure failed (`failure_kind`).
        """
        with clean():
            self._check_open()
            episode, asked = self._episode, self._asked
            if episode is None or asked is None:
                raise WireError("expected a reset first, found a step", code="not_started")
            if episode.last is not None and episode.done:
                return Played(episode.last, asked.structured, again=True)
            step = episode.step(action)
            if not step.valid:
                message = "the step was not played and counts for nothing; it may be repeated"
                raise WireError(message, code="invalid_step", failure_kind=step.failure_kind)
            if step.done:
                episode.leave()
                self._log("episode ended", {"reason": step.termination_reason, "reward": step.reward})
            return Played(step, asked.structured, again=False)

    def state(self) -> dict[str, Any]:
        """How far the episode is; the reward once it has ended."""
        with clean():
            if self._episode is None or self._asked is None:
                return {"episode_id": None, "step_count": 0}
            last = self._episode.last
            return {
                "episode_id": self._asked.episode_id,
                "step_count": self._episode.actions_played,
                "task_id": self._episode.reset.task_id,
                "seed": self._asked.seed,
                "done": self._episode.done,
                "termination_reason": None if last is None else last.termination_reason,
                "reward": last.reward if last is not None and last.done else None,
            }

    def close(self) -> None:
        """Gives the slot back. Closing twice is fine."""
        self._closed = True
        self._let_go()

    def _check_open(self) -> None:
        if self._closed:
            message = "the session was closed or not used for too long; connect again"
            raise WireError(message, code="lease_lost", failure_kind="lease_lost")

    def _log(self, event: str, facts: dict[str, Any]) -> None:
        if self._episode is not None:
            held = {"slot": self._episode.slot, "fence": self._episode.fence}
            task = {"task_id": self._episode.reset.task_id}
            LOG.info(event, extra={"facts": {**held, **task, **facts}})

    def _let_go(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.leave()
