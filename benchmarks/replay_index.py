"""Index of a run of 100,000 episodes: reading it, memory, a page of it, and following it while it grows.

    python benchmarks/replay_index.py [--episodes 100000] [--folder DIR]

Prints seconds, ratios and machine facts: the index against one bare `json.loads` of each line, and what a
person waits for afterwards (figures, search, sort, a page, an episode, a comparison, ten more episodes), and
what episodes on the same server notice of it.
"""

import argparse
import http.client
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from server import ask, free_port, process, shop

from shopsim_env.runs.figures import compared, figures
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.rows import load_line
from shopsim_env.runs.select import Wish, chosen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from run_folders import line, many

_ALONE_S = 4.0
_GAP_S = 0.01
_MOST_STEPS = 990


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
        answers(index, path)
        beside(Path(folder))
    return 0


def beside(folder: Path) -> None:
    """What the page costs whoever plays on the same server: steps without it, and while it reads a run."""
    port = free_port()
    with process(shop(port, "--runs", str(folder)), port, "/healthz"):
        run = ask(port, "GET", "/replay-ui/api/runs")["runs"][0]["id"]
        latencies(port, "steps alone", lambda since: time.perf_counter() - since > _ALONE_S)
        reader = ThreadPoolExecutor(1)
        begin = time.perf_counter()
        reading = reader.submit(read_run, port, run)
        latencies(port, "steps while a run is read", lambda _: reading.done())
        show("read over HTTP", f"{time.perf_counter() - begin:.1f} s, {reading.result()} requests")


def read_run(port: int, run: str) -> int:
    """As the page does: asks until everything was read."""
    requests = 1
    while not ask(port, "GET", f"/replay-ui/api/run?run={run}")["done"]:
        requests += 1
    return requests


def latencies(port: int, name: str, over: Callable[[float], bool]) -> None:
    """Plays refused clicks, 100 a second at most, and prints p50, p99 and the slowest in milliseconds."""
    start = ask(port, "POST", "/v1/episodes", b'{"split":"project/train","seed":1,"max_actions":1000}')
    wire = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"action": "click[nothing]", "fence": start["fence"]}).encode()
    path, times, since = f"/v1/episodes/{start['lease_id']}/step", [], time.perf_counter()
    while not over(since) and len(times) < _MOST_STEPS:
        begin = time.perf_counter()
        wire.request("POST", path, body, {"content-type": "application/json"})
        wire.getresponse().read()
        times.append((time.perf_counter() - begin) * 1000)
        time.sleep(_GAP_S)
    wire.close()
    times.sort()
    at = [times[round(part * (len(times) - 1))] for part in (0.5, 0.99, 1.0)]
    show(name, f"p50 {at[0]:.2f} ms, p99 {at[1]:.2f} ms, slowest {at[2]:.2f} ms of {len(times)}")


def answers(index: RunIndex, path: Path) -> None:
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
