"""A chat endpoint on a real socket that plays scripted models and counts what it is asked.

    python tests/chat_stub.py SCRIPT      (a process of its own; prints its base URL first)

Belongs here: the stub alone. A run that sends seeds asks for step k of an episode with its seed plus
k - 1, and the conversation holds k - 1 answers, so a request says which episode and step it is for. A script
gives each episode seed a kind and the actions that a good model plays.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ARGUMENTS = {"search": "query", "click": "value", "ask_shopper": "message"}
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "completion_tokens_details": {"reasoning_tokens": 5},
}
# Kinds whose first and third answer are broken; the rest of the episode is played well.
BROKEN = ("malformed", "two_calls", "unknown_tool", "talk")
# Kinds whose requests fail on the way: fault of each try, the last one is answered.
FAULTS = {
    "flaky": ("429", "500", ""),
    "cut": ("cut", ""),
    "html": ("html", ""),
    "stream_error": ("stream_error", ""),
    "unfinished": ("unfinished", ""),
    "down": ("503",) * 10_000,
    "bad_request": ("400",) * 10_000,
    "unauthorized": ("401",) * 10_000,
    "empty": ("empty",) * 10_000,
}


@dataclass
class ChatStub:
    """The server. Use it in a `with` block.

    Attributes:
        script: episode seed -> (kind, actions of a good model in canonical text).
        asked: Requests by (episode seed, step).
        answered: Answers that were written completely, by the same.
        bodies, headers: Every request, when `keep` is set.
        held_from: Requests from this number on wait until `gate` is set.
    """

    script: dict[int, tuple[str, list[str]]]
    keep: bool = True
    slow_s: float = 0.2
    held_from: int = sys.maxsize
    gate: threading.Event = field(default_factory=threading.Event)
    asked: Counter[tuple[int, int]] = field(default_factory=Counter)
    answered: Counter[tuple[int, int]] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.mutex = threading.Lock()
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> "ChatStub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arrive(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[tuple[int, int], int]:
        """Notes a request: (episode seed, step), and which try it is."""
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        key = (body["seed"] - turn, turn + 1)
        with self.mutex:
            self.asked[key] += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            if self.keep:
                self.bodies.append(body)
                self.headers.append(headers)
            return key, self.asked[key]

    def leave(self, key: tuple[int, int], *, answered: bool) -> None:
        """Notes that a request is over."""
        with self.mutex:
            self.in_flight -= 1
            self.answered[key] += answered

    def answer(self, key: tuple[int, int]) -> dict[str, Any]:
        """The choice that the model of this episode gives at this step."""
        kind, actions = self.script[key[0]]
        turn = key[1] - 1
        if kind == "stubborn":
            return _choice("我觉得不用工具也可以。", [])
        if kind == "long" and turn == 1:
            return _choice("先想一想，再想一", [], "length")
        if kind in BROKEN and turn in (0, 2):
            return _broken(kind, turn)
        played = turn - sum(turn > at for at in (0, 2)) if kind in BROKEN else turn
        text = actions[played] if played < len(actions) else "click[nothing]"
        return _choice("", [_call(text, turn)], "tool_calls")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: ChatStub

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        with self.stub.mutex:
            counts = [[*key, count] for key, count in self.stub.asked.items()]
        self._send(200, json.dumps(counts).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        key, attempt = self.stub.arrive(body, headers)
        answered = False
        try:
            answered = self._play(body, key, attempt)
        finally:
            self.stub.leave(key, answered=answered)

    def _play(self, body: dict[str, Any], key: tuple[int, int], attempt: int) -> bool:
        if self.stub.asked.total() >= self.stub.held_from:
            self.stub.gate.wait(60)
        kind = self.stub.script[key[0]][0]
        faults = FAULTS.get(kind, ("",))
        fault = faults[min(attempt, len(faults)) - 1]
        if kind == "slow":
            time.sleep(self.stub.slow_s)
        if kind == "context" and key[1] == 3:
            fault = "context"
        if fault:
            self._fail(fault, body, key)
            return False
        choice = self.stub.answer(key)
        if body.get("stream"):
            self._stream(_chunks(choice, key))
        else:
            self._send(200, _whole(choice, key))
        return True

    def _fail(self, fault: str, body: dict[str, Any], key: tuple[int, int]) -> None:
        if fault == "context":
            text = "This model's maximum context length is 8192 tokens."
            self._send(400, json.dumps({"error": {"message": text, "code": 400}}).encode())
        elif fault.isdigit():
            # What a careless endpoint does: it says the key again.
            text = f"refused: {self.headers.get('Authorization')}"
            self._send(int(fault), json.dumps({"error": {"message": text}}).encode(), retry_after="0")
        elif fault == "html":
            self._send(200, b"<html>busy</html>")
        elif fault == "empty":
            self._send(200, json.dumps({"id": "x", "choices": []}).encode())
        elif fault == "stream_error" and body.get("stream"):
            self._stream([*_chunks(self.stub.answer(key), key)[:2], {"error": {"message": "lost a worker"}}])
        elif fault == "unfinished" and body.get("stream"):
            self._stream(_chunks(self.stub.answer(key), key)[:-2])
        else:
            self._cut(body, key)

    def _cut(self, body: dict[str, Any], key: tuple[int, int]) -> None:
        """Half an answer, then no connection."""
        if body.get("stream"):
            data = b"".join(map(_event, _chunks(self.stub.answer(key), key)))
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            half = data[: len(data) // 2]
            self.wfile.write(head.encode() + f"{len(half):x}\r\n".encode() + half)
        else:
            data = _whole(self.stub.answer(key), key)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            self.wfile.write(head.encode() + data[: len(data) // 2])
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, chunks: list[dict[str, Any]]) -> None:
        data = b"".join(map(_event, chunks)) + b"data: [DONE]\n\n"
        self._send(200, data, kind="text/event-stream")

    def _send(
        self, status: int, data: bytes, kind: str = "application/json", retry_after: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(data)


def _call(text: str, turn: int) -> dict[str, Any]:
    name, _, rest = text.partition("[")
    arguments = json.dumps({ARGUMENTS[name]: rest[:-1]}, ensure_ascii=False)
    return {"id": f"c{turn}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _broken(kind: str, turn: int) -> dict[str, Any]:
    call = _call("search[杯]", turn)
    if kind == "talk":
        return _choice("我先介绍一下自己。", [])
    if kind == "two_calls":
        return _choice("", [call, {**call, "id": f"d{turn}"}], "tool_calls")
    broken = {"malformed": ("search", '{"query": "杯"'), "unknown_tool": ("buy", "{}")}[kind]
    call["function"] = {"name": broken[0], "arguments": broken[1]}
    return _choice("", [call], "tool_calls")


def _choice(content: str, calls: list[dict[str, Any]], reason: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "reasoning_content": "想一想", "tool_calls": calls}
    return {"index": 0, "message": message, "finish_reason": reason}


def _whole(choice: dict[str, Any], key: tuple[int, int]) -> bytes:
    head = {"id": f"answer-{key[0]}-{key[1]}", "object": "chat.completion", "created": 0, "model": "stub"}
    return json.dumps({**head, "choices": [choice], "usage": USAGE}, ensure_ascii=False).encode()


def _chunks(choice: dict[str, Any], key: tuple[int, int]) -> list[dict[str, Any]]:
    """The same answer in pieces: reasoning, text, halves of the arguments, the reason, usage."""
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "reasoning_content": message["reasoning_content"]}]
    deltas += [{"content": letter} for letter in message["content"]]
    for place, call in enumerate(message["tool_calls"]):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        first = {**call, "index": place, "function": {**call["function"], "arguments": arguments[:half]}}
        rest = {"index": place, "function": {"arguments": arguments[half:]}}
        deltas += [{"tool_calls": [first]}, {"tool_calls": [rest]}]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    head = {
        "id": f"answer-{key[0]}-{key[1]}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "stub",
    }
    chunks: list[dict[str, Any]] = [{**head, "choices": found} for found in choices]
    return [*chunks, {**head, "choices": [], "usage": USAGE}]


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def main() -> None:
    """Serves the script in a file until the process is ended."""
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    plays = {int(seed): (kind, actions) for seed, (kind, actions) in script.items()}
    with ChatStub(plays, keep=False) as stub:
        print(stub.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
