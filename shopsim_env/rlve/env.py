"""`RlveEnv` and `RlveBatch`: the Python interface of RLVE.

Belongs here: which episode is played next, the scheduler's part in it, and many episodes side by side. The
episode itself is in `episode`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shopsim_env.errors import EpisodeError, UsageError
from shopsim_env.release.opening import Release
from shopsim_env.rlve.environments import collection as collection_ids
from shopsim_env.rlve.environments import environment
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.scheduler import Result, Taken
from shopsim_env.rlve.step import RlveStep


class Scheduling(Protocol):
    """Where difficulties come from and results go: `ScheduleFile`, or anything that does the same."""

    def draw(self, environment: str, prompt: int) -> int:
        """The difficulty of a prompt."""

    def report(self, result: Result) -> Taken:
        """Takes a result."""


@dataclass(frozen=True, slots=True)
class RlveStart:
    """The start of an episode: what the agent sees, and the key that brings the same episode again."""

    observation: dict[str, Any]
    key: EpisodeKey


class RlveEnv:
    """One episode at a time over a release that it shares.

    Args:
        release: An opened release, whole or a public copy: RLVE needs no private part.
        collection: `C1` to `C8`, `R1` to `R8`, or environment ids.
        language: What the customer speaks, `zh` or `en`.
        strict: See `Episode`.
        schedule: Draws the difficulty where `reset` names none, and takes the results of those episodes.
            Without one, `reset` needs a difficulty.
        seed: Of the draws of environments and episode seeds where `reset` names none.

    Raises:
        UsageError: unknown collection or language, bad seed, a catalogue without goals.
    """

    def __init__(
        self,
        release: Release,
        collection: str | Iterable[str] = "C8",
        language: str = "zh",
        *,
        strict: bool = True,
        schedule: Scheduling | None = None,
        seed: int = 0,
    ) -> None:
        self.collection = collection_ids(collection)
        EpisodeKey(self.collection[0], 0, seed, language)
        self._language = language
        self._strict = strict
        self._schedule = schedule
        self._seed = seed
        self._prompt = -1
        self._scheduled = False
        self._market = Market.of(release)
        self._episode: Episode | None = None
        self._closed = False

    def reset(
        self,
        env_id: str | None = None,
        difficulty: int | None = None,
        seed: int | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
    ) -> RlveStart:
        """Starts an episode; a running one is dropped only when this succeeds.

        Args:
            env_id: One of the collection; without it, they take turns.
            difficulty: d; without it, the schedule draws it.
            seed: Of the episode; without it, the next one after the environment's own seed.
            overrides: Axes by name, for ablations.

        Raises:
            UsageError: an environment outside the collection (code `unknown_environment`), no difficulty
                and no schedule (code `no_difficulty`), bad values.
            EpisodeError: the environment is closed (code `closed`).
        """
        if self._closed:
            raise EpisodeError("reset after close; build a new RlveEnv", code="closed")
        prompt = self._prompt + 1
        chosen = self._environment(env_id, prompt)
        level = self._difficulty(chosen, difficulty, prompt)
        key = EpisodeKey(
            chosen,
            level,
            self._seed + prompt if seed is None else seed,
            self._language,
            dict(overrides or {}),
        )
        self._episode = Episode(self._market, key, strict=self._strict)
        self._prompt, self._scheduled = prompt, difficulty is None
        return RlveStart(self._episode.observation(), key)

    def step(self, message: str | bytes | Mapping[str, Any]) -> RlveStep:
        """Plays one turn of the agent.

        Raises:
            EpisodeError: before reset (code `no_episode`), after the end (code `episode_over`).
        """
        episode = self.episode
        step = episode.step(message)
        if step.done and self._scheduled and self._schedule is not None and episode.reward is not None:
            key = episode.key
            self._schedule.report(
                Result(self._prompt, key.env_id, key.difficulty, int(episode.reward.success))
            )
        return step

    @property
    def episode(self) -> Episode:
        """The present episode.

        Raises:
            EpisodeError: none was started (code `no_episode`).
        """
        if self._episode is None:
            raise EpisodeError("no episode yet; call reset first", code="no_episode")
        return self._episode

    def close(self) -> None:
        """Ends the use of this environment; the release stays open."""
        self._episode = None
        self._closed = True
        self._market.close()

    def __enter__(self) -> "RlveEnv":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _environment(self, env_id: str | None, prompt: int) -> str:
        if env_id is None:
            return self.collection[prompt % len(self.collection)]
        environment(env_id)
        if env_id not in self.collection:
            raise UsageError(
                f"environment: expected one of this collection ({', '.join(self.collection)}), "
                f"found {env_id!r}",
                code="unknown_environment",
            )
        return env_id

    def _difficulty(self, env_id: str, difficulty: int | None, prompt: int) -> int:
        if difficulty is not None:
            return difficulty
        if self._schedule is None:
            raise UsageError(
                "reset: expected a difficulty, or an RlveEnv with a schedule that draws it; found neither",
                code="no_difficulty",
            )
        return self._schedule.draw(env_id, prompt)


class RlveBatch:
    """Many episodes side by side over one release, stepped together.

    Args:
        release: As for `RlveEnv`.
        strict: See `Episode`.
    """

    def __init__(self, release: Release, *, strict: bool = True) -> None:
        self._market = Market.of(release)
        self._strict = strict
        self.episodes: list[Episode] = []

    def reset(self, keys: Sequence[EpisodeKey]) -> list[dict[str, Any]]:
        """Starts one episode per key; gives their first observations in the same order."""
        self.episodes = [Episode(self._market, key, strict=self._strict) for key in keys]
        return [episode.observation() for episode in self.episodes]

    def step(self, messages: Sequence[str | bytes | Mapping[str, Any] | None]) -> list[RlveStep | None]:
        """Plays one turn in each episode; None leaves one alone, as those that are over must be.

        Raises:
            UsageError: not one message per episode (code `batch_size`).
            EpisodeError: a message for an episode that is over (code `episode_over`); nothing was played.
        """
        if len(messages) != len(self.episodes):
            raise UsageError(
                f"step: expected {len(self.episodes)} messages, one per episode, found {len(messages)}",
                code="batch_size",
            )
        pairs = list(zip(self.episodes, messages, strict=True))
        over = [
            place for place, (episode, message) in enumerate(pairs) if episode.done and message is not None
        ]
        if over:
            raise EpisodeError(
                f"step: episodes {over} are over; pass None for them, or reset", code="episode_over"
            )
        return [None if message is None else episode.step(message) for episode, message in pairs]

    def close(self) -> None:
        """Ends the use; the release stays open."""
        self.episodes = []
        self._market.close()
