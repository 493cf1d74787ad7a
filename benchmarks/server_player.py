"""The player of `server.py`, a process of its own: whole episodes over raw connections, timed."""

import argparse
import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any


class Connection(asyncio.Protocol):
    """One keep-alive connection with one request at a time."""

    def __init__(self) -> None:
        self.buffer = b""
        self.need = 0
        self.answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keeps the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Collects an answer."""
        self.buffer = self.buffer + data if self.buffer else data
        if not self.need:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            at = head.index(b"content-length:") + 15
            self.start = end + 4
            self.need = self.start + int(head[at : at + 12].split(b"\r")[0])
            self.status = int(head[9:12])
        if len(self.buffer) >= self.need and self.answer is not None:
            answer, body = self.answer, self.buffer[self.start : self.need]
            self.buffer, self.need, self.answer = b"", 0, None
            answer.set_result((self.status, body))

    def connection_lost(self, error: Exception | None) -> None:
        """Fails the request that waits."""
        if self.answer is not None:
            self.answer.set_exception(error or ConnectionError("closed"))

    def ask(self, method: str, path: str, body: bytes = b"") -> Awaitable[tuple[int, bytes]]:
        """Sends a request; status and body."""
        self.answer = asyncio.get_running_loop().create_future()
        kind = "content-type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{kind}content-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)
        return self.answer


class Player:
    """Plays episodes over connections and keeps the time."""

    def __init__(self, port: int, scripts: list[list[Any]]) -> None:
        self.port = port
        self.scripts = scripts
        self.times: dict[str, list[float]] = defaultdict(list)
        self.bytes = 0
        self.errors: dict[str, int] = defaultdict(int)
        self.pace: Callable[[], Awaitable[None]] | None = None

    async def connect(self) -> Connection:
        """A new connection."""
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self.port))[1]

    async def ask(self, wire: Connection, name: str, method: str, path: str, body: bytes = b"") -> bytes:
        """One request, timed."""
        if self.pace is not None:
            await self.pace()
        begin = time.perf_counter()
        status, answer = await wire.ask(method, path, body)
        self.times[name].append(time.perf_counter() - begin)
        self.bytes += len(answer)
        if status != 200:
            self.errors[f"{name} {status}"] += 1
        return answer

    async def episode(self, wire: Connection, number: int, *, leave_after: int | None = None) -> None:
        """A whole episode, or its first actions."""
        task, actions = self.scripts[number % len(self.scripts)]
        body = json.dumps({"task_id": task, "wait_s": 600}).encode()
        opened = json.loads(await self.ask(wire, "reset", "POST", "/v1/episodes", body))
        path = f"/v1/episodes/{opened['lease_id']}"
        for count, action in enumerate(actions):
            if count == leave_after:
                return
            step = {"action": action, "fence": opened["fence"], "request_id": str(count)}
            await self.ask(wire, "step", "POST", f"{path}/step", json.dumps(step).encode())
        await self.ask(wire, "release", "DELETE", path)

    async def until(self, end: float, first: int, stride: int, *, abandon: bool) -> None:
        """Episodes until `end`, every third one left when told so."""
        wire = await self.connect()
        draws = random.Random(first)  # noqa: S311
        number = first
        while time.monotonic() < end:
            leave = draws.randrange(4) if abandon and draws.randrange(3) == 0 else None
            await self.episode(wire, number, leave_after=leave)
            if leave is not None:
                wire.transport.close()
                wire = await self.connect()
            number += stride
        wire.transport.close()

    def pace_at(self, rate: float) -> None:
        """Spreads requests evenly at `rate` a second over all connections."""
        due = time.perf_counter()

        async def pace() -> None:
            nonlocal due
            due = max(due + 1 / rate, time.perf_counter() - 0.01)
            delay = due - time.perf_counter()
            if delay > 0:
                await asyncio.sleep(delay)

        self.pace = pace


def play(arguments: argparse.Namespace) -> dict[str, Any]:
    """The player process: figures of `--seconds` of play."""
    scripts = json.loads(Path(arguments.scripts).read_text(encoding="utf-8"))
    player = Player(arguments.port, scripts)
    if arguments.rate:
        player.pace_at(arguments.rate)

    async def all_of_them() -> None:
        end = time.monotonic() + arguments.seconds
        count = arguments.connections
        await asyncio.gather(
            *(player.until(end, number, count, abandon=arguments.abandon) for number in range(count))
        )

    begin, cpu = time.monotonic(), time.process_time()
    try:
        import uvloop

        uvloop.run(all_of_them())
    except ImportError:
        asyncio.run(all_of_them())
    seconds = time.monotonic() - begin
    requests = sum(map(len, player.times.values()))
    return {
        "seconds": seconds,
        "requests": requests,
        "steps": len(player.times["step"]),
        "steps_per_s": len(player.times["step"]) / seconds,
        "requests_per_s": requests / seconds,
        "mean_bytes": player.bytes / max(1, requests),
        "player_cpu_share": (time.process_time() - cpu) / seconds,
        "errors": dict(player.errors),
        "ms": {
            name: {
                "p50": round(1e3 * quantile(times, 0.5), 2),
                "p99": round(1e3 * quantile(times, 0.99), 2),
                "max": round(1e3 * max(times), 1),
            }
            for name, times in player.times.items()
        },
    }


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
