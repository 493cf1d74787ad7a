"""Index of a run of 100,000 episodes: reading it, memory, a page of it, and following it while it grows.

    python benchmarks/replay_index.py [--episodes 100000] [--folder DIR]

Prints seconds, ratios and machine facts: the index against one bare `json.loads` of each line, and what a
person waits for afterwards (figures, search, sort, a page, an episode, a comparison, ten more episodes).
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from shopsim_env.runs.figures import compared, figures
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.rows import load_line
from shopsim_env.runs.select import Wish, chosen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from run_folders import line, many


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "traces.jsonl"
        write(path, arguments.episodes)
        show("machine", f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        show("file", f"{arguments.episodes} episodes, {path.stat().st_size / 1e6:.0f} MB")
        bare, _ = timed(lambda: parse_all(path))
        before = resident()
        index = RunIndex(partial(path.open, "rb"))
        seconds, _ = timed(lambda: index.advance(3600))
        assert index.done
        assert len(index.rows) == arguments.episodes
        show("index", f"{seconds:.2f} s, {arguments.episodes / seconds:,.0f} episodes/s")
        show("index : bare json.loads", f"{seconds / bare:.2f}")
        show("memory of the index", f"{resident() - before:.0f} MB, file {path.stat().st_size / 1e6:.0f} MB")
        ask(index, path)
    return 0


def ask(index: RunIndex, path: Path) -> None:
    """What the page asks for, one by one."""
    rows = index.rows
    report("figures", lambda: figures(rows))
    report("sorted by reward", lambda: chosen(rows, Wish(sort="reward", descending=True)))
    report("search in texts", lambda: chosen(rows, Wish(find="杯子")))
    report("one task", lambda: chosen(rows, Wish(find="77")))
    report("one episode", lambda: load_line(index.line(rows[len(rows) // 2])))
    report("compared with itself", lambda: compared(rows, rows))
    with path.open("ab") as stream:
        stream.writelines(line(record) for record in many(10, first=10**6))
    report("ten more episodes", lambda: index.advance(60))
    report("nothing new", lambda: index.advance(60))


def write(path: Path, count: int) -> None:
    with path.open("wb") as stream:
        stream.writelines(line(record) for record in many(count))


def parse_all(path: Path) -> None:
    with path.open("rb") as stream:
        for text in stream:
            json.loads(text)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    answer = run()
    return time.perf_counter() - begin, answer


def report(name: str, run: Callable[[], Any]) -> None:
    show(name, f"{timed(run)[0] * 1000:.1f} ms")


def show(name: str, text: str) -> None:
    print(f"{name:<26}{text}")


def resident() -> float:
    """Resident memory of this process in MB."""
    for row in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if row.startswith("VmRSS"):
            return int(row.split()[1]) / 1000
    return 0.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--folder", help="where the file is made (default: the temporary folder)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
