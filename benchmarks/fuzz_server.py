"""Fuzzed bodies against every endpoint that takes one: no 500, no hang, and the server works afterwards.

    python benchmarks/fuzz_server.py [--bodies 100000] [--seed 1] [--release DIR]

Bodies are valid ones that are mutated: fields dropped, doubled, renamed, values of any type, bytes flipped,
text cut, nesting, numbers beyond every range, lone surrogates, megabytes; headers now and then too. Exit
code 1 on an answer of 500 or more (503 is a refusal), on no answer within 20 seconds, or on an answer that
is no JSON.
"""

import argparse
import http.client
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from server import ask, free_port, process, shop

KEY = "0123456789abcdef" * 2
RLVE = {"env_id": "POLICY", "difficulty": 2, "seed": 1, "strict": False}
STARTS = {
    "/v1/episodes": "/v1/episodes",
    "/v1/groups": "/v1/episodes",
    "/v1/rlve/episodes": "/v1/rlve/episodes",
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 3, 1.5, 1e308, 2**63, 2**64, -(2**63), 10**400),
    *(
        "",
        "x",
        "persona",
        "project/train",
        "\ud800",
        "\x00",
        "../../etc/passwd",
        "search[杯]",
        "click[buy now]",
    ),
    *(
        "a" * 5_000,
        "杯" * 3_000,
        [],
        {},
        [[[[]]]],
        {"name": "click"},
        {"typed_action": "search"},
        [{}],
        [1, "2"],
    ),
    {"name": "search", "arguments": '{"query": "杯"}'},
    {"type": "function", "function": {"name": "click", "arguments": {"value": "x"}}},
]
RAW = [
    *(
        b"",
        b"{",
        b"[",
        b"nul",
        b"\xff\xfe",
        b"NaN",
        b'{"a":1,"a":2}',
        b"[" * 50_000,
        b'{"a":' * 3_000,
        b" " * 70_000,
    ),
    *(
        b'"' + b"a" * 60_000 + b'"',
        b'{"task_id":1e999}',
        b'{"task_id":-0}',
        b'{"fence":0x1}',
        b"\xef\xbb\xbf{}",
    ),
    b'{"action":"\\ud800","fence":1}',
]


class Fuzzer:
    """Draws requests. The lease in the paths is live now and then."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)  # noqa: S311
        self.lease: dict[str, Any] = {"lease_id": "x" * 32, "fence": 1, "slot": 0}
        self.rlve: dict[str, Any] = self.lease

    def bases(self) -> list[tuple[str, dict[str, Any]]]:
        """Paths and valid bodies."""
        base = f"/v1/episodes/{self.lease['lease_id']}"
        fence = self.lease["fence"]
        wire = {"lease_id": self.lease["lease_id"], "env_idx": self.lease["slot"]}
        return [
            ("/v1/episodes", {"task_id": 3, "wait_s": 0, "request_id": KEY}),
            ("/v1/episodes", {"split": "project/train", "seed": 7, "tools": "static", "wait_s": 0}),
            ("/v1/groups", {"task_id": 3, "n": 2, "interaction_mode": "multi_turn", "wait_s": 0}),
            (f"{base}/step", {"action": "search[杯]", "fence": fence, "request_id": "1"}),
            (f"{base}/step", {"action": {"name": "click", "arguments": {"value": "x"}}, "fence": fence}),
            (f"{base}/terminate", {"reason": "action_limit", "fence": fence}),
            (f"{base}/heartbeat", {"fence": fence}),
            (f"{base}/takeover", {}),
            ("/api/shop_agent", {"action": "interact", "response": "search[杯]", **wire}),
            ("/api/shop_agent", {"action": "terminate", "termination_reason": "action_limit", **wire}),
            ("/api/shop_agent", {"action": "release_one", **wire}),
            *self.rlve_bases(),
        ]

    def rlve_bases(self) -> list[tuple[str, dict[str, Any]]]:
        """The same of RLVE."""
        base, fence = f"/v1/rlve/episodes/{self.rlve['lease_id']}", self.rlve["fence"]
        call = {"name": "catalog.search", "args": {"query": "杯", "filters": {"price_max": 50}}}
        turn = {"assistant_message": "好的。", "tool_calls": [call]}
        return [
            (
                "/v1/rlve/episodes",
                {**RLVE, "wait_s": 0, "request_id": KEY[::-1], "overrides": {"p_noise": 0.1}},
            ),
            (f"{base}/step", {"turn": turn, "fence": fence, "request_id": "1"}),
            (f"{base}/step", {"turn": json.dumps(turn), "fence": fence}),
            (f"{base}/heartbeat", {"fence": fence}),
            (f"{base}/takeover", {}),
        ]

    def request(self) -> tuple[str, bytes, dict[str, str]]:
        """Path, body, headers."""
        draws = self.draws
        path, body = draws.choice(self.bases())
        headers = {"Content-Type": "application/json"}
        if draws.random() < 0.03:
            name = draws.choice(["Content-Type", "Content-Encoding", "Origin", "Authorization", "Host"])
            headers[name] = draws.choice(
                ["", "text/plain", "gzip", "null", "Bearer x", "localhost", "x" * 3_000]
            )
        if draws.random() < 0.1:
            return path, draws.choice(RAW), headers
        for _ in range(draws.choice([0, 1, 1, 2, 3])):
            self.mutate(body)
        data = json.dumps(body, ensure_ascii=draws.random() < 0.8).encode("utf-8", "surrogatepass")
        return path, self.garbled(data), headers

    def mutate(self, body: dict[str, Any]) -> None:
        """Changes one field."""
        draws = self.draws
        name = draws.choice([*body, "task_mode", "max_actions", "extra", "wait_s", "private"])
        kind = draws.randrange(4)
        if kind == 0:
            body.pop(name, None)
        elif kind == 1:
            body[f"{name}{draws.choice(['_', ' ', 'é', ''])}"] = draws.choice(ODD)
        else:
            body[name] = draws.choice(ODD)
        if isinstance(body.get("wait_s"), (int, float)):
            body["wait_s"] = 0  # a fuzzer in line waits for itself

    def garbled(self, data: bytes) -> bytes:
        """Now and then with other bytes."""
        draws = self.draws
        if not data or draws.random() < 0.85:
            return data
        at = draws.randrange(len(data))
        changes: list[Callable[[], bytes]] = [
            lambda: data[:at],
            lambda: data[:at] + bytes([draws.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + draws.choice([b"\x00", b"[[[", b"}", b'"', b"\xf0\x9f", b"1e9"]) + data[at:],
            lambda: data + data,
        ]
        return draws.choice(changes)()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release")
    arguments = parser.parse_args()
    os.environ["SHOPSIM_ADMIN_TOKEN"] = "fuzzing-fuzzing-fuzzing"  # noqa: S105
    fuzzer, statuses, problems = Fuzzer(arguments.seed), Counter[str](), []
    port, slowest = free_port(), 0.0
    options = ["--release", arguments.release] if arguments.release else []
    with process(shop(port, "--slots", "4", "--lease-ttl", "5", *options), port, "/healthz") as server:
        wire = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for number in range(arguments.bodies):
            if number % 50 == 0:
                release(port, path_of(fuzzer.lease, "/v1/episodes"))
                release(port, path_of(fuzzer.rlve, "/v1/rlve/episodes"))
                fuzzer.lease = ask(port, "POST", "/v1/episodes", b'{"task_id":3,"wait_s":20}')
                wanted = json.dumps({**RLVE, "wait_s": 20}).encode()
                fuzzer.rlve = ask(port, "POST", "/v1/rlve/episodes", wanted)
            path, data, headers = fuzzer.request()
            begin = time.monotonic()
            try:
                wire.request("POST", path, data, headers)
                answer = wire.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                problems.append(f"{number}: {path}: {error!r}")
                wire.close()
                continue
            slowest = max(slowest, time.monotonic() - begin)
            statuses[str(answer.status)] += 1
            if answer.status >= 500 and answer.status != 503:
                problems.append(f"{number}: {path}: {answer.status} {data[:200]!r}")
            is_plain = answer.status == 400 and not content.startswith(b"{")  # uvicorn's own: no HTTP
            if not is_plain:
                json.loads(content)
            if answer.status == 200 and path in STARTS:
                release(port, path_of(json.loads(content), STARTS[path]))
        alive = server.poll() is None and ask(port, "GET", "/healthz")["ready"]
        problems += [] if alive else ["the server is gone"]
        wire.close()
    report = {
        "sent": arguments.bodies,
        "statuses": dict(sorted(statuses.items())),
        "slowest_s": round(slowest, 3),
        "problems": problems[:20],
    }
    print(json.dumps(report, indent=1))
    return 1 if problems else 0


def path_of(opened: dict[str, Any], base: str) -> list[str]:
    """Paths of the leases in the answer to a reset or group."""
    return [f"{base}/{lease['lease_id']}" for lease in opened.get("members", [opened])]


def release(port: int, paths: list[str]) -> None:
    """Makes room again."""
    for path in paths:
        ask(port, "DELETE", path)


if __name__ == "__main__":
    raise SystemExit(main())
