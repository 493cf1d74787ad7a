"""The folder that holds runs: what is in it, and the only way to open something of it.

Belongs here: listing and opening. A caller names an entry by the id that the listing gave it, never by a
path. Symbolic links are not followed at all, so nothing outside the folder is ever opened.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from shopsim_env.canonical import sha256_text
from shopsim_env.errors import RunError, UsageError

TRACES: Final = "traces.jsonl"
RUN_FILES: Final = ("manifest.json", TRACES, "summary.json")
_DEPTH: Final = 4
_MOST_SEEN: Final = 100_000
_ID_LENGTH: Final = 16
_STEPWISE: Final = os.open in os.supports_dir_fd
_READ: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run folder (`kind` "run") or one trace file ("traces").

    `name` is the place below the root with `/`; `sizes` are bytes by file name; `modified` is the latest
    change of a file, in seconds since 1970.
    """

    id: str
    name: str
    kind: str
    sizes: dict[str, int]
    modified: float

    def parts(self, file: str) -> tuple[str, ...]:
        """Names below the root that lead to a file of this entry."""
        names = tuple(self.name.split("/")) if self.name else ()
        return (*names, file) if self.kind == "run" else names


class RunRoot:
    """A folder below which runs may be read.

    Raises:
        UsageError: it is no folder (code `runs_unusable`).
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).resolve()
        if not self._path.is_dir():
            raise UsageError(f"--runs: expected a folder at {path}, found none", code="runs_unusable")
        self._entries: dict[str, RunEntry] = {}

    def listing(self) -> list[RunEntry]:
        """Every run and trace file, the one that changed last first."""
        found = sorted(_entries(self._path), key=lambda entry: (-entry.modified, entry.name))
        self._entries = {entry.id: entry for entry in found}
        return found

    def entry(self, run_id: str) -> RunEntry:
        """The entry that a listing gave this id.

        Raises:
            RunError: there is none (code `unknown_run`).
        """
        if run_id not in self._entries:
            self.listing()
        if run_id not in self._entries:
            raise RunError(
                "this run is not below the folder of --runs; list the runs again", code="unknown_run"
            )
        return self._entries[run_id]

    def open(self, entry: RunEntry, file: str = TRACES) -> BinaryIO:
        """A file of an entry, for reading.

        Raises:
            RunError: it is gone, a symbolic link or no ordinary file (code `unreadable_run`).
        """
        parts = entry.parts(file)
        try:
            descriptor = _open_stepwise(self._path, parts) if _STEPWISE else _open_plain(self._path, parts)
        except OSError as error:
            raise RunError(
                f"{file}: expected a file of this run, found none that may be read", code="unreadable_run"
            ) from error
        return os.fdopen(descriptor, "rb")


def _open_stepwise(root: Path, parts: tuple[str, ...]) -> int:
    """Opens folder by folder without following a link, so that nobody can swap one in meanwhile."""
    folder = os.open(root, _READ | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _READ | os.O_DIRECTORY | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return _regular(os.open(parts[-1], _READ | _NO_LINK, dir_fd=folder))
    finally:
        os.close(folder)


def _open_plain(root: Path, parts: tuple[str, ...]) -> int:
    """The same where folders have no descriptors: the path must lead to itself."""
    path = root.joinpath(*parts)
    if path.resolve(strict=True) != path:
        raise FileNotFoundError(path)
    return _regular(os.open(path, _READ | _NO_LINK))


def _regular(descriptor: int) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError
    return descriptor


def _entries(root: Path) -> Iterator[RunEntry]:
    waiting: list[tuple[str, int]] = [("", 0)]
    seen = 0
    while waiting:
        name, depth = waiting.pop()
        files = {}
        for item in _scan(root / name):
            seen += 1
            if seen > _MOST_SEEN:
                return
            if item.is_dir(follow_symlinks=False):
                if depth < _DEPTH:
                    waiting.append((f"{name}/{item.name}".lstrip("/"), depth + 1))
            elif item.is_file(follow_symlinks=False):
                files[item.name] = item.stat(follow_symlinks=False)
        yield from _of_folder(name, files)


def _scan(folder: Path) -> list["os.DirEntry[str]"]:
    """What a folder shows: no hidden names, none that are no text; nothing when it cannot be read."""
    try:
        with os.scandir(folder) as items:
            return [item for item in items if not item.name.startswith(".") and _is_text(item.name)]
    except OSError:
        return []


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _of_folder(name: str, files: dict[str, os.stat_result]) -> Iterator[RunEntry]:
    if TRACES in files:
        own: dict[str, os.stat_result] = {file: files[file] for file in RUN_FILES if file in files}
        yield _entry(name, "run", own)
    for file, facts in files.items():
        if file.endswith(".jsonl") and file != TRACES:
            yield _entry(f"{name}/{file}".lstrip("/"), "traces", {file: facts})


def _entry(name: str, kind: str, files: dict[str, os.stat_result]) -> RunEntry:
    sizes = {file: facts.st_size for file, facts in files.items()}
    modified = max(facts.st_mtime for facts in files.values())
    return RunEntry(sha256_text(f"{kind} {name}")[:_ID_LENGTH], name, kind, sizes, modified)
