"""The adaptive schedule of RLVE as one named actor, which the workers of a whole cluster share (extra `ray`).

Belongs here: who may attach, and what happens when the actor dies. The rule is `shopsim_env.rlve.scheduler`;
the state lies in the same file as without Ray, so either can go on with what the other left.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shopsim_env.adapters.ray.cluster import answer, connected, start_actor
from shopsim_env.errors import ScheduleError
from shopsim_env.rlve.schedule_file import ScheduleFile
from shopsim_env.rlve.scheduler import Plateau, Result, Settings, Taken, Window

NAMESPACE: Final = "shopsim"
SCHEDULE_NAME: Final = "shopsim-rlve-schedule"
# A restarted actor reads the file again, and every call may be made twice: see `SharedSchedule`.
_OPTIONS = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": 3}

_Identity = tuple[str, str, tuple[str, ...], Settings]


class ScheduleHost:
    """What runs in the actor; opened by the first call, so that a refusal reaches the caller as it is."""

    def __init__(self, identity: _Identity) -> None:
        self._identity = identity
        self._opened: ScheduleFile | None = None

    def call(self, identity: _Identity, name: str, *arguments: Any) -> Any:
        """Calls a method of the schedule for somebody who expects this very schedule.

        Raises:
            ScheduleError: the caller expects another one (`schedule_mismatch`); as `ScheduleFile`.
            UsageError: as `ScheduleFile`.
        """
        for what, expected, found in zip(
            ("file", "suite", "environments", "settings"), identity, self._identity, strict=True
        ):
            if expected != found:
                raise ScheduleError(
                    f"the schedule's actor: expected {what} {expected!r}, found {found!r}; give this "
                    "schedule a name of its own, or attach with what the actor was started with",
                    code="schedule_mismatch",
                )
        schedule = self._file()
        if name == "windows":
            return dict(schedule.read().windows)
        if name == "frozen":
            return schedule.read().frozen
        return getattr(schedule, name)(*arguments)

    def process(self) -> int:
        """Its process id."""
        return os.getpid()

    def _file(self) -> ScheduleFile:
        if self._opened is None:
            path, suite, environments, settings = self._identity
            self._opened = ScheduleFile(path, suite=suite, environments=environments, settings=settings)
        return self._opened


class SharedSchedule:
    """`ScheduleFile` for the workers of a cluster: the first to ask starts the actor, the others attach.

    Every result is in the file when its call returns. When the actor dies Ray starts it again, it reads the
    file, and calls that had no answer are made once more; a result that had been taken then gives `repeated`
    in place of `counted`, and counts once.

    Args:
        path: The file; on storage that every node sees unless the actor is tied to one with `actor_options`.
        suite: As for `ScheduleFile`.
        environments: As for `ScheduleFile`.
        settings: As for `ScheduleFile`.
        name: Of the actor; two schedules at once need two names.
        actor_options: Options of Ray for whoever starts it.

    Raises:
        ScheduleError: as `ScheduleFile`; the actor of that name has another file, suite, settings or
            environments (`schedule_mismatch`).
        UsageError: `bad_settings`; Ray is not installed (`missing_extra`).
        ServiceError: the actor cannot be reached (`actor_lost`).
    """

    def __init__(
        self,
        path: str | Path,
        *,
        suite: str,
        environments: Sequence[str],
        settings: Settings | None = None,
        name: str = SCHEDULE_NAME,
        actor_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._identity = (str(Path(path).resolve()), suite, tuple(environments), settings or Settings())
        # Detached: it must not end with the worker that happened to be the first.
        named = {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
        self._actor = start_actor(
            ScheduleHost, (self._identity,), {**_OPTIONS, **(actor_options or {}), **named}
        )
        self.windows()

    def draw(self, environment: str, prompt: int) -> int:
        """See `Schedule.draw`."""
        level: int = self._call("draw", environment, prompt)
        return level

    def report(self, result: Result) -> Taken:
        """See `ScheduleFile.report`. Results count in the order in which they arrive."""
        taken: Taken = self._call("report", result)
        return taken

    def report_all(self, results: Iterable[Result]) -> list[Taken]:
        """See `ScheduleFile.report_all`: whoever finished first plays no part."""
        taken: list[Taken] = self._call("report_all", list(results))
        return taken

    def windows(self) -> dict[str, Window]:
        """The present window of every environment."""
        windows: dict[str, Window] = self._call("windows")
        return windows

    def plateaus(self) -> list[Plateau]:
        """See `Schedule.plateaus`."""
        plateaus: list[Plateau] = self._call("plateaus")
        return plateaus

    def freeze(self) -> None:
        """See `ScheduleFile.freeze`."""
        self._call("freeze")

    def thaw(self) -> None:
        """See `ScheduleFile.thaw`."""
        self._call("thaw")

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """See `ScheduleFile.evaluating`."""
        # Two calls: the answer of one that froze and told what was before could get lost and be asked again.
        frozen_before = self._call("frozen")
        self.freeze()
        try:
            yield
        finally:
            if not frozen_before:
                self.thaw()

    def process(self) -> int:
        """Process id of the actor, on whatever node it is."""
        number: int = answer(self._actor.process.remote())
        return number

    def stop(self) -> None:
        """Ends the actor for everybody; the file stays, and the next to ask starts it again."""
        connected().kill(self._actor)

    def _call(self, name: str, *arguments: Any) -> Any:
        return answer(self._actor.call.remote(self._identity, name, *arguments))
