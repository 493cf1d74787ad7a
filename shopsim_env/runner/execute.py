"""A run: workers that take jobs, play them and write them down, until nothing is left or somebody stops it.

Belongs here: concurrency, resuming, stopping. One episode is in `episode`, the files are in `folder`.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from shopsim_env.errors import RunError, UsageError
from shopsim_env.runner.chat import ChatModel
from shopsim_env.runner.config import RunConfig
from shopsim_env.runner.episode import Player
from shopsim_env.runner.folder import EpisodeLine, RunFolder
from shopsim_env.runner.plan import differences, episode_id, fingerprint, make_plan, manifest, runtime_facts
from shopsim_env.runner.progress import Progress
from shopsim_env.runner.rlve_episode import RlvePlayer
from shopsim_env.runner.world import World
from shopsim_env.runs.rows import COMPLETED
from shopsim_env.trace import TraceWriter

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session did: the summary of the whole run, and whether it was stopped."""

    summary: dict[str, Any]
    stopped: bool

    @property
    def complete(self) -> bool:
        """Whether every requested episode is completed."""
        counts: dict[str, Any] = self.summary["counts"]
        return bool(counts["completed"] == counts["requested"])


async def plan_of(config: RunConfig) -> dict[str, Any]:
    """The plan of a run; asks the environment for its release and tasks, and no model."""
    async with World(config) as world:
        return make_plan(config, world.release, world.versions, await world.task_ids())


async def execute(config: RunConfig, *, resume: bool, shown: bool = True) -> Outcome:
    """Plays what a run still lacks.

    Args:
        config: The run.
        resume: Whether to go on with a run that was begun; without one, it is begun.
        shown: Whether progress is printed on standard error.

    Raises:
        UsageError: the run exists (`run_exists`, without `resume`), or is of another plan (`other_plan`).
        RunError: another process writes it (`run_in_use`); so many episodes failed in a row
            (`too_many_failures`).
        ModelError: the endpoint refuses us for good.
    """
    folder = RunFolder(config.folder)
    if not resume and folder.has_traces():
        raise _exists(folder)
    async with ChatModel(config.sections["model"]) as chat, World(config) as world:
        plan = make_plan(config, world.release, world.versions, await world.task_ids())
        with folder.locked():
            _begin(folder, config, plan, resume=resume)
            completed = {row.episode_id for row in folder.rows() if row.status == COMPLETED}
            jobs = [job for job in plan["jobs"] if episode_id(job) not in completed]
            session = _Session(config, folder, Progress(len(plan["jobs"]), len(completed), shown=shown))
            try:
                if jobs:
                    kind = Player if config.rlve is None else RlvePlayer
                    await session.play(jobs, kind(config, world, chat), world.slots)
            finally:
                made = folder.write_summary()
    return Outcome(made, session.stopped)


def _begin(folder: RunFolder, config: RunConfig, plan: dict[str, Any], *, resume: bool) -> None:
    """Writes the manifest, or compares the one that is there."""
    found = folder.manifest()
    if found is None:
        if folder.has_traces():
            raise RunError(f"{folder.path}: expected a manifest beside the traces, found none", code="no_run")
        created_at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        folder.write_manifest(manifest(plan, runtime_facts(config), created_at))
        return
    if not resume and folder.has_traces():
        raise _exists(folder)
    if found.get("plan_fingerprint") != fingerprint(plan):
        lines = differences(found["plan"], plan) or ["the recorded plan was changed by hand"]
        raise UsageError(
            f"{folder.path} is a run of another plan; name another folder, or take back what differs:\n  "
            + "\n  ".join(lines),
            code="other_plan",
        )


def _exists(folder: RunFolder) -> UsageError:
    return UsageError(
        f"{folder.path} holds a run already; go on with it by `shopsim run resume`, or name another folder",
        code="run_exists",
    )


class _Session:
    """One process at work on a run."""

    def __init__(self, config: RunConfig, folder: RunFolder, progress: Progress) -> None:
        self._config = config
        self._folder = folder
        self._progress = progress
        self._failures = 0
        self._stop = asyncio.Event()

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop.is_set()

    async def play(self, jobs: list[dict[str, Any]], player: Player | RlvePlayer, slots: int) -> None:
        """Plays jobs side by side; what was being played when somebody stopped it is not written."""
        run = self._config.sections["run"]
        with self._folder.writer() as writer, self._progress, self._signals():
            if writer.dropped:
                self._progress.note(f"cut off an unfinished last line of {writer.dropped} bytes")
            if run["concurrency"] > slots:
                self._progress.note(
                    f"the server has {slots} slots for {run['concurrency']} episodes; others wait"
                )
            waiting = iter(jobs)
            workers = [
                asyncio.ensure_future(self._work(player, waiting, writer))
                for _ in range(min(run["concurrency"], len(jobs)))
            ]
            await self._watch(workers, run["grace_s"])

    async def _work(
        self, player: Player | RlvePlayer, waiting: Iterator[dict[str, Any]], writer: TraceWriter
    ) -> None:
        for job in waiting:
            if self.stopped:
                return
            record = await player.play(job)
            writer.append(EpisodeLine(record))
            self._progress.add(record)
            self._count(record)

    def _count(self, record: Mapping[str, Any]) -> None:
        """Ends the run when nothing works any more, rather than fail thousands of episodes one by one."""
        self._failures = 0 if record["status"] == COMPLETED else self._failures + 1
        if self._failures >= self._config.sections["run"]["stop_after_failures"]:
            error = record["error"]
            raise RunError(
                f"{self._failures} episodes in a row failed, the last one with {error['type']}: "
                f"{error['message']}; mend that and go on by `shopsim run resume`",
                code="too_many_failures",
            )

    async def _watch(self, workers: "Sequence[asyncio.Task[None]]", grace_s: float) -> None:
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            pending: set[Any] = set(workers)
            while pending and not stop.done():
                done, pending = await asyncio.wait({*pending, stop}, return_when=asyncio.FIRST_COMPLETED)
                pending.discard(stop)
                if any(worker.exception() for worker in done - {stop}):
                    break
            else:
                if pending:
                    await asyncio.wait(pending, timeout=grace_s)
        finally:
            stop.cancel()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, stop, return_exceptions=True)
        for worker in workers:
            if not worker.cancelled() and (error := worker.exception()) is not None:
                raise error

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first Ctrl-C, or SIGTERM, stops the run; the second one ends the process as usual."""
        loop = asyncio.get_running_loop()
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            yield  # there Ctrl-C ends the process as usual; nothing that was written is lost
            return

        def first() -> None:
            grace_s = self._config.sections["run"]["grace_s"]
            self._progress.note(f"stopping: no new episodes, {grace_s:g} s for those that run")
            self._stop.set()
            for name in _SIGNALS:
                loop.remove_signal_handler(name)

        for name in _SIGNALS:
            loop.add_signal_handler(name, first)
        try:
            yield
        finally:
            for name in _SIGNALS:
                loop.remove_signal_handler(name)
