"""A run folder for its one writer: lock, manifest, traces, summary (docs/runs.md).

Belongs here: files. A kill at any moment leaves every file whole, but for one unfinished last line of the
traces, which the next writer cuts off.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from shopsim_env.canonical import compact_json, pretty_json
from shopsim_env.errors import RunError, TraceError
from shopsim_env.runs.folder import TRACES
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.rows import EPISODE_SCHEMA, RLVE_EPISODE_SCHEMA, Row, load_line
from shopsim_env.runs.summary import summary
from shopsim_env.trace import TraceWriter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.json"
_LOCK: Final = ".lock"
_OPENING: Final = b'{"conversation":'


class EpisodeLine:
    """An episode as a line of the traces."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def line(self) -> bytes:
        """Canonical JSON and a newline."""
        return compact_json(self._values).encode() + b"\n"


class RunFolder:
    """The files of one run; `path` need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The only writer of this folder, which is made if it is missing.

        Raises:
            RunError: another process writes there (code `run_in_use`).
        """
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                self._take(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunError(
                f"{self.path}: another process writes this run; wait for it, or name another folder",
                code="run_in_use",
            ) from error

    def manifest(self) -> dict[str, Any] | None:
        """The manifest; None when there is no run here.

        Raises:
            RunError: something else stands there.
        """
        path = self.path / MANIFEST
        if not path.exists():
            return None
        found = load_line(path.read_bytes())
        if not isinstance(found.get("plan"), dict) or not isinstance(found["plan"].get("jobs"), list):
            raise RunError(f"{path}: expected the manifest of a run, found another object")
        return found

    def has_traces(self) -> bool:
        """Whether something was recorded here."""
        path = self.path / TRACES
        return path.exists() and path.stat().st_size > 0

    def rows(self) -> list[Row]:
        """What is recorded, one row an episode; the last line of an episode counts.

        Raises:
            RunError: a whole line of it is no episode; it is left alone.
        """
        if not self.has_traces():
            return []
        index = RunIndex(partial(_open, self.path / TRACES))
        index.advance(float("inf"))
        if index.invalid:
            raise RunError(
                f"{self.path / TRACES}: expected episodes of a run, found {index.invalid} other lines; "
                "move the file away"
            )
        return index.rows

    def write_manifest(self, values: dict[str, Any]) -> None:
        """Writes the manifest whole."""
        self._write(MANIFEST, values)

    def write_summary(self) -> dict[str, Any]:
        """Makes the summary anew, writes and returns it.

        Raises:
            RunError: there is no run here (code `no_run`).
        """
        found = self.manifest()
        if found is None:
            raise RunError(f"{self.path}: expected a run folder, found no {MANIFEST}", code="no_run")
        made = summary(self.rows(), len(found["plan"]["jobs"]))
        self._write(SUMMARY, made)
        return made

    def writer(self) -> TraceWriter:
        """Appends episodes; each is on the disk when it returns. Cuts off what a stopped writer left."""
        return TraceWriter(self.path / TRACES, read=_check, opening=_OPENING)

    def _write(self, name: str, values: dict[str, Any]) -> None:
        building = self.path / f".{name}.building"
        with building.open("wb") as stream:
            stream.write(pretty_json(values).encode())
            stream.flush()
            os.fsync(stream.fileno())
        building.replace(self.path / name)


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _check(line: bytes) -> None:
    try:
        schema = load_line(line).get("schema")
    except RunError as error:
        raise TraceError(str(error)) from error
    if schema not in (EPISODE_SCHEMA, RLVE_EPISODE_SCHEMA):
        expected = f"{EPISODE_SCHEMA!r} or {RLVE_EPISODE_SCHEMA!r}"
        raise TraceError(f"expected schema {expected}, found {schema!r}")
