"""How far a long export is, on standard error: a line that changes on a terminal, else one now and then."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, TextIO, TypeVar

_ON_TERMINAL_S: Final = 0.2
_IN_LOG_S: Final = 10.0
T = TypeVar("T")


class Progress:
    """Says how far work is. Wall time decides when it speaks, and nothing else.

    Args:
        quiet: Whether to say nothing at all.
        stream: Where to; standard error unless given.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._terminal = self._stream.isatty()
        self._pause = _ON_TERMINAL_S if self._terminal else _IN_LOG_S
        self._what = ""
        self._start = self._spoken = 0.0

    def at(self, what: str, done: float, total: float, unit: str) -> None:
        """`done` of `total` units of `what` are finished; another `what` starts the clock anew."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._start, self._spoken = what, now, now
        if self._quiet or now - self._spoken < self._pause:
            return
        self._spoken = now
        rate = done / (now - self._start)
        left = f", {(total - done) / rate:,.0f} s left" if rate else ""
        line = f"{what}: {done:,.0f} of {total:,.0f} {unit}, {rate:,.0f}/s{left}"
        last = done >= total
        end = ("\n" if last else "") if self._terminal else "\n"
        self._stream.write((f"\r{line:<79}" if self._terminal else line) + end)
        self._stream.flush()

    def over(self, what: str, items: Iterable[T], total: int, unit: str = "episodes") -> Iterator[T]:
        """The items, with a word about them from time to time."""
        for count, item in enumerate(items, start=1):
            yield item
            self.at(what, count, total, unit)
