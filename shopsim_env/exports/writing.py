"""Files of exports: whole or not there at all, and never over another one unasked.

Belongs here: the temporary file, the rename, lines of JSON. What stands in a row is its maker's business.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from shopsim_env.canonical import ordered_json
from shopsim_env.errors import RunError, UsageError

Row = Mapping[str, Any]
Sink = Callable[[BinaryIO, Iterable[Row]], int]
"""Writes rows into a stream and gives their number."""


def write_lines(stream: BinaryIO, rows: Iterable[Row]) -> int:
    """One row a line, keys in the order of the row: chat templates write schemas as they come."""
    count = 0
    for row in rows:
        stream.write(ordered_json(row).encode("utf-8") + b"\n")
        count += 1
    return count


def check_target(path: Path, force: bool) -> None:
    """Refuses a place where no new file can be.

    Raises:
        UsageError: there is a file already (code `file_exists`), or no folder for it (code `no_folder`).
    """
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--out: expected a file in a folder that exists, found {path}", code="no_folder")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; name another file or add --force", code="file_exists")


def export_rows(path: Path, rows: Iterable[Row], *, force: bool, sink: Sink = write_lines) -> int:
    """Writes rows to a file that appears when all of them are in it.

    Returns:
        The number of rows, at least 1.

    Raises:
        UsageError: see `check_target`.
        RunError: no row at all (code `nothing_to_export`); no file is written then.
    """
    check_target(path, force)
    with _replacing(path) as stream:
        count = sink(stream, rows)
        if not count:
            raise RunError(
                "nothing fits what was asked for, so no file was written", code="nothing_to_export"
            )
    return count


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file beside `path` that takes its place at the end, and is gone after an error."""
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with building.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)
