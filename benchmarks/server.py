"""The HTTP service under load, beside a server of the same framework that returns a constant.

    python benchmarks/server.py [--seconds 10] [--rounds 3] [--minutes 10] [--only PART,PART]

Server and player are processes of their own on loopback. Episodes are whole: reset, actions, release, with a
request id for every action; one action in five is a search, and the queries repeat as those of rollouts do.

Parts (all but `workers` when none are chosen):

- speed: steps a second of one server process at `--connections`, in turns with two servers that return a
  constant as long as the real answers on average: bare ASGI and a Starlette route, both on uvicorn; ratios
  of the medians, and of the CPU time per request.
- half: the same at half of that rate; p50 and p99 of every endpoint.
- soak: `--concurrent` episodes over `--slots` slots for `--minutes`, every third one abandoned; lost slots,
  memory, descriptors, threads.
- start: from starting the process to the first answer and to the first page; private memory.
- workers: one server, two servers on ports of their own with a player each, two behind one port with a front
  that routes by lease prefix; steps a second, and CPU time per request of servers and front.

`targets` says of every target of the service whether it was met.
"""

import argparse
import json
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from episodes import machine, script
from server_constants import CONSTANTS, serve_constant
from server_player import play
from server_router import route

from shopsim_env import ShopEnv, load_release

HERE = Path(__file__).resolve()
FIGURES = (
    "steps_per_s",
    "requests_per_s",
    "steps_per_server_cpu_s",
    "server_cpu_us_per_request",
    "player_cpu_share",
)


@contextmanager
def process(command: list[str], port: int, path: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server process that answers on `path`; ended by SIGTERM."""
    found = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, path)
        yield found
    finally:
        found.send_signal(signal.SIGTERM)
        found.wait(timeout=60)


def shop(port: int, *options: str) -> list[str]:
    code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
    return ["-c", code, "serve", "--port", str(port), "--log-level", "error", "--drain", "1", *options]


def ask(port: int, method: str, path: str, body: bytes = b"") -> Any:
    """One request on a connection of its own; None without an answer."""
    kind = "content-type: application/json\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{kind}"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
            wire.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            data = b"".join(iter(lambda: wire.recv(65_536), b""))
    except OSError:
        return None
    return json.loads(data.partition(b"\r\n\r\n")[2] or b"null")


def wait_for(port: int, path: str) -> None:
    end = time.monotonic() + 60
    while ask(port, "GET", path) is None:
        if time.monotonic() > end:
            raise SystemExit(f"no answer on port {port}")
        time.sleep(0.002)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def facts_of(pid: int) -> dict[str, float]:
    """Memory (MB), descriptors, threads and CPU seconds of a process (Linux)."""
    folder = Path(f"/proc/{pid}")
    rollup = (folder / "smaps_rollup").read_text()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    # Nanoseconds on a processor, of the only thread.
    cpu = int((folder / "schedstat").read_text().split()[0])
    return {
        "resident_mb": round(sizes["Rss"] / 1024, 1),
        "private_mb": round((sizes["Private_Clean"] + sizes["Private_Dirty"]) / 1024, 1),
        "descriptors": len(list((folder / "fd").iterdir())),
        "threads": len(list((folder / "task").iterdir())),
        "cpu_s": cpu / 1e9,
    }


class Bench:
    """All parts, over one release and one list of scripts."""

    def __init__(self, arguments: argparse.Namespace, scripts: Path, products: int) -> None:
        self.arguments = arguments
        self.products = products
        self.scripts = scripts
        self.release = ["--release", arguments.release] if arguments.release else []

    def player(self, port: int, seconds: float, connections: int, *more: str) -> Any:
        """Figures of a player process."""
        command = [sys.executable, str(HERE), "--player", "--port", str(port), "--scripts", str(self.scripts)]
        command += ["--seconds", str(seconds), "--connections", str(connections), *more]
        done = subprocess.run(command, check=True, capture_output=True)
        return json.loads(done.stdout)

    def measured(self, pid: int, port: int, seconds: float, *more: str) -> dict[str, Any]:
        """The same with the CPU time of the server."""
        before = facts_of(pid)["cpu_s"]
        found = self.player(port, seconds, self.arguments.connections, *more)
        used = facts_of(pid)["cpu_s"] - before
        found["server_cpu_us_per_request"] = 1e6 * used / found["requests"]
        found["steps_per_server_cpu_s"] = found["steps"] / used
        return dict(found)

    def speed(self) -> dict[str, Any]:
        """Ours beside the constant servers, in turns."""
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        ports = {name: free_port() for name in ("server", *CONSTANTS)}
        slots = str(max(64, self.arguments.connections))
        with ExitStack() as running:
            command = shop(ports["server"], "--slots", slots, *self.release)
            servers = {"server": running.enter_context(process(command, ports["server"], "/healthz"))}
            size = int(self.player(ports["server"], 3, self.arguments.connections)["mean_bytes"])
            for name in CONSTANTS:
                command = [str(HERE), "--constant", name, "--size", str(size), "--port", str(ports[name])]
                servers[name] = running.enter_context(process(command, ports[name], "/"))
            for _ in range(self.arguments.rounds):
                for name, server in servers.items():
                    rows[name].append(self.measured(server.pid, ports[name], self.arguments.seconds))
            memory = facts_of(servers["server"].pid)
        figures = {
            figure: {name: statistics.median(row[figure] for row in found) for name, found in rows.items()}
            for figure in FIGURES
        }
        rate, cpu = figures["requests_per_s"], figures["server_cpu_us_per_request"]
        return {
            "mean_bytes": size,
            **figures,
            "ratio_of_rate": {name: rate["server"] / rate[name] for name in CONSTANTS},
            "ratio_of_cpu": {name: cpu[name] / cpu["server"] for name in CONSTANTS},
            "ms": rows["server"][-1]["ms"],
            "errors": rows["server"][-1]["errors"],
            "memory_after": memory,
        }

    def half(self, rate: float) -> dict[str, Any]:
        """Times at half of the rate."""
        port = free_port()
        with process(shop(port, *self.release), port, "/healthz"):
            self.player(port, 3, self.arguments.connections)
            return dict(
                self.player(port, self.arguments.seconds, self.arguments.connections, "--rate", str(rate / 2))
            )

    def soak(self) -> dict[str, Any]:
        """Memory, descriptors, threads and slots over time."""
        port, slots = free_port(), self.arguments.slots
        options = ("--slots", str(slots), "--lease-ttl", "2", *self.release)
        marks = []
        with process(shop(port, *options), port, "/healthz") as server:
            seconds = 60 * self.arguments.minutes / 10
            totals: dict[str, Any] = {"steps": 0, "errors": {}}
            for _ in range(10):
                found = self.player(port, seconds, self.arguments.concurrent, "--abandon")
                totals["steps"] += found["steps"]
                for name, count in found["errors"].items():
                    totals["errors"][name] = totals["errors"].get(name, 0) + count
                marks.append({**facts_of(server.pid), "steps_per_s": round(found["steps_per_s"])})
            time.sleep(3)
            health = ask(port, "GET", "/healthz")
        return {
            "minutes": self.arguments.minutes,
            "concurrent": self.arguments.concurrent,
            "slots": slots,
            **totals,
            "lost_slots": slots - health["free_slots"],
            "ms": found["ms"],
            "marks": marks,
        }

    def workers(self) -> dict[str, Any]:
        """One server, two, and two behind one port; medians of the rounds."""
        names = ("one", "two_ports", "one_port_routed")
        rows: dict[str, list[dict[str, float]]] = defaultdict(list)
        alone, front, ports = free_port(), free_port(), [free_port(), free_port()]
        slots = str(max(64, self.arguments.connections))
        with ExitStack() as running:
            pids = {}
            for port, prefix in ((alone, "c."), (ports[0], "a."), (ports[1], "b.")):
                command = shop(port, "--slots", slots, "--lease-prefix", prefix, *self.release)
                pids[port] = running.enter_context(process(command, port, "/healthz")).pid
            command = [str(HERE), "--route", *map(str, ports), "--port", str(front)]
            pids[front] = running.enter_context(process(command, front, "/healthz")).pid
            for number in range(self.arguments.rounds + 1):
                for name, played, used in zip(
                    names, ([alone], ports, [front]), ([alone], ports, [front, *ports]), strict=True
                ):
                    found = self.together(played, [pids[port] for port in used])
                    if number:  # the first round fills the caches
                        rows[name].append(found)
        return {
            name: {figure: statistics.median(row[figure] for row in found) for figure in found[0]}
            for name, found in rows.items()
        }

    def together(self, ports: list[int], pids: list[int]) -> dict[str, float]:
        """Players on every port at once: rates summed, CPU time of the processes per request."""
        before = [facts_of(pid)["cpu_s"] for pid in pids]
        connections = self.arguments.connections // len(ports)
        with ThreadPoolExecutor(len(ports)) as threads:
            found = list(
                threads.map(lambda port: self.player(port, self.arguments.seconds, connections), ports)
            )
        used = [facts_of(pid)["cpu_s"] - start for pid, start in zip(pids, before, strict=True)]
        requests = sum(one["requests"] for one in found)
        return {
            "steps_per_s": sum(one["steps_per_s"] for one in found),
            "cpu_us_per_request": 1e6 * sum(used) / requests,
            "first_process_cpu_us_per_request": 1e6 * used[0] / requests,
        }

    def start(self) -> dict[str, Any]:
        """Times from the start of the process."""
        first, page, memory = [], [], {}
        task = json.loads(self.scripts.read_text(encoding="utf-8"))[0][0]
        for _ in range(max(3, self.arguments.rounds)):
            port = free_port()
            begin = time.monotonic()
            with process(shop(port, *self.release), port, "/healthz") as server:
                first.append(time.monotonic() - begin)
                ask(port, "POST", "/v1/episodes", json.dumps({"task_id": task}).encode())
                page.append(time.monotonic() - begin)
                memory = facts_of(server.pid)
        return {
            "products": self.products,
            "first_answer_s": min(first),
            "first_page_s": min(page),
            "memory_at_start": memory,
        }


def write_scripts(release: str | None, path: Path) -> int:
    """Scripts with one search in five actions; the number of products."""
    with load_release(release) as opened:
        env = ShopEnv(opened)
        tasks = list(opened.tasks)
        every = max(1, len(tasks) // 200)
        scripts = [script(env, task, number) for number, task in enumerate(tasks[::every][:200])]
        products = int(opened.manifest["counts"]["products"])
    path.write_text(json.dumps(scripts), encoding="utf-8")
    return products


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--release", help="release folder (default: the sample)")
    parser.add_argument("--seconds", type=float, default=10, help="length of a round (default 10)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10, help="length of the soak (default 10)")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--concurrent", type=int, default=256)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--only", default="speed,half,soak,start")
    parser.add_argument("--json", action="store_true")
    for hidden in ("--player", "--abandon"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    for hidden in ("--port", "--size"):
        parser.add_argument(hidden, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--route", type=int, nargs=2, help=argparse.SUPPRESS)
    for hidden in ("--scripts", "--constant"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, default=0.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.route is not None:
        route(arguments.port, tuple(arguments.route))
    elif arguments.constant is not None:
        serve_constant(arguments.constant, arguments.port, arguments.size)
    elif arguments.player:
        print(json.dumps(play(arguments)))
    else:
        print(json.dumps(report_of(arguments), indent=None if arguments.json else 1))
    return 0


def report_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parts that are wanted."""
    wanted = arguments.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        scripts = Path(folder) / "scripts.json"
        bench = Bench(arguments, scripts, write_scripts(arguments.release, scripts))
        report: dict[str, Any] = {"machine": machine()}
        if "speed" in wanted or "half" in wanted:
            report["speed"] = bench.speed()
        if "half" in wanted:
            report["half"] = bench.half(report["speed"]["requests_per_s"]["server"])
        if "soak" in wanted:
            report["soak"] = bench.soak()
        if "start" in wanted:
            report["start"] = bench.start()
        if "workers" in wanted:
            report["workers"] = bench.workers()
    report["targets"] = targets(report)
    return report


def targets(report: dict[str, Any]) -> dict[str, bool]:
    """The targets of the parts that ran."""
    found: dict[str, bool] = {}
    if "speed" in report:
        found["8,000 steps/s"] = report["speed"]["steps_per_s"]["server"] >= 8_000
        found["half of the framework's constant"] = report["speed"]["ratio_of_rate"]["starlette"] >= 0.5
        found["no errors"] = not report["speed"]["errors"]
    if "half" in report:
        found["p99 below 50 ms at half"] = all(row["p99"] < 50 for row in report["half"]["ms"].values())
    if "soak" in report:
        found["no slot lost"] = report["soak"]["lost_slots"] == 0
        first, last = report["soak"]["marks"][2], report["soak"]["marks"][-1]
        grown = last["private_mb"] - first["private_mb"]
        found["memory flat (below 10 MB from the third mark on)"] = grown < 10
        found["descriptors and threads flat"] = (
            last["threads"] == first["threads"] and last["descriptors"] <= first["descriptors"] + 2
        )
    if "start" in report:
        limit = 1.0 if report["start"]["products"] < 20_000 else 1.5
        found[f"first answer within {limit} s"] = report["start"]["first_answer_s"] < limit
        found["memory below 80 MB a worker"] = report["start"]["memory_at_start"]["private_mb"] < 80
    return found


if __name__ == "__main__":
    raise SystemExit(main())
