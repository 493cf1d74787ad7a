"""The schedule that all workers share: one JSON file, read and replaced whole.

Belongs here: the file's form, its checks, locking and replacement. What a result changes: `scheduler`. Any
number of processes may use the file at once; a kill at any moment leaves the last or the previous state.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from shopsim_env.canonical import pretty_json
from shopsim_env.errors import ScheduleError
from shopsim_env.rlve.scheduler import Plateau, Result, Schedule, Settings, Taken, Window, new_schedule

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SCHEDULE_SCHEMA: Final = "shopsim-rlve-schedule-v1"
_COUNTS = ("low", "high", "total", "failed_blocks", "waited")
_SHARES = ("correct", "failed_correct")


class ScheduleFile:
    """A schedule on disk. Every call reads the file, so that all workers see the same windows.

    Args:
        path: The file; made if it is missing. Beside it `NAME.lock` and, while writing, `NAME.building`.
        suite: Version of the environments and their data; results of different suites never mix.
        environments: Their ids.
        settings: See there.

    Raises:
        ScheduleError: cannot be read, written or locked (`schedule_unusable`), is no whole state
            (`schedule_damaged`), or is of another version, suite, settings or environments
            (`schedule_mismatch`).
        UsageError: `bad_settings`.
    """

    def __init__(
        self, path: str | Path, *, suite: str, environments: Sequence[str], settings: Settings | None = None
    ) -> None:
        self.path = Path(path)
        self.suite = suite
        self._fresh = new_schedule(environments, settings)
        with self._locked():
            if self.path.exists():
                self.read()
            else:
                self._write(self._fresh)

    def read(self) -> Schedule:
        """The present state.

        Raises:
            ScheduleError: as above.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self._unusable(error) from error
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise self._damaged("a JSON object", text[:40])
        self._compare(value)
        return self._schedule(value)

    def draw(self, environment: str, prompt: int) -> int:
        """See `Schedule.draw`."""
        return self.read().draw(environment, prompt)

    def report(self, result: Result) -> Taken:
        """Takes one result; it is on the disk when this returns. See `Schedule.after`."""
        return self.report_all([result])[0]

    def report_all(self, results: Iterable[Result]) -> list[Taken]:
        """Takes the results of one step of a trainer, all or none, by number of the prompt.

        So the windows do not depend on which worker finished first.

        Returns:
            What became of each, in the order given.

        Raises:
            UsageError: code `unknown_environment`; nothing was taken.
        """
        given = list(results)
        taken: dict[int, Taken] = {}
        with self._locked():
            schedule = self.read()
            for at in sorted(range(len(given)), key=lambda at: given[at].prompt):
                schedule, taken[at] = schedule.after(given[at])
            if {"counted", "off_frontier"} & set(taken.values()):
                self._write(schedule)
        return [taken[at] for at in range(len(given))]

    def plateaus(self) -> list[Plateau]:
        """See `Schedule.plateaus`."""
        return self.read().plateaus()

    def freeze(self) -> None:
        """Lets no result of any worker change anything until `thaw`, also after a restart."""
        self._change(lambda schedule: replace(schedule, frozen=True))

    def thaw(self) -> None:
        """Lets results count again."""
        self._change(lambda schedule: replace(schedule, frozen=False))

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Frozen inside; behind, thawed by whoever froze it: an inner evaluation ends no outer one."""
        frozen_before = self._change(lambda schedule: replace(schedule, frozen=True)).frozen
        try:
            yield
        finally:
            if not frozen_before:
                self.thaw()

    def _change(self, change: Callable[[Schedule], Schedule]) -> Schedule:
        """Writes the changed state; returns the one before."""
        with self._locked():
            before = self.read()
            self._write(change(before))
        return before

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if fcntl is None:
            raise ScheduleError(
                f"{self.path}: expected a system with file locks, without which workers overwrite each "
                "other's results; keep a `Schedule` in one process here",
                code="schedule_unusable",
            )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            # Let go by the system when the process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, schedule: Schedule) -> None:
        building = self.path.with_name(self.path.name + ".building")
        try:
            with building.open("wb") as stream:
                stream.write(pretty_json(self._value(schedule)).encode())
                stream.flush()
                os.fsync(stream.fileno())
            building.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise self._unusable(error) from error

    def _head(self, schedule: Schedule) -> dict[str, Any]:
        settings = schedule.settings
        return {
            "schema": SCHEDULE_SCHEMA,
            "suite": self.suite,
            "settings": {
                "seed": settings.seed,
                "block": settings.block,
                "accuracy": str(settings.accuracy),
                "levels": settings.levels,
            },
            "environments": list(schedule.windows),
        }

    def _value(self, schedule: Schedule) -> dict[str, Any]:
        return {
            **self._head(schedule),
            "frozen": schedule.frozen,
            "taken": [list(run) for run in schedule.taken],
            "windows": {
                name: {
                    **{key: getattr(window, key) for key in _COUNTS},
                    **{key: str(getattr(window, key)) for key in _SHARES},
                }
                for name, window in schedule.windows.items()
            },
        }

    def _compare(self, value: dict[str, Any]) -> None:
        for name, expected in self._head(self._fresh).items():
            if value.get(name) != expected:
                raise ScheduleError(
                    f"{self.path}: expected {name} {expected!r}, found {value.get(name)!r}; nothing was "
                    "changed. Run with what the file was made for, or give another file to start at level 0",
                    code="schedule_mismatch",
                )

    def _schedule(self, value: dict[str, Any]) -> Schedule:
        try:
            windows = {name: _window(value["windows"][name]) for name in self._fresh.windows}
            taken = tuple((int(first), int(end)) for first, end in value["taken"])
            schedule = replace(
                self._fresh, windows=MappingProxyType(windows), taken=taken, frozen=value["frozen"] is True
            )
            whole = self._value(schedule) == value
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise self._damaged("every key of a schedule", sorted(value)) from None
        if not whole or not _possible(schedule):
            raise self._damaged("windows and runs that a schedule can have", "others")
        return schedule

    def _damaged(self, expected: str, found: object) -> ScheduleError:
        return ScheduleError(
            f"{self.path}: expected {expected}, found {found!r}; restore the file from a copy, or move it "
            "away to start at level 0",
            code="schedule_damaged",
        )

    def _unusable(self, error: Exception) -> ScheduleError:
        return ScheduleError(
            f"{self.path}: expected a file that can be read and replaced, found: {error}; give a file in a "
            "folder of yours",
            code="schedule_unusable",
        )


def _window(value: dict[str, Any]) -> Window:
    return Window(
        low=int(value["low"]),
        high=int(value["high"]),
        correct=Fraction(value["correct"]),
        total=int(value["total"]),
        failed_blocks=int(value["failed_blocks"]),
        failed_correct=Fraction(value["failed_correct"]),
        waited=int(value["waited"]),
    )


def _possible(schedule: Schedule) -> bool:
    """Whether results could have led to this state: a file altered by hand is not gone on with."""
    ends = [number for run in schedule.taken for number in run]
    runs = all(first < second for first, second in zip([-1, *ends], ends, strict=False))
    return runs and all(_reachable(window, schedule.settings) for window in schedule.windows.values())


def _reachable(window: Window, settings: Settings) -> bool:
    counts = min(getattr(window, key) for key in _COUNTS) >= 0
    prompts = window.failed_blocks * settings.block
    return (
        counts
        and window.low == max(0, window.high - settings.levels + 1)
        and window.total < settings.block
        and 0 <= window.correct <= window.total
        and 0 <= window.failed_correct <= prompts
        and window.waited >= prompts + window.total
    )
