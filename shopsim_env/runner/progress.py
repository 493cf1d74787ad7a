"""How far a run is, on standard error: a bar where rich and a terminal are, else a line now and then.

Belongs here: counting and showing. Nothing that is recorded comes from here.
"""

import importlib.util
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from shopsim_env.runs.rows import COMPLETED

_EVERY_S: Final = 5.0


class Progress:
    """Counts of this session. Use it in a `with` block.

    Args:
        total: Episodes of the run.
        before: Those that earlier sessions completed.
        shown: Whether anything is printed.
        stream: Where to; standard error.
    """

    def __init__(
        self,
        total: int,
        before: int,
        *,
        shown: bool = True,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.before = total, before
        self.completed = self.failed = self.tokens = 0
        self._reward = 0.0
        self._clock = clock
        self._start = self._printed = clock()
        self._stream = sys.stderr if stream is None else stream
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Counts an episode that is on the disk."""
        if record["status"] == COMPLETED:
            self.completed += 1
            self._reward += record["final"]["reward"]
        else:
            self.failed += 1
        usages = (step["model"]["usage"] for step in record["steps"])
        self.tokens += sum(usage["total_tokens"] for usage in usages if usage)
        self._show()

    def note(self, text: str) -> None:
        """Says something beside the counts."""
        if self._shown:
            self._write(text)

    def text(self) -> str:
        """One line: counts, mean reward, rate, time left, tokens."""
        played = self.completed + self.failed
        elapsed = max(self._clock() - self._start, 1e-9)
        rate = played / elapsed
        left = self.total - self.before - played
        reward = f"{self._reward / self.completed:.3f}" if self.completed else "-"
        eta = _time(left / rate) if played else "-"
        return (
            f"{self.before + played}/{self.total} episodes, {self.failed} failed, reward {reward}, "
            f"{60 * rate:.1f}/min, {eta} left, {self.tokens} tokens ({self.tokens / elapsed:.0f}/s)"
        )

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=self.text())
        elif self._shown and self._clock() - self._printed >= _EVERY_S:
            self._printed = self._clock()
            self._write(self.text())

    def _write(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    def __enter__(self) -> "Progress":
        if self._shown and self._stream.isatty() and importlib.util.find_spec("rich") is not None:
            self._bar = _rich_bar(self._stream)
            self._task = self._bar.add_task(self.text(), total=self.total, completed=self.before)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._shown:
            self._write(self.text())


def _rich_bar(stream: TextIO) -> Any:
    console = importlib.import_module("rich.console").Console(file=stream)
    progress = importlib.import_module("rich.progress")
    columns = (progress.BarColumn(bar_width=20), progress.TextColumn("{task.description}", markup=False))
    return progress.Progress(*columns, console=console, transient=True)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
