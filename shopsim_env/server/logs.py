"""Logs as lines of JSON on standard error. What is logged are counts, codes, ids of tasks, slots.

Belongs here: the form. Never logged: texts of tasks, actions, lease ids, tokens, bodies.
"""

import json
import logging
from datetime import datetime, timezone
from typing import Any


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


def start_logging(level: str) -> None:
    """Sends the server's log and uvicorn's to standard error as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("shopsim_env.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper() if name != "uvicorn" else logging.WARNING)
