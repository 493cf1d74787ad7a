"""`shopsim-trace-v1`: one episode as one line of JSON, enough to play it again and to compare every byte.

Belongs here: the record, its line, and the files that hold lines. Does not belong here: playing (`recording`
writes records, `replay` checks them) and traces of models, which carry messages and usage as well. A record
holds hashes of what was shown and no text of a goal.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Protocol

from shopsim_env.canonical import compact_json
from shopsim_env.errors import TraceError
from shopsim_env.shop.actions import AskShopper, Click, Search

TRACE_SCHEMA: Final = "shopsim-trace-v1"
RLVE_TRACE_SCHEMA: Final = "shopsim-rlve-trace-v1"

_TYPED: Final = {
    "search": (Search, "query"),
    "click": (Click, "value"),
    "ask_shopper": (AskShopper, "message"),
}
_TYPED_KEY: Final = "typed_action"
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One episode.

    `environment` are the keywords of `ShopEnv`; `actions` are written as `encode_action` does. `instruction`
    and `persona` hash what the reset showed. `observations` and `states` hash text and canonical state: the
    reset first, then each action, then a forced end when `ended_by` is "caller". `ended_by` is "action",
    "caller" or None for an episode that was left; then reward and termination reason are None. `wordings` are
    the answers of the language model behind the shopper, if there was one: a replay asks no model.
    """

    release: str
    versions: dict[str, str]
    task_id: int
    seed: int | None
    environment: dict[str, Any]
    instruction: str
    persona: str
    actions: list[Any] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    ended_by: str | None = None
    termination_reason: str | None = None
    reward: float | None = None
    reward_detail: dict[str, Any] = field(default_factory=dict)
    wordings: list[dict[str, str]] = field(default_factory=list)
    schema: str = TRACE_SCHEMA

    def line(self) -> bytes:
        """The record as canonical JSON and a newline, in UTF-8."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        text = _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", compact_json(values))
        return text.encode("utf-8") + b"\n"


def encode_action(action: object) -> Any:
    """JSON form of an action as it was given: text and tool calls as they are, typed actions marked.

    Raises:
        TraceError: JSON cannot hold the value exactly (code `unrecordable_action`): a tuple, NaN, a key that
            is no text, any other object.
    """
    if type(action) is str:
        return action
    for name, (kind, argument) in _TYPED.items():
        if isinstance(action, kind):
            return {_TYPED_KEY: name, argument: _plain(getattr(action, argument))}
    if isinstance(action, Mapping) and _TYPED_KEY in action:
        raise _unrecordable(f"a mapping with the key {_TYPED_KEY!r}")
    return _plain(action)


def decode_action(value: Any) -> Any:
    """The action that `encode_action` wrote.

    Raises:
        TraceError: a typed action of an unknown kind or shape.
    """
    if not isinstance(value, dict) or _TYPED_KEY not in value:
        return value
    name = value[_TYPED_KEY]
    kind, argument = _TYPED.get(name, (None, ""))
    if kind is None or set(value) != {_TYPED_KEY, argument}:
        raise TraceError(f"typed action: expected one of {sorted(_TYPED)} with its argument, found {value!r}")
    return kind(value[argument])


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise _unrecordable(type(value).__name__)


def _unrecordable(found: str) -> TraceError:
    return TraceError(
        f"expected an action that JSON holds exactly (text, tool call, typed action), found {found}; "
        "the action was not played",
        code="unrecordable_action",
    )


def read_record(line: bytes, where: str = "line") -> TraceRecord:
    """The record of one line.

    Raises:
        TraceError: not JSON, another schema, missing or unknown fields, or a field of another type.
    """
    try:
        values = json.loads(line)
    except ValueError as error:
        raise TraceError(f"{where}: expected one JSON object, found {line[:80]!r} ({error})") from error
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema != TRACE_SCHEMA:
        raise TraceError(f"{where}: expected schema {TRACE_SCHEMA!r}, found {schema!r}")
    _check_fields(values, where)
    return TraceRecord(**values)


_SHAPES: Final[dict[str, tuple[type, ...]]] = {
    "release": (str,),
    "versions": (dict,),
    "task_id": (int,),
    "seed": (int, type(None)),
    "environment": (dict,),
    "instruction": (str,),
    "persona": (str,),
    "actions": (list,),
    "observations": (list,),
    "states": (list,),
    "ended_by": (str, type(None)),
    "termination_reason": (str, type(None)),
    "reward": (float, int, type(None)),
    "reward_detail": (dict,),
    "wordings": (list,),
    "schema": (str,),
}


def _check_fields(values: dict[str, Any], where: str) -> None:
    if set(values) != set(_SHAPES):
        odd = sorted(set(values) ^ set(_SHAPES))
        raise TraceError(f"{where}: missing or unknown fields {odd}; expected exactly {sorted(_SHAPES)}")
    wrong = sorted(name for name, kinds in _SHAPES.items() if not isinstance(values[name], kinds))
    if wrong:
        raise TraceError(f"{where}: fields of a wrong type: {wrong}")
    frames = 1 + len(values["actions"]) + (values["ended_by"] == "caller")
    if not len(values["observations"]) == len(values["states"]) == frames:
        raise TraceError(
            f"{where}: expected {frames} hashes of observations and states for {len(values['actions'])} "
            f"actions, found {len(values['observations'])} and {len(values['states'])}"
        )


class TraceReader:
    """Lines of a trace file, read one at a time.

    After the iteration `torn` is the number of bytes of an unfinished last line, which is not given out: a
    writer that was stopped leaves one. A last line that only lacks its newline is whole and is given out.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.torn = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """(line number from 1, line with its newline)."""
        if not self.path.is_file():
            raise TraceError(f"expected a trace file at {self.path}, found none", code="trace_missing")
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.endswith(b"\n"):
                    yield number, line
                elif _is_whole(line):
                    yield number, line + b"\n"
                else:
                    self.torn = len(line)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


class Line(Protocol):
    """A record that a trace file can hold."""

    def line(self) -> bytes:
        """Canonical JSON and a newline; an object that begins with the `opening` of its writer."""


class TraceWriter:
    """Appends records; each is on the disk (`fsync`) when `append` returns. One writer a file at a time.

    A last line that a stopped writer left unfinished is cut off at opening; `dropped` counts its bytes.

    Args:
        path: The file; it is made when missing.
        read: Reads a line of the kind that this file holds, `read_record` for the Shop.
        opening: First bytes of every such line, by which an unfinished only line is known.

    Raises:
        TraceError: the file holds something else than traces (code `not_a_trace`); it is left alone.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        read: Callable[[bytes], object] = read_record,
        opening: bytes = b'{"actions":',
    ) -> None:
        self.path = Path(path)
        self.dropped = _mend(self.path, read, opening)
        self._descriptor: int | None = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def append(self, record: Line) -> None:
        """Writes one record.

        Raises:
            TraceError: the writer is closed.
        """
        if self._descriptor is None:
            raise TraceError(f"{self.path}: append after close")
        rest = memoryview(record.line())
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Closes the file. Closing twice is fine."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _mend(path: Path, read: Callable[[bytes], object], opening: bytes) -> int:
    """Makes an existing file end with a whole line; returns the number of bytes that were cut off."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with path.open("rb") as stream:
        first = stream.readline()
        if first.endswith(b"\n") or _is_whole(first):
            _refuse_foreign(first, path, read)
        elif not first.startswith(opening[: len(first)]):
            raise TraceError(f"{path}: expected traces, found {first[:40]!r}", code="not_a_trace")
    return cut_torn_line(path)


def cut_torn_line(path: Path) -> int:
    """Makes a file of JSON lines end with a whole line; returns the number of bytes that were cut off."""
    with path.open("r+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        tail = _last_line(stream, end)
        if not tail or tail.endswith(b"\n"):
            return 0
        if _is_whole(tail):
            stream.write(b"\n")
            return 0
        stream.truncate(end - len(tail))
        return len(tail)


def _refuse_foreign(line: bytes, path: Path, read: Callable[[bytes], object]) -> None:
    try:
        read(line)
    except TraceError as error:
        raise TraceError(f"{path}: expected a file of traces; {error}", code="not_a_trace") from error


def _last_line(stream: Any, end: int) -> bytes:
    """Bytes from the start of the last line to the end; the position of `stream` is the end afterwards."""
    tail = b""
    position = end
    while position > 0 and b"\n" not in tail[:-1]:
        step = min(position, 1 << 16)
        position -= step
        stream.seek(position)
        tail = bytes(stream.read(step)) + tail
    stream.seek(end)
    return tail[tail.rfind(b"\n", 0, len(tail) - 1) + 1 :]
