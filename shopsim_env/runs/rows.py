"""One line of a trace file as one row of the index: what lists, figures and comparisons need.

Belongs here: reading a line, and the four schemas (`shopsim-trace-v1`, `shopsim-episode-v1`,
`shopsim-rlve-trace-v1`, `shopsim-rlve-episode-v1`). Lines come from anybody: a value of
another type than the format says is left out, never trusted.
"""

import json
import math
import sys
from typing import Any, Final, NamedTuple, NoReturn

from shopsim_env.errors import RunError
from shopsim_env.trace import RLVE_TRACE_SCHEMA, TRACE_SCHEMA

EPISODE_SCHEMA: Final = "shopsim-episode-v1"
RLVE_EPISODE_SCHEMA: Final = "shopsim-rlve-episode-v1"
"""An RLVE episode of a run: conversation, model, and its `shopsim-rlve-trace-v1` under `trace`."""
COMPLETED: Final = "completed"
FAILED: Final = "failed"
UNFINISHED: Final = "unfinished"
STATUSES: Final = (COMPLETED, FAILED, UNFINISHED)
COMPONENTS: Final = ("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price")
TOKENS: Final = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens")
_MOST_DIGITS: Final = 2**53
_TEXT: Final = 300


class Row(NamedTuple):
    """One episode. `offset` and `length` find its line; None is what the line does not say.

    `components` are in the order of `COMPONENTS`, `tokens` in that of `TOKENS`; they are None for an episode
    without a result or without a model. `duration_ms` is wall time. An RLVE episode has its seed as
    `task_id`, and in `world` what else names it; `world` is empty for the Shop.
    """

    offset: int
    length: int
    episode_id: str
    task_id: int
    sample_id: int | None
    seed: int | None
    status: str
    reason: str
    reward: float | None
    steps: int
    invalid: int | None
    protocol_errors: int
    duration_ms: float | None
    components: tuple[float | None, ...] | None
    tokens: tuple[int, ...] | None
    error: str
    instruction: str
    release: str
    world: str = ""

    @property
    def task(self) -> str:
        """What was played, in words."""
        return f"{self.world} · {self.task_id}" if self.world else str(self.task_id)


def load_line(line: bytes) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        RunError: no UTF-8, no JSON object, nested beyond reading, or numbers that are not finite.
    """
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"expected one JSON object a line, found none ({type(error).__name__})") from error
    if not isinstance(value, dict):
        raise RunError(f"expected one JSON object a line, found {type(value).__name__}")
    return value


def row_of(record: dict[str, Any], line_number: int, offset: int, length: int) -> Row:
    """The row of a record.

    Raises:
        RunError: another schema, or no task id.
    """
    schema = record.get("schema")
    if schema == TRACE_SCHEMA:
        return _of_trace(record, line_number, offset, length)
    if schema == EPISODE_SCHEMA:
        return _of_episode(record, line_number, offset, length)
    if schema == RLVE_TRACE_SCHEMA:
        return _of_rlve(record, line_number, offset, length)
    if schema == RLVE_EPISODE_SCHEMA:
        return _of_rlve_episode(record, line_number, offset, length)
    raise RunError(
        f"expected schema {TRACE_SCHEMA!r}, {EPISODE_SCHEMA!r}, {RLVE_TRACE_SCHEMA!r} or "
        f"{RLVE_EPISODE_SCHEMA!r}"
    )


def table(value: Any) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """`value` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """`value` when it is text, else nothing."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """`value` when it is a number, else None."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def integer(value: Any) -> int | None:
    """`value` when it is an integer that a browser holds exactly, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST_DIGITS:
        return value
    return None


def _of_trace(record: dict[str, Any], line_number: int, offset: int, length: int) -> Row:
    detail = table(record.get("reward_detail"))
    ended = record.get("ended_by") is not None
    return Row(
        offset=offset,
        length=length,
        episode_id=f"line-{line_number:06d}",
        task_id=_task(record.get("task_id")),
        sample_id=None,
        seed=integer(record.get("seed")),
        status=COMPLETED if ended else UNFINISHED,
        reason=_kept(record.get("termination_reason")),
        reward=number(record.get("reward")),
        steps=len(items(record.get("actions"))),
        invalid=None,
        protocol_errors=0,
        duration_ms=None,
        components=_components(detail),
        tokens=None,
        error="",
        instruction="",
        release=_kept(record.get("release")),
    )


def _of_episode(record: dict[str, Any], line_number: int, offset: int, length: int) -> Row:
    job, final, error = (table(record.get(name)) for name in ("job", "final", "error"))
    steps = [table(step) for step in items(record.get("steps"))]
    models = [table(step.get("model")) for step in steps]
    done = record.get("status") == COMPLETED and final.get("done") is True
    return Row(
        offset=offset,
        length=length,
        episode_id=text(record.get("episode_id"))[:_TEXT] or f"line-{line_number:06d}",
        task_id=_task(job.get("task_id")),
        sample_id=integer(job.get("sample_id")),
        seed=integer(job.get("seed")),
        status=COMPLETED if done else FAILED if record.get("status") == FAILED else UNFINISHED,
        reason=_kept(final.get("termination_reason")),
        reward=number(final.get("reward")) if done else None,
        steps=len(steps),
        invalid=sum(_refused(step) for step in steps),
        protocol_errors=sum(bool(model.get("protocol_error")) for model in models),
        duration_ms=number(record.get("duration_ms")),
        components=_components(table(final.get("reward_detail"))) if done else None,
        tokens=_tokens(models),
        error=_kept(error.get("type")),
        instruction=_kept(table(record.get("reset")).get("task_instruction")),
        release=_kept(table(record.get("provenance")).get("release")),
    )


def _of_rlve(record: dict[str, Any], line_number: int, offset: int, length: int) -> Row:
    key, reward = table(record.get("key")), table(record.get("reward"))
    reason = _kept(record.get("reason"))
    seed = _task(key.get("seed"))
    success = reward.get("success")
    alone = dict.fromkeys(COMPONENTS) | {"r_success": float(success) if isinstance(success, bool) else None}
    return Row(
        offset=offset,
        length=length,
        episode_id=f"line-{line_number:06d}",
        task_id=seed,
        sample_id=None,
        seed=seed,
        status=COMPLETED if reason else UNFINISHED,
        reason=reason,
        reward=number(reward.get("total")) if reason else None,
        steps=len(items(record.get("actions"))),
        invalid=None,
        protocol_errors=0,
        duration_ms=None,
        components=tuple(alone.values()) if reason else None,
        tokens=None,
        error="",
        instruction="",
        release=_kept(record.get("release")),
        world=_world(key),
    )


def _of_rlve_episode(record: dict[str, Any], line_number: int, offset: int, length: int) -> Row:
    job, trace = table(record.get("job")), table(record.get("trace"))
    failed = record.get("status") == FAILED
    models = [table(table(step).get("model")) for step in items(record.get("steps"))]
    # A failed episode has no trace; its job names the same key.
    row = _of_rlve({"key": job} if failed or not trace else trace, line_number, offset, length)
    return row._replace(
        episode_id=text(record.get("episode_id"))[:_TEXT] or row.episode_id,
        sample_id=integer(job.get("sample_id")),
        status=FAILED if failed else row.status,
        steps=len(models),
        protocol_errors=sum(bool(model.get("protocol_error")) for model in models),
        duration_ms=number(record.get("duration_ms")),
        tokens=_tokens(models),
        error=_kept(table(record.get("error")).get("type")),
        release=_kept(table(record.get("provenance")).get("release")),
    )


def _world(key: dict[str, Any]) -> str:
    """What names an RLVE episode besides its seed: `PD d4 zh`, and axes that were set."""
    difficulty = integer(key.get("difficulty"))
    names = (text(key.get("env_id")), f"d{difficulty}", text(key.get("language")))
    axes = " ".join(f"{name}={value}" for name, value in sorted(table(key.get("overrides")).items()))
    return _kept(f"{' '.join(names)} {axes}".strip()) or "RLVE"


def _task(value: Any) -> int:
    found = integer(value)
    if found is None:
        raise RunError("expected an integer task_id or seed")
    return found


def _kept(value: Any) -> str:
    """Text of a row; equal texts of many rows share one string."""
    return sys.intern(text(value)[:_TEXT])


def _components(detail: dict[str, Any]) -> tuple[float | None, ...] | None:
    return tuple(number(detail.get(name)) for name in COMPONENTS) if detail else None


def _refused(step: dict[str, Any]) -> bool:
    return table(table(step.get("environment")).get("action_feedback")).get("valid") is False


def _tokens(models: list[dict[str, Any]]) -> tuple[int, ...] | None:
    usages = [usage for usage in (table(model.get("usage")) for model in models) if usage]
    if not usages:
        return None
    return tuple(sum(integer(usage.get(name)) or 0 for usage in usages) for name in TOKENS)


def _constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=_constant, parse_float=_finite)
