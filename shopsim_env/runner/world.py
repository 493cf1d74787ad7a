"""Where a run is played: a server, or a pool in this process; for the runner both look alike.

Belongs here: opening one of them, what it serves, and `LocalAsync`, a `LocalClient` with awaitable calls.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final

from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.client.facts import TaskPage
from shopsim_env.client.local import LocalClient
from shopsim_env.client.local_episodes import LocalEpisode, LocalRlveEpisode
from shopsim_env.errors import TaskError, UnknownTaskError, UsageError
from shopsim_env.release import load_release
from shopsim_env.rlve.step import RlveStep
from shopsim_env.runner.config import RunConfig
from shopsim_env.shop.env import Reset, Step
from shopsim_env.trace import TraceRecord

_PAGE: Final = 1_000
_TTL_S: Final = 30 * 86_400.0


class World:
    """What episodes are played on. Use it in `async with`.

    Attributes:
        client: An `AsyncClient`, or what stands for one.
        release: Id of the release.
        versions: Its component versions.
        slots: Episodes at once.
        answers: For RLVE, the JSON schema of an answer by environment.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._opened = ExitStack()
        self.client: Any = None
        self.release = ""
        self.versions: dict[str, str] = {}
        self.slots = 0
        self.answers: dict[str, Any] = {}

    async def __aenter__(self) -> "World":
        try:
            await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _open(self) -> None:
        section = self._config.sections["environment"]
        if section["server"] is not None:
            self.client = AsyncClient(section["server"])
            self.slots = (await self.client.health()).environment_slots
        else:
            # A slot for every episode, so that none waits, which would hold the event loop.
            self.slots = self._config.sections["run"]["concurrency"]
            release = self._opened.enter_context(load_release(self._config.release))
            self.client = LocalAsync(LocalClient(release, self.slots, ttl_s=_TTL_S))
        rlve = self._config.rlve
        if rlve is None:
            facts = await self.client.release_facts()
            self.release, self.versions = facts.id, facts.versions
        else:
            found = await self.client.rlve_facts(rlve["language"])
            self.release, self.versions = found.release, {"rlve_suite": found.suite}
            self.answers = {row["id"]: row["answer"] for row in found.environments}
            _check_levels(rlve["difficulties"], found.max_difficulty)

    async def __aexit__(self, *_: object) -> None:
        if self.client is not None:
            await self.client.close()
        self._opened.close()

    async def task_ids(self) -> tuple[int, ...]:
        """The tasks that the configuration names; none for RLVE, whose keys stand in the file.

        Raises:
            TaskError: an unknown or empty split, an unknown task.
        """
        if self._config.rlve is not None:
            return ()
        section = self._config.sections["tasks"]
        found = await self._listed(section["split"])
        if section["ids"] is None:
            if not found:
                raise TaskError(
                    f"split {section['split']!r} has no tasks in this release", code="empty_split"
                )
            return found
        odd = sorted(set(section["ids"]) - set(found))
        if odd:
            raise UnknownTaskError(f"tasks.ids: expected tasks of the release, found {odd[:10]}")
        return tuple(section["ids"])

    async def _listed(self, split: str | None) -> tuple[int, ...]:
        ids: list[int] = []
        while True:
            page = await self.client.tasks(split, offset=len(ids), limit=_PAGE)
            ids += [row.task_id for row in page.tasks]
            if len(ids) >= page.total or not page.tasks:
                return tuple(ids)


def _check_levels(levels: tuple[int, ...], most: int) -> None:
    if max(levels) > most:
        raise UsageError(
            f"rlve.difficulties: expected levels up to {most}, found {max(levels)}", code="out_of_range"
        )


class LocalAsync:
    """The calls of an `AsyncClient` that a run makes, over a `LocalClient`."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client

    async def episode(self, task_id: int | None = None, **asked: Any) -> "LocalAsyncEpisode":
        """Starts an episode; the lease outlives any answer of a model, so no heartbeat is needed."""
        return LocalAsyncEpisode(self._client.episode(task_id, **{**asked, "heartbeat": False}))

    @asynccontextmanager
    async def rlve(self, *key: Any, **asked: Any) -> AsyncIterator["LocalAsyncRlveEpisode"]:
        """An RLVE episode; left at the end."""
        episode = self._client.rlve(*key, **{**asked, "heartbeat": False})
        try:
            yield LocalAsyncRlveEpisode(episode)
        finally:
            episode.leave()

    async def rlve_facts(self, language: str) -> Any:
        """What can be played of RLVE."""
        return self._client.rlve_facts(language)

    async def release_facts(self) -> Any:
        """What is played."""
        return self._client.release_facts()

    async def tasks(self, split: str | None = None, *, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of the task list."""
        return self._client.tasks(split, offset=offset, limit=limit)

    async def close(self) -> None:
        """Drops every episode."""
        self._client.close()


class LocalAsyncEpisode:
    """The calls of an `AsyncEpisode` that a rollout makes."""

    def __init__(self, episode: LocalEpisode) -> None:
        self._episode = episode
        self.reset: Reset = episode.reset

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool schemas as they were asked for."""
        return self._episode.tools

    async def step(self, action: object) -> Step:
        """Plays one action."""
        return self._episode.step(action)

    async def terminate(self, reason: str) -> Step:
        """Ends the episode from outside."""
        return self._episode.terminate(reason)

    async def trace(self) -> TraceRecord:
        """The trace so far."""
        return self._episode.trace()

    async def leave(self) -> None:
        """Gives the slot back."""
        self._episode.leave()


class LocalAsyncRlveEpisode:
    """The calls of an `AsyncRlveEpisode` that a run makes."""

    def __init__(self, episode: LocalRlveEpisode) -> None:
        self._episode = episode

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool schemas for function calling."""
        return self._episode.tools

    @property
    def observation(self) -> dict[str, Any]:
        """What the agent sees now."""
        return self._episode.observation

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self._episode.done

    async def step(self, turn: Any) -> RlveStep:
        """Plays one turn."""
        return self._episode.step(turn)

    async def trace(self) -> bytes:
        """The line of the trace so far."""
        return self._episode.trace()
