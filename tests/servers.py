"""Servers for tests: a process of its own on a real socket, or the command in this process for coverage."""

import gc
import http.client
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from places import ROOT

from shopsim_env.cli import main

ADMIN = "admin-token-of-the-tests"
Answer = tuple[int, Any, dict[str, str]]


def call(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
    raw: bytes | None = None,
) -> Answer:
    """One request: status, JSON (or bytes), headers in lower case."""
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        kind = {} if data is None else {"Content-Type": "application/json"}
        wire.request(method, path, data, {**kind, **(headers or {})})
        answer = wire.getresponse()
        content = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
    finally:
        wire.close()
    is_json = "json" in found.get("content-type", "")
    return answer.status, json.loads(content) if is_json and content else content, found


def documented(page: str, play: Callable[..., Answer]) -> list[Answer]:
    """Answers to the `curl` lines of a page in `docs`, in order; `LEASE` and fence are the first start's."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lease, fence, answers = "LEASE", "1", []
    for raw in (line for line in text.splitlines() if line.startswith("curl ")):
        line = raw
        for name, value in (
            ("$SHOPSIM_ADMIN_TOKEN", ADMIN),
            ("LEASE", lease),
            ('"fence": 1', f'"fence": {fence}'),
            ("fence=1", f"fence={fence}"),
        ):
            line = line.replace(name, value)
        answers.append(_sent(line, play))
        found = answers[-1][1]
        if lease == "LEASE" and "lease_id" in found:
            lease, fence = found["lease_id"], str(found["fence"])
    return answers


def _sent(line: str, play: Callable[..., Answer]) -> Answer:
    """The answer to one line."""
    _, *options, url = shlex.split(line)
    sent = dict(zip(options[::2], options[1::2], strict=True))
    header, _, value = sent.get("--header", "").partition(": ")
    data = sent["--data"].encode() if "--data" in sent else None
    method = sent.get("--request", "GET" if data is None else "POST")
    path = url.removeprefix("http://127.0.0.1:5700")
    return play(method, path, raw=data, headers={header: value} if header else {})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class ServerProcess:
    """`shopsim serve`, or another command that serves, as a process. `kill` is kill -9.

    A thread reads its standard error, so that no pipe fills up; `log` has all of it after the end.
    """

    def __init__(
        self,
        release: Path,
        *options: str,
        port: int = 0,
        command: tuple[str, ...] = ("serve",),
        start_s: float = 60.0,
        **environment: str,
    ) -> None:
        code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
        words = [sys.executable, "-c", code, *command, "--port", str(port), "--json"]
        self.process = subprocess.Popen(
            [*words, "--release", str(release), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "SHOPSIM_ADMIN_TOKEN": ADMIN, **environment},
        )
        self.log = b""
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        try:
            self.facts = self._first_document(start_s)
        except BaseException:
            self.kill()
            raise
        self.port = int(self.facts["url"].rpartition(":")[2])

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            while piece := stream.read1(65_536):
                self.log += piece

    def _first_document(self, start_s: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        text, end = b"", time.monotonic() + start_s
        while not text.rstrip().endswith(b"\n}"):
            assert time.monotonic() < end
            if not select.select([self.process.stdout], [], [], 1)[0]:
                continue
            piece = os.read(self.process.stdout.fileno(), 4096)
            assert piece, self._ended()
            text += piece
        return json.loads(text)

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return call(self.port, method, path, body, **more)

    def kill(self) -> None:
        self.process.kill()
        self._finish()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._finish()

    def _finish(self) -> int:
        code = self.process.wait(timeout=60)
        self._reader.join(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def _ended(self) -> tuple[int, bytes]:
        """Exit code and log of a process that ended by itself."""
        return self._finish(), self.log

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve_here(play: Callable[[int], None], *options: str) -> int:
    """Runs the command in this process; `play` gets the port in a thread, then the server is stopped."""
    port, problems = free_port(), []

    def player() -> None:
        try:
            wait_for(port)
            play(port)
        except BaseException as error:
            problems.append(error)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=player)
    thresholds = gc.get_threshold()
    # An early SIGTERM must not end the tests.
    former = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        thread.start()
        code = main(["serve", "--port", str(port), *options])
        thread.join(30)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        signal.signal(signal.SIGTERM, former)
    if problems:
        raise problems[0]
    return code


def wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            call(port, "GET", "/healthz")
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("the server does not answer")
