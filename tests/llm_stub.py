"""An OpenAI-compatible server on a real socket that plays scripted faults and records what arrives.

    python tests/llm_stub.py --port 0 --faults FILE --log FILE      (a process of its own)

Belongs here: the stub alone. Texts are answered by a rule so simple that tests work out the answers by hand:
预算N元以内 is a hard ceiling, N元左右 an approximate one, anything else no budget.
"""

import argparse
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HARD = re.compile(r"预算(\d+)元以内")
ABOUT = re.compile(r"(\d+)元左右")
QUOTA = ("RPH", "RPD", "TPD", "IPD")


def right_answer(task_id: int, text: str) -> dict[str, Any]:
    """The answer by the rule above."""
    for kind, pattern in (("hard_upper", HARD), ("approximate_upper", ABOUT)):
        found = pattern.search(text)
        if found:
            amount = int(found.group(1))
            return {"task_id": task_id, "kind": kind, "amount": amount, "evidence": found.group(0)}
    return {"task_id": task_id, "kind": "no_budget", "amount": None, "evidence": ""}


@dataclass
class Arrival:
    """One request as it came: seconds on the monotonic clock, task, field, attempt, fault."""

    at: float
    task_id: int
    text: str
    attempt: int
    fault: str
    barrier: threading.Barrier | None = None


@dataclass
class StubLog:
    """What the server saw. `answered` counts right answers written completely, by (task, text)."""

    arrivals: list[Arrival] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answered: Counter[tuple[int, str]] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0


class LlmStub:
    """The server. Use it in a `with` block.

    Args:
        faults: task id -> faults of its first requests, in order; after them it is answered. Names:
            `429` and `429:KIND` (TPM, RPD, ...), `429@S` with Retry-After S, `500`, `503@S`, `401` and other
            statuses, `slow:S`, `cut`, `half` (cut inside the body), `not_json`, `no_choices`, `no_message`,
            `garbage` (no JSON body), `truncated`, `wrong_id`, `invented`, `echo:TEXT` (401).
        bursts: arrival number (from 1) -> (fault, count): that many arrivals from there on get the fault, and
            none of them is answered before all have come, so that they are one wave on any machine.
        delay_s: Time that every answer takes.
    """

    def __init__(
        self,
        faults: Mapping[int, list[str]] | None = None,
        *,
        bursts: Mapping[int, tuple[str, int]] | None = None,
        delay_s: float = 0.0,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self.log = StubLog()
        self._faults = {task_id: list(names) for task_id, names in (faults or {}).items()}
        self.delay_s = delay_s
        self._bursts: dict[int, tuple[str, threading.Barrier]] = {}
        for first, (fault, count) in (bursts or {}).items():
            barrier = threading.Barrier(count)
            self._bursts |= {first + offset: (fault, barrier) for offset in range(count)}
        self._attempts: Counter[tuple[int, str]] = Counter()
        self._mutex = threading.Lock()
        self._file = None if log is None else log.open("a", encoding="utf-8")
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> "LlmStub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if self._file is not None:
            self._file.close()

    def arrive(self, body: dict[str, Any], headers: dict[str, str]) -> Arrival:
        """Records a request and decides what happens to it."""
        question = json.loads(body["messages"][-1]["content"])
        key = (question["task_id"], question["text"])
        with self._mutex:
            now = time.monotonic()
            self._attempts[key] += 1
            number = len(self.log.arrivals) + 1
            fault, barrier = self._bursts.get(number, ("", None))
            waiting = self._faults.get(key[0], [])
            if barrier is None and waiting:
                fault = waiting.pop(0)
            arrival = Arrival(now, *key, self._attempts[key], fault, barrier)
            self.log.arrivals.append(arrival)
            self.log.bodies.append(body)
            self.log.headers.append(headers)
            self.log.in_flight += 1
            self.log.most_in_flight = max(self.log.most_in_flight, self.log.in_flight)
            self._write({"at": now, "task_id": key[0], "text": key[1], "fault": fault})
        return arrival

    def leave(self, arrival: Arrival, *, answered: bool) -> None:
        """Notes that a request is over."""
        with self._mutex:
            self.log.in_flight -= 1
            if answered:
                self.log.answered[arrival.task_id, arrival.text] += 1

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: LlmStub

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        arrival = self.stub.arrive(body, dict(self.headers.items()))
        answered = False
        try:
            answered = self._play(arrival)
        finally:
            self.stub.leave(arrival, answered=answered)

    def _play(self, arrival: Arrival) -> bool:
        if arrival.barrier is not None:
            arrival.barrier.wait(timeout=60)
        head, _, wait = arrival.fault.partition("@")
        name, _, value = head.partition(":")
        time.sleep(float(value) if name == "slow" else self.stub.delay_s)
        if name in ("cut", "half"):
            self._cut(arrival, half=name == "half")
            return False
        if name.isdigit() or name == "echo":
            self._error(401 if name == "echo" else int(name), value, wait)
            return False
        self._send(200, _BODIES.get(name, _completion)(arrival))
        return name in ("", "slow")

    def _cut(self, arrival: Arrival, *, half: bool) -> None:
        if half:
            data = _completion(arrival)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\nContent-Type: application/json\r\n\r\n"
            self.wfile.write(head.encode())
            self.wfile.write(data[: len(data) // 2])
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _error(self, status: int, detail: str, wait: str) -> None:
        message = f"rate limit reached: {detail}" if status == 429 and detail else detail or "refused"
        headers = {"Retry-After": wait} if wait else {}
        self._send(status, json.dumps({"error": {"message": message}}).encode(), headers)

    def _send(self, status: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _completion(arrival: Arrival, content: Any = None, **changes: Any) -> bytes:
    if content is None:
        content = json.dumps(right_answer(arrival.task_id, arrival.text) | changes, ensure_ascii=False)
    return _envelope(
        [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}]
    )


def _envelope(choices: Any) -> bytes:
    return json.dumps(
        {
            "id": "answer-1",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": choices,
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        },
        ensure_ascii=False,
    ).encode()


_BODIES = {
    "not_json": lambda arrival: _completion(arrival, "the budget is 20"),
    "truncated": lambda arrival: _completion(arrival, '{"task_id": 1, "kind": "hard_up'),
    "no_choices": lambda _arrival: _envelope([]),
    "no_message": lambda _arrival: _envelope([{"index": 0}]),
    "garbage": lambda _arrival: b"<html>busy</html>",
    "wrong_id": lambda arrival: _completion(arrival, task_id=arrival.task_id + 1),
    "invented": lambda arrival: _completion(arrival, kind="hard_upper", amount=5, evidence="五元封顶"),
}


def busiest_window(times: list[float], window_s: float) -> int:
    """The most arrivals in any half-open window of that many seconds."""
    times = sorted(times)
    most = start = 0
    for end, at in enumerate(times):
        while times[start] <= at - window_s:
            start += 1
        most = max(most, end - start + 1)
    return most


def main() -> None:
    """Serves until the process is ended; prints the base URL first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True, help="JSON: faults, bursts, delay_s")
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    script = json.loads(arguments.script.read_text(encoding="utf-8"))
    for name in ("faults", "bursts"):
        script[name] = {int(key): value for key, value in script.get(name, {}).items()}
    with LlmStub(port=arguments.port, log=arguments.log, **script) as stub:
        print(stub.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
