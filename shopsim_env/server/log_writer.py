"""Lines of the log on their way to standard error, so that nobody who plays waits for whoever reads them.

Belongs here: the bounded queue, the thread that writes, what is dropped, the end. The form of a line is
`logs`'. Not `logging.handlers.QueueListener`: its end waits without a limit, and the handler behind it holds
a lock while it writes, which `logging.shutdown` and the interpreter's own end then wait for.
"""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

STANDARD_ERROR: Final = 2
_KEPT_LINES: Final = 4096
_CLOSE_S: Final = 2.0
_AT_ONCE: Final = 64
_GATHER_S: Final = 0.02


class LogWriter(logging.Handler):
    """A handler that never waits: a thread writes the lines, in the order in which they came.

    When `kept` lines wait, further ones are dropped; the next line that finds room is preceded by one that
    says how many were.

    Args:
        descriptor: Where the lines go.
        kept: Number of lines that may wait.
        told: Makes the line about a number of dropped lines.
        close_s: Seconds that `close` gives the lines that wait.
    """

    def __init__(
        self,
        told: Callable[[int], logging.LogRecord],
        descriptor: int = STANDARD_ERROR,
        *,
        kept: int = _KEPT_LINES,
        close_s: float = _CLOSE_S,
    ) -> None:
        super().__init__()
        self._told = told
        self._descriptor = descriptor
        self._close_s = close_s
        self._lines: queue.Queue[bytes | None] = queue.Queue(kept)
        self._overflown = 0
        self._unwritten = 0
        self._untold = 0
        self._closed = False
        # A daemon, because it may hang in `write` for ever; it holds nothing that others wait for.
        self._thread = threading.Thread(target=self._run, name="shopsim-log", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Lines that were not written: too many waited, or standard error is closed."""
        return self._overflown + self._unwritten

    def emit(self, record: logging.LogRecord) -> None:
        """Puts the line of a record in the queue, or counts it."""
        try:
            line = self._encoded(record)
        except Exception:
            line = b""  # a record without a line: logging's own way prints to standard error, and waits
        if self._closed or not line or not (self._tell() and self._put(line)):
            self._overflown += 1
            self._untold += 1

    def close(self) -> None:
        """Writes what waits, for at most `close_s` seconds; what comes afterwards is dropped."""
        self.acquire()
        again, self._closed = self._closed, True
        self.release()
        if again:
            return
        end = time.monotonic() + self._close_s
        told = [self._encoded(self._told(self._untold))] if self._untold else []
        try:
            for line in (*told, None):
                self._lines.put(line, timeout=max(0.0, end - time.monotonic()))
        except queue.Full:
            pass  # nobody reads: the thread hangs in `write`, and the process ends without it
        else:
            self._thread.join(max(0.0, end - time.monotonic()))
        super().close()

    def _tell(self) -> bool:
        """Puts the line about dropped lines in, if there were any; whether there was room."""
        if self._untold == 0:
            return True
        if not self._put(self._encoded(self._told(self._untold))):
            return False
        self._untold = 0
        return True

    def _put(self, line: bytes) -> bool:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            return False
        return True

    def _encoded(self, record: logging.LogRecord) -> bytes:
        return (self.format(record) + "\n").encode("utf-8", "backslashreplace")

    def _run(self) -> None:
        more = True
        while more:
            lines = [self._lines.get()]
            if self._lines.qsize() < _AT_ONCE and lines[0] is not None:
                time.sleep(_GATHER_S)  # waking up for every line would cost a reset a third of its time
            while len(lines) < _AT_ONCE and lines[-1] is not None and not self._lines.empty():
                lines.append(self._lines.get())
            more = lines[-1] is not None
            self._write(b"".join(line for line in lines if line is not None))

    def _write(self, lines: bytes) -> None:
        try:
            while lines:
                lines = lines[os.write(self._descriptor, lines) :]
        except OSError:
            self._unwritten += lines.count(b"\n")  # whoever read is gone; the count is all that is left
