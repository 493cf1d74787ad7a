"""Logs as lines of JSON on standard error. What is logged are counts, codes, ids of tasks, slots.

Belongs here: the form, and whose log it is. Never logged: texts of tasks, actions, lease ids, tokens, bodies.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Final

from shopsim_env.server.log_writer import LogWriter

_OURS: Final = "shopsim_env.server"


class JsonLines(logging.Formatter):
    """One line a record: time, level, event, and the facts that came with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts: dict[str, Any] = getattr(record, "facts", {})
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **facts,
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=True)


@contextmanager
def logging_to_stderr(level: str) -> Iterator[LogWriter]:
    """Sends the server's log and uvicorn's to standard error as lines of JSON, until the context is left.

    Asyncio's warnings go the same way, because what nobody takes is printed, and printing waits for a reader.
    """
    writer = LogWriter(_dropped)
    writer.setFormatter(JsonLines())
    loggers = [logging.getLogger(name) for name in (_OURS, "uvicorn", "asyncio")]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers[:] = [writer]
        logger.propagate = False
        logger.setLevel(level.upper() if logger.name == _OURS else logging.WARNING)
    try:
        yield writer
    finally:
        writer.close()
        for logger, (handlers, propagate, former) in zip(loggers, before, strict=True):
            logger.handlers[:], logger.propagate = handlers, propagate
            logger.setLevel(former)


def _dropped(lines: int) -> logging.LogRecord:
    facts = {"lines": lines}
    extra = {"name": _OURS, "levelname": "WARNING", "facts": facts}
    return logging.makeLogRecord({**extra, "levelno": logging.WARNING, "msg": "log lines dropped"})
