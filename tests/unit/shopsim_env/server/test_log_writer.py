"""The log's way to standard error, over real pipes: order, dropping, what is told, the end."""

import contextlib
import fcntl
import json
import logging
import os
import threading

import pytest

from shopsim_env.server.log_writer import LogWriter
from shopsim_env.server.logs import logging_to_stderr

PAGE = 4096


@pytest.fixture
def pipe():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PAGE)
    yield read, write
    for end in (read, write):
        with contextlib.suppress(OSError):  # a test closed it
            os.close(end)


def record(text: str) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": text, "levelno": logging.INFO})


def writer(descriptor: int, **options) -> LogWriter:
    return LogWriter(lambda lines: record(f"{lines} dropped"), descriptor, **options)


def rest(read: int) -> list[bytes]:
    return b"".join(iter(lambda: os.read(read, 65_536), b"")).splitlines()


def test_lines_keep_their_order_and_the_end_writes_all_of_them(pipe):
    read, write = pipe
    log = writer(write)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.extend(rest(read)))
    reader.start()
    for number in range(3_000):
        log.handle(record(f"line {number} 商品"))
    log.close()
    os.close(write)
    reader.join(30)
    assert found == [f"line {number} 商品".encode() for number in range(3_000)]
    assert log.dropped == 0


def test_a_full_pipe_drops_and_tells(pipe):
    read, write = pipe
    os.write(write, b"." * (PAGE - 1) + b"\n")
    log = writer(write, kept=4)
    sent = 0
    while log.dropped < 10:
        log.handle(record(f"line {sent}"))
        sent += 1
    dropped = log.dropped
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.extend(rest(read)))
    reader.start()
    log.close()
    os.close(write)
    reader.join(30)
    lines = [int(line.split()[1]) for line in found if line.startswith(b"line")]
    told = [int(line.split()[0]) for line in found if line.endswith(b"dropped")]
    assert lines == sorted(lines)
    assert lines[:4] == [0, 1, 2, 3]
    assert (sum(told), len(lines)) == (dropped, sent - dropped)


def test_the_end_does_not_wait_for_a_reader(pipe):
    read, write = pipe
    os.write(write, b"." * PAGE)
    log = writer(write, kept=4, close_s=0.05)
    while log.dropped == 0:
        log.handle(record("line"))
    before = log.dropped
    log.close()
    log.handle(record("after the end"))
    log.close()
    assert log.dropped == before + 1
    os.read(read, PAGE)  # lets the thread go on, whose descriptor is closed next


def test_a_reader_that_went_away_is_counted(pipe):
    read, write = pipe
    os.close(read)
    log = writer(write)
    for _ in range(3):
        log.handle(record("nobody"))
    log.close()
    assert log.dropped == 3


def test_a_record_without_a_line_is_counted(pipe):
    _, write = pipe
    log = writer(write)
    log.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
    assert log.dropped == 1
    log.close()


def test_the_loggers_are_as_before_afterwards():
    loggers = [logging.getLogger(name) for name in ("shopsim_env.server", "uvicorn", "asyncio")]
    before = [(item.handlers[:], item.propagate, item.level) for item in loggers]
    with logging_to_stderr("error") as log:
        assert all(item.handlers == [log] for item in loggers)
    assert [(item.handlers[:], item.propagate, item.level) for item in loggers] == before


def test_what_is_told_is_a_line_of_json(capfd):
    with logging_to_stderr("info") as log:
        log.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
        logging.getLogger("shopsim_env.server").info("next", extra={"facts": {"slot": 1}})
    told, following = map(json.loads, capfd.readouterr().err.splitlines())
    assert (told["level"], told["event"], told["lines"]) == ("warning", "log lines dropped", 1)
    assert (following["event"], following["slot"]) == ("next", 1)
