"""Heartbeats in the background, for agents that think longer than a lease lives without use.

Belongs here: one thread, or one task, for all episodes of a client. A lease that is lost is left out from
then on; the next call of its episode says so.
"""

import asyncio
import logging
import threading
from typing import Any, Final, Protocol

from shopsim_env.errors import ServiceError, ShopSimError

LOG = logging.getLogger("shopsim_env.client")
_BEATS_PER_LIFE: Final = 3


class Beaten(Protocol):
    """What the beats need of an episode."""

    @property
    def fence(self) -> int:
        """Fencing number."""

    @property
    def expires_in_s(self) -> float:
        """Life of the lease without use."""


class _Beats:
    """Whose turn it is."""

    def __init__(self) -> None:
        self.episodes: dict[Any, None] = {}

    def pause(self) -> float:
        """Seconds until the next round."""
        lives = [episode.expires_in_s for episode in list(self.episodes)]
        return min(lives, default=60.0) / _BEATS_PER_LIFE

    def failed(self, episode: Beaten, fence: int, error: ShopSimError) -> None:
        """Leaves an episode out whose lease is lost, not one that we took over meanwhile."""
        LOG.warning("heartbeat failed: %s", error.code)
        if not isinstance(error, ServiceError) and episode.fence == fence:
            self.episodes.pop(episode, None)


class BeatingThread(_Beats):
    """Beats from a thread that starts with the first episode."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, episode: Any) -> None:
        """Keeps the lease of `episode`."""
        self.episodes[episode] = None
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="shopsim-heartbeat", daemon=True)
            self._thread.start()
        self._woken.set()

    def remove(self, episode: Any) -> None:
        """No more beats for `episode`."""
        self.episodes.pop(episode, None)

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            if self._woken.wait(self.pause()):
                continue  # a new episode may need shorter pauses
            for episode in list(self.episodes):
                fence = episode.fence
                try:
                    episode.heartbeat()
                except ShopSimError as error:
                    self.failed(episode, fence, error)


class BeatingTask(_Beats):
    """Beats from a task that starts with the first episode."""

    def __init__(self) -> None:
        super().__init__()
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, episode: Any) -> None:
        """Keeps the lease of `episode`."""
        self.episodes[episode] = None
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        self._woken.set()

    def remove(self, episode: Any) -> None:
        """No more beats for `episode`."""
        self.episodes.pop(episode, None)

    async def stop(self) -> None:
        """Ends the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await asyncio.wait_for(self._woken.wait(), self.pause())
            except asyncio.TimeoutError:
                for episode in list(self.episodes):
                    await self._beat(episode)

    async def _beat(self, episode: Any) -> None:
        fence = episode.fence
        try:
            await episode.heartbeat()
        except ShopSimError as error:
            self.failed(episode, fence, error)
