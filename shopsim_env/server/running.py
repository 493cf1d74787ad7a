"""One server process: uvicorn on a socket, the sweep of leases, an orderly end.

Belongs here: the life of the process. What is served is in `app`.
"""

import asyncio
import contextlib
import gc
import importlib.util
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import uvicorn

from shopsim_env.server.app import App
from shopsim_env.server.front import Front

LOG = logging.getLogger("shopsim_env.server")
SWEEP_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Ending:
    """How the server ends.

    `park` keeps live episodes for a restart; without it they may go on for `drain_s`.
    """

    park: bool
    drain_s: float


def run(app: App, bound: socket.socket, ending: Ending, started: Callable[[], None]) -> None:
    """Serves until SIGTERM or SIGINT, then ends in order. `started` is called when requests are taken."""
    config = uvicorn.Config(
        app,
        loop="auto",
        http=_connections(app),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
    )
    # What is there now stays: the collector need not look at it again, and new garbage is mostly young.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 50)
    server = _Server(config, app, ending, started)
    server.run(sockets=[bound])


def _connections(app: App) -> Any:
    """The protocol of connections: with the short way where httptools is there, else uvicorn's own choice."""
    if importlib.util.find_spec("httptools") is None:
        return "auto"
    from shopsim_env.server.lane import lane

    return lane(Front(app))


class _Server(uvicorn.Server):
    """uvicorn with a sweep, and an end that thinks of episodes first."""

    def __init__(self, config: uvicorn.Config, app: App, ending: Ending, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._service = app.service
        self._ending = ending
        self._started = started
        self._stops = 0

    async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
        """As uvicorn; then the sweep begins."""
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._sweeper = asyncio.ensure_future(self._sweep())
        self._started()

    async def shutdown(self, sockets: "list[socket.socket] | None" = None) -> None:
        """As uvicorn; the sweep ends."""
        self._sweeper.cancel()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours."""
        yield

    def _stop(self) -> None:
        """First signal: no new episodes, then the end. Second signal: the end now."""
        self._stops += 1
        self._service.ready = False
        self._service.pool.stop()
        self._service.rlve.stop()
        if self._stops > 1 or not self._at_stake():
            self.should_exit = True
        else:
            facts = {"running_episodes": self._at_stake(), "drain_s": self._ending.drain_s}
            LOG.info("stopping", extra={"facts": facts})
            self._drainer = asyncio.ensure_future(self._drain())

    def _at_stake(self) -> int:
        """Running episodes that the end would lose: parked ones are in the log."""
        return 0 if self._ending.park else self._service.rlve.running + self._service.pool.running

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._ending.drain_s
        while self._at_stake() and loop.time() < end:
            await asyncio.sleep(SWEEP_S)
        self.should_exit = True

    async def _sweep(self) -> None:
        pool = self._service.pool
        expired = 0
        while True:
            await asyncio.sleep(SWEEP_S)
            pool.sweep()
            self._service.rlve.sweep()
            self._app.bodies.sweep()
            if pool.counters.expired != expired:
                facts = {"leases": pool.counters.expired - expired, "free_slots": pool.free_slots}
                expired = pool.counters.expired
                LOG.warning("leases expired", extra={"facts": facts})
