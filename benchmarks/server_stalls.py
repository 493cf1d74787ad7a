"""How long one request keeps everybody else waiting: the heaviest legal requests, each beside a player.

    python benchmarks/server_stalls.py [--release DIR] [--most-ms 250]

While a request is answered, a second connection asks for `/healthz` again and again; the longest answer that
it gets is how long the event loop stood still. Prints both times in ms, the worst first, and the memory that
an RLVE episode takes. Exit code 1 when anybody waited longer than `--most-ms`. The index of a large run is
measured by `replay_index.py`.
"""

import argparse
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from server import free_port, process, shop

from shopsim_env.rlve.difficulty import Axes
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.server.rlve_bodies import RLVE_RESET

ADMIN = "admin-token-of-benchmarks"
SHOP, RLVE = "/v1/episodes", "/v1/rlve/episodes"
HEAVY_TURNS = 40
LONG_SHOP = 600


class Wire:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer as JSON or bytes; a refusal ends the benchmark."""
        headers = {"Authorization": f"Bearer {ADMIN}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self._wire.request(
            method, path, None if body is None else json.dumps(body, ensure_ascii=False).encode(), headers
        )
        answer = self._wire.getresponse()
        content = answer.read()
        assert answer.status == 200, (method, path, answer.status, content[:300])
        is_json = "json" in answer.headers.get("content-type", "")
        return json.loads(content) if is_json and len(content) < 1 << 22 else content


class Beside:
    """Somebody else on the same server."""

    def __init__(self, port: int) -> None:
        self._wire = Wire(port)
        self._over = threading.Event()
        self.longest = 0.0
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        while not self._over.is_set():
            begin = time.perf_counter()
            self._wire.ask("GET", "/healthz")
            self.longest = max(self.longest, time.perf_counter() - begin)

    def __enter__(self) -> "Beside":
        self._thread.start()
        time.sleep(0.02)
        self.longest = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


class Stalls:
    """The measured requests."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.wire = Wire(port)
        self.rows: list[tuple[float, float, str]] = []

    def timed(self, name: str, method: str, path: str, body: Any = None) -> Any:
        """Asks once beside the other one."""
        with Beside(self.port) as other:
            begin = time.perf_counter()
            answer = self.wire.ask(method, path, body)
            took = time.perf_counter() - begin
        self.rows.append((other.longest * 1000, took * 1000, name))
        return answer

    def resident_kb(self) -> int:
        """Memory of the server."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 1024

    def shop(self) -> None:
        """Resets, a long episode and what it can be asked for, everything at once."""
        draw = {"split": "project/train", "seed": 7}
        self.timed("shop: reset", "POST", SHOP, draw)
        self.timed("shop: second reset", "POST", SHOP, draw)
        self.wire.ask("DELETE", SHOP)
        self.timed("shop: group of 64", "POST", "/v1/groups", {**draw, "n": 64})
        self.timed("shop: release of 64", "DELETE", SHOP)
        lease = self.wire.ask("POST", SHOP, {**draw, "task_mode": "persona"})
        path, fence = f"{SHOP}/{lease['lease_id']}", lease["fence"]
        words = "收纳盒 " * 4_000
        for number in range(LONG_SHOP):
            action = f"search[{words[: 900 + number]}]"
            step = {"action": action, "fence": fence, "request_id": str(number)}
            if self.wire.ask("POST", f"{path}/step", step)["done"]:
                break
        first = {"action": "", "fence": fence, "request_id": str(max(0, number - 1))}
        self.timed(f"shop: early request id again, {number + 1} steps", "POST", f"{path}/step", first)
        self.timed(f"shop: trace, {number + 1} steps", "GET", f"{path}/trace")
        self.wire.ask("DELETE", SHOP)
        lease = self.wire.ask("POST", SHOP, draw)
        step = {"action": f"search[{words}]", "fence": lease["fence"]}
        self.timed("shop: search of 48 KB", "POST", f"{SHOP}/{lease['lease_id']}/step", step)
        for path in ("/v1/tasks?limit=1000", "/openapi.json", "/metrics", "/debug-ui", "/replay-ui/api/runs"):
            self.timed(f"page: {path}", "GET", path)

    def rlve(self) -> None:
        """Starts of every environment, the heaviest turns, and what can be asked for afterwards."""
        self.timed("rlve: first request", "GET", "/v1/rlve")
        self.timed("rlve: info", "GET", "/v1/rlve?language=en")
        largest = {
            item.name: RLVE_RESET["overrides"].members[item.name].most  # type: ignore[attr-defined]
            for item in fields(Axes)
        }
        largest["top_k"] = 62  # with 64 calls a turn no more are allowed
        for env_id in ENVIRONMENTS:
            for name, overrides in (("", {}), (", largest axes", largest)):
                body = {"env_id": env_id, "difficulty": 100, "seed": 3, "overrides": overrides}
                try:
                    lease = self.timed(f"rlve: reset {env_id} d=100{name}", "POST", RLVE, body)
                except AssertionError as error:
                    print(f"refused: {env_id}{name}: {error}", file=sys.stderr)
                    self.wire = Wire(self.port)
                    continue
                self.wire.ask("DELETE", f"{RLVE}/{lease['lease_id']}")
        calls: dict[str, Callable[[int], dict[str, Any]]] = {
            "catalog.search": lambda _: {"query": "", "top_k": 62},
            "catalog.search, words": lambda n: {
                "query": "收纳盒 大号 透明 家用 " * 20 + str(n),
                "top_k": 200,
            },
            "order.list": lambda _: {"days": 365},
            "policy.search": lambda n: {"query": "运费 退货 " * 50 + str(n), "top_k": 20},
        }
        for name, args in calls.items():
            self.turns(name, args)

    def turns(self, name: str, args: Callable[[int], dict[str, Any]]) -> None:
        """An episode of turns with as many calls as there may be."""
        overrides = {"T_max": 500, "B_tool": 64, "top_k": 62, "H_orders": 37, "p_oos": 0, "eps_rank": 1}
        key = {"env_id": "STATUS", "difficulty": 20, "seed": 5, "overrides": overrides, "strict": False}
        before = self.resident_kb()
        lease = self.wire.ask("POST", RLVE, key)
        path, fence = f"{RLVE}/{lease['lease_id']}", lease["fence"]
        tool = name.partition(",")[0]
        played = 0
        for number in range(HEAVY_TURNS):
            calls = [{"name": tool, "args": args(number * 64 + place)} for place in range(64)]
            turn = {"assistant_message": "我看看。", "tool_calls": calls}
            step = {"turn": turn, "fence": fence, "request_id": str(number)}
            first = self.timed(f"rlve: turn of 64 {name}", "POST", f"{path}/step", step)
            played += 1
            if isinstance(first, dict) and first["done"]:
                break
        print(f"{name}: {played} turns, {self.resident_kb() - before} KB more", file=sys.stderr)
        self.timed(f"rlve: look after {name}", "GET", path)
        self.timed(f"rlve: trace after {name}", "GET", f"{path}/trace")
        again = {"turn": "", "fence": fence, "request_id": str(max(0, played - 2))}
        self.timed(f"rlve: early request id again after {name}", "POST", f"{path}/step", again)
        self.wire.ask("DELETE", path)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release")
    parser.add_argument("--most-ms", type=float, default=250.0)
    arguments = parser.parse_args()
    os.environ["SHOPSIM_ADMIN_TOKEN"] = ADMIN
    port = free_port()
    options = ["--release", arguments.release] if arguments.release else []
    with process(shop(port, *options), port, "/healthz") as server:
        stalls = Stalls(port, server.pid)
        stalls.shop()
        stalls.rlve()
    worst: dict[str, tuple[float, float]] = {}
    for waited, took, name in stalls.rows:
        worst[name] = max(worst.get(name, (0.0, 0.0)), (waited, took))
    print("others waited ms, own answer ms, request")
    for name, (waited, took) in sorted(worst.items(), key=lambda row: -row[1][0]):
        print(f"{waited:8.1f} {took:8.1f}  {name}")
    return int(max(waited for waited, _ in worst.values()) > arguments.most_ms)


if __name__ == "__main__":
    sys.exit(main())
