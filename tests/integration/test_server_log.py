"""A server whose log nobody reads: it plays on, says what was dropped, and ends."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from places import ROOT
from servers import ADMIN, call

GROUP = 64
KEPT = 4096  # lines that wait, docs/server.md
BEARER = {"Authorization": f"Bearer {ADMIN}"}


class Unread:
    """`shopsim serve` with a standard error of one page that nobody reads."""

    def __init__(self) -> None:
        self.read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", code, "serve", "--port", "0", "--slots", str(GROUP)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=write,
            cwd=ROOT,
            env={**os.environ, "SHOPSIM_ADMIN_TOKEN": ADMIN},
        )
        os.close(write)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(b":")[2])

    def play(self, groups: int) -> None:
        for _ in range(groups):
            body = {"split": "project/train", "seed": 7, "n": GROUP}
            assert call(self.port, "POST", "/v1/groups", body)[0] == 200
            released = call(self.port, "DELETE", "/v1/episodes", headers=BEARER)
            assert released[:2] == (200, {"released": GROUP})

    def dropped(self) -> int:
        page = call(self.port, "GET", "/metrics")[1].decode()
        found = re.search(r"^shopsim_log_lines_dropped_total (\d+)\.0$", page, re.MULTILINE)
        assert found, page
        return int(found[1])

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        os.close(self.read)


@pytest.fixture
def unread() -> Iterator[Unread]:
    found = Unread()
    yield found
    found.close()


def test_a_server_does_not_stop_for_its_log(unread):
    unread.play(KEPT // GROUP + 4)
    assert unread.dropped() > 0
    assert unread.end(signal.SIGTERM) == 0


def test_a_log_that_is_read_again_says_what_it_lacks(unread):
    unread.play(KEPT // GROUP + 4)
    dropped = unread.dropped()
    log = b""
    while log.count(b"\n") < KEPT // 2:
        log += os.read(unread.read, 65_536)
    unread.play(1)
    unread.process.send_signal(signal.SIGTERM)
    while piece := os.read(unread.read, 65_536):
        log += piece
    assert unread.process.wait(timeout=30) == 0
    lines = [json.loads(line) for line in log.splitlines()]
    (told,) = (line for line in lines if line["event"] == "log lines dropped")
    assert told["lines"] == dropped
    fences = [line["fence"] for line in lines if line["event"] == "episode opened"]
    assert fences == sorted(fences)
    assert len(lines) - 1 + dropped == (KEPT // GROUP + 5) * (GROUP + 1)
