"""Where heavy stages call their functions: processes of this machine, or actors of a Ray cluster.

Belongs here: what is started, and that everything in a cluster runs the same code. How items get there and
back in order is `pipelines.stages.processes`; connecting is `shopsim_env.adapters.ray.cluster`. Results are
the same bytes either way.
"""

import os
import platform
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import pipelines
import shopsim_env
from pipelines.errors import ConfigError, WorkerError
from pipelines.stages.processes import Prepare, Workers
from shopsim_env.adapters.ray.cluster import answers, connected, meaning, start_actor, stop_actor
from shopsim_env.canonical import compact_json, sha256_file, sha256_text

LOCAL: Final = "local"
RAY: Final = "ray"
MAPPERS: Final = (LOCAL, RAY)
# More processes than that seldom have a core each.
_MOST_LOCAL = 4
_START_S = 120.0
# What a function returns is a function of its arguments: a lost actor is started again and asked again.
_OPTIONS = {"max_restarts": 3, "max_task_retries": 3}


def load_workers(mapper: str) -> Workers:
    """The processes that a mapper has.

    Args:
        mapper: "local", or "ray": one actor for each core of the cluster, for small work too.

    Raises:
        ConfigError: another mapper.
        UsageError: Ray is not installed (`missing_extra`).
        ServiceError: no cluster (`unreachable`).
    """
    if mapper == LOCAL:
        return Workers(min(os.cpu_count() or 1, _MOST_LOCAL))
    if mapper != RAY:
        raise ConfigError(f"mapper: expected one of {list(MAPPERS)}, found {mapper!r}")
    cores = int(connected().cluster_resources().get("CPU", 0))
    return Workers(max(1, cores), ActorExecutor, always=True)


@cache
def code_sha256() -> str:
    """SHA-256 over our source on disk, Python, NumPy, SQLite and machine type: what decides bytes."""
    tools = [platform.python_version(), _numpy(), sqlite3.sqlite_version, platform.machine()]
    files = [
        (f"{package.__name__}/{path.relative_to(root).as_posix()}", sha256_file(path))
        for package in (pipelines, shopsim_env)
        for root in [Path(str(package.__file__)).parent]
        for path in sorted(root.rglob("*.py"))
    ]
    return sha256_text(compact_json([tools, files]))


class Worker:
    """What runs in an actor of a stage: calls functions, if it is the code that the driver has."""

    def __init__(self, expected: str, prepare: Prepare | None) -> None:
        self._fault: Exception | None = None
        try:
            _require_code(expected)
            if prepare is not None:
                prepare()
        except Exception as error:
            self._fault = error

    def process(self) -> int:
        """Its process id."""
        if self._fault is not None:
            raise self._fault
        return os.getpid()

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """What the function returns."""
        if self._fault is not None:
            raise self._fault
        return function(*arguments, **keywords)


class ActorExecutor(Executor):
    """Actors that end with the executor; each call goes to the one with the fewest to do.

    Args:
        count: Most actors; those for which the cluster has no room are done without.
        prepare: Called first in each.

    Raises:
        WorkerError: an actor has other code (`other_code`), or no core got free (`no_worker`).
        Exception: what `prepare` raised.
    """

    def __init__(self, count: int, prepare: Prepare | None) -> None:
        self._lock = threading.Lock()
        arguments = (code_sha256(), prepare)
        asked = [start_actor(Worker, arguments, _OPTIONS) for _ in range(count)]
        found = answers({at: actor.process.remote() for at, actor in enumerate(asked)}, _START_S)
        self._actors = [asked[at] for at, result in found.items() if isinstance(result, int)]
        self._waiting = [0] * len(self._actors)
        for at, result in found.items():
            if not isinstance(result, int):
                stop_actor(asked[at])
        faults = [result for result in found.values() if not isinstance(result, int)]
        if not self._actors or any(not _no_room(fault) for fault in faults):
            self.shutdown()
            raise next((fault for fault in faults if not _no_room(fault)), None) or WorkerError(
                f"expected a free core of the Ray cluster within {_START_S:g} seconds, found none of "
                f"{count}; end what uses them, or build with --mapper local",
                code="no_worker",
            )

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Calls a function of an importable module in an actor."""
        with self._lock:
            at = min(range(len(self._actors)), key=self._waiting.__getitem__)
            self._waiting[at] += 1
        future: Future[Any] = Future()
        answer = self._actors[at].call.remote(fn, *args, **kwargs).future()
        answer.add_done_callback(partial(self._done, at, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Ends the actors; whatever has no answer by now gets none."""
        for actor in self._actors:
            stop_actor(actor)
        self._actors = []

    def _done(self, at: int, future: "Future[Any]", answer: "Future[Any]") -> None:
        with self._lock:
            self._waiting[at] -= 1
        error = answer.exception()
        if error is None:
            future.set_result(answer.result())
        else:
            future.set_exception(meaning(error))


def _require_code(expected: str) -> None:
    if code_sha256() != expected:
        raise WorkerError(
            "a worker of the Ray cluster: expected the driver's source, Python, NumPy and SQLite, found "
            "others; install this checkout with requirements.lock on every node and start the cluster again",
            code="other_code",
        )


def _no_room(fault: object) -> bool:
    return getattr(fault, "failure_kind", None) == "timeout"


def _numpy() -> str:
    try:
        return version("numpy")
    except PackageNotFoundError:
        return "none"
