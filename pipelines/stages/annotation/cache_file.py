"""The append-only file of bought answers: one lock, one writer, a torn tail mended, every record synced.

Belongs here: bytes and lines. What a record means is in `cache`. Reading needs no lock: lines only ever join
at the end, and a line that is being written has no newline yet.
"""

import fcntl
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pipelines.errors import ConfigError
from shopsim_env.canonical import compact_json
from shopsim_env.errors import ShopSimError

_CHUNK = 1 << 16


class CacheError(ShopSimError):
    """The cache file cannot be written; nothing more may be bought."""

    default_code = "cache_error"


def read_lines(path: Path, *, newest_first: bool = False) -> Iterator[dict[str, Any] | None]:
    """Records of a JSON Lines file; None for a line that is no JSON object. No file: no records.

    Args:
        path: The file.
        newest_first: From the last line to the first one.
    """
    if not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in reversed(lines) if newest_first else lines:
        yield _decode(line)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class CacheFile:
    """The cache opened for writing, by one process at a time. Use it in a `with` block.

    Args:
        path: JSON Lines file; it and its folder are made when missing, readable by the owner alone.

    Raises:
        ConfigError: another process writes it (code `cache_locked`, names that process).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repaired_bytes = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._mutex = threading.Lock()
        self._lock = _take_lock(path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._mend_tail()
            _sync_folder(path.parent)
        except BaseException:
            os.close(self._lock)
            raise

    def append(self, *records: Mapping[str, Any]) -> None:
        """Adds records, one line each, and returns when they are on disk. Threads may share the file.

        Raises:
            CacheError: it could not be written; the file is as before (code `cache_write_failed`).
        """
        data = "".join(compact_json(record) + "\n" for record in records).encode("utf-8")
        with self._mutex:
            before = os.fstat(self._file).st_size
            try:
                _write_all(self._file, data)
                os.fsync(self._file)
            except OSError as error:
                os.ftruncate(self._file, before)
                raise CacheError(
                    f"{self.path}: expected to add {len(data)} bytes, found {error.strerror}. The answer in "
                    "hand is lost, all earlier ones are stored; make room and run again.",
                    code="cache_write_failed",
                ) from error

    def close(self) -> None:
        """Closes the file and gives up the lock."""
        os.close(self._file)
        os.close(self._lock)

    def __enter__(self) -> "CacheFile":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _mend_tail(self) -> None:
        """Ends a whole last record with its newline, cuts off a torn one."""
        size = os.fstat(self._file).st_size
        start = _start_of_last_line(self._file, size)
        if start == size:
            return
        if _decode(os.pread(self._file, size - start, start)) is not None:
            _write_all(self._file, b"\n")
        else:
            os.ftruncate(self._file, start)
            self.repaired_bytes = size - start
        os.fsync(self._file)


def _start_of_last_line(file: int, size: int) -> int:
    """Offset behind the last newline, 0 without one."""
    end = size
    while end:
        start = max(0, end - _CHUNK)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _take_lock(path: Path) -> int:
    lock_path = path.with_name(path.name + ".lock")
    lock = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 200, 0).decode("utf-8", "replace").strip() or "a process that just started"
        os.close(lock)
        raise ConfigError(
            f"{path}: is being written by {holder}; wait for it or stop it (Ctrl-C keeps its answers)",
            code="cache_locked",
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    return lock


def _sync_folder(folder: Path) -> None:
    """Makes the new file's name durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
