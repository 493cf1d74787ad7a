"""Index of one trace file: a row and the place of the line for each episode, read in one pass.

Belongs here: building, and following a file that grows. Built a slice of time after another, so that a
server that plays episodes meanwhile is never held up; the file is not held in memory.
"""

import os
import time
from collections.abc import Callable
from typing import BinaryIO, Final

from shopsim_env.errors import RunError
from shopsim_env.runs.rows import Row, load_line, row_of

_MOST_BYTES: Final = 64 << 20
_HEAD: Final = 256
_BREATH: Final = 0.004
_PAUSE: Final = 0.001


class RunIndex:
    """Rows of a trace file that may still grow. The last line of an episode id wins.

    `lines`, `invalid` and `replaced` count what was read: all lines, those that are no episodes, episodes
    that a later line replaced. `done` says whether `size`, the length of the file at the last look, was
    reached; a last line without its newline waits for the rest. For one thread at a time.

    Args:
        opener: Opens the file.
        pause: Whether to leave the interpreter to other threads every few milliseconds.
    """

    def __init__(self, opener: Callable[[], BinaryIO], *, pause: bool = False) -> None:
        self._opener = opener
        self._pause = pause
        self.generation = 0
        self._forget()

    def _forget(self) -> None:
        self.rows: list[Row] = []
        self._places: dict[str, int] = {}
        self._head = b""
        self._inode = -1
        self.generation += 1
        self.offset = self.size = self.torn = 0
        self.lines = self.invalid = self.replaced = 0

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever rows do."""
        return self.generation, self.offset

    @property
    def done(self) -> bool:
        """Whether everything that can be read was read."""
        return self.offset + self.torn >= self.size

    def advance(self, seconds: float) -> None:
        """Reads on for about so long. A file that was replaced or cut is read anew.

        Raises:
            RunError: the file is gone.
        """
        end = time.monotonic() + seconds
        with self._opener() as stream:
            facts = os.fstat(stream.fileno())
            head = stream.read(min(_HEAD, len(self._head) or _HEAD))
            if facts.st_ino != self._inode or facts.st_size < self.offset or head != self._head:
                self._forget()
                stream.seek(0)
                self._inode, self._head = facts.st_ino, stream.read(_HEAD)
            self.size, self.torn = facts.st_size, 0
            stream.seek(self.offset)
            self._read(stream, end)

    def _read(self, stream: BinaryIO, end: float) -> None:
        breath = time.monotonic() + _BREATH
        while line := stream.readline(_MOST_BYTES):
            if not line.endswith(b"\n"):
                if len(line) < _MOST_BYTES:
                    self._take_last(line)
                    return
                self._skip(stream, line)
            else:
                self._take(line)
            now = time.monotonic()
            if now > end:
                return
            if self._pause and now > breath:
                time.sleep(_PAUSE)
                breath = now + _PAUSE + _BREATH

    def _skip(self, stream: BinaryIO, line: bytes) -> None:
        """Goes past a line that is too long to be an episode."""
        while line:
            self.offset += len(line)
            line = b"" if line.endswith(b"\n") else stream.readline(_MOST_BYTES)
        self.lines += 1
        self.invalid += 1

    def _take_last(self, line: bytes) -> None:
        """A line without newline is whole when it reads as an object; else a writer is still at it."""
        try:
            load_line(line)
        except RunError:
            self.torn = len(line)
        else:
            self._take(line)

    def _take(self, line: bytes) -> None:
        offset, self.offset = self.offset, self.offset + len(line)
        if not line.strip():
            return
        self.lines += 1
        try:
            row = row_of(load_line(line), self.lines, offset, len(line))
        except RunError:
            self.invalid += 1
            return
        place = self._places.setdefault(row.episode_id, len(self.rows))
        if place < len(self.rows):
            self.rows[place] = row
            self.replaced += 1
        else:
            self.rows.append(row)

    def line(self, row: Row) -> bytes:
        """The line of a row.

        Raises:
            RunError: the file is gone.
        """
        with self._opener() as stream:
            stream.seek(row.offset)
            return stream.read(row.length)

    def row(self, episode_id: str) -> Row:
        """The row of an episode.

        Raises:
            RunError: there is none (code `unknown_episode`).
        """
        place = self._places.get(episode_id)
        if place is None:
            raise RunError("this run has no such episode, or it is not indexed yet", code="unknown_episode")
        return self.rows[place]
