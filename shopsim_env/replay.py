"""Plays trace records again and says where the first difference is.

Belongs here: the comparison of one record of the Shop, and of a file of any records. The format is in
`trace`; records of RLVE are compared in `shopsim_env.rlve.trace`, those inside of the episodes of a run are
found by `shopsim_env.runs.records`.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopsim_env.canonical import compact_json
from shopsim_env.dialogue.wording import ModelWording
from shopsim_env.errors import EpisodeError, ShopSimError, TraceError, UsageError
from shopsim_env.recording import IdentifiedRelease, TracedEnv
from shopsim_env.runs.records import first_gap, is_completed, record_of, rlve_gap, rlve_line
from shopsim_env.runs.rows import EPISODE_SCHEMA, RLVE_EPISODE_SCHEMA
from shopsim_env.trace import RLVE_TRACE_SCHEMA, TraceReader, TraceRecord, decode_action, read_record
from shopsim_env.versions import component_versions

_RESULT = ("ended_by", "termination_reason", "reward", "reward_detail", "wordings")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of one episode.

    `episode` is the line number from 1; `step` is 0 for the reset and k for the k-th action, None for what
    belongs to the whole episode; `field` is the field of the record, or "line" for its bytes.
    """

    episode: int
    step: int | None
    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        place = f"episode {self.episode}" + ("" if self.step is None else f", step {self.step}")
        return f"{place}: {self.field}: recorded {self.expected}, played {self.found}"


@dataclass(frozen=True, slots=True)
class Verification:
    """Result for a file; `torn` counts the bytes of an unfinished last line, which was not compared.

    `left_out` counts failed episodes of a run, which have no result to compare.
    """

    episodes: int
    steps: int
    differences: tuple[Difference, ...]
    torn: int
    left_out: int = 0

    @property
    def ok(self) -> bool:
        """Whether there was something to compare and everything was equal."""
        return self.episodes > 0 and not self.differences


def verify_file(path: str | Path, release: IdentifiedRelease) -> Verification:
    """Plays every record of a file again on `release`: of the Shop, of RLVE, of a run, or of all of them.

    Raises:
        TraceError: the file is missing, or a whole line of it is no record; names the line.
        UsageError: a record of RLVE where pydantic is missing (code `missing_extra`), or on a release that
            has no RLVE.
    """
    reader = TraceReader(path)
    lines = steps = left_out = 0
    differences = []
    with ExitStack() as opened:
        kinds = _Kinds(release, opened)
        for number, line in reader:
            lines += 1
            compared = kinds.of(line)(line, number, f"{path}, line {number}")
            if compared is None:
                left_out += 1
                continue
            steps += compared[0]
            if compared[1] is not None:
                differences.append(compared[1])
    return Verification(lines - left_out, steps, tuple(differences), reader.torn, left_out)


_Compared = tuple[int, "Difference | None"]
_Compare = Callable[[bytes, int, str], "_Compared | None"]


class _Kinds:
    """What compares a line of each schema; None for a line without a result."""

    def __init__(self, release: IdentifiedRelease, opened: ExitStack) -> None:
        self._release = release
        self._opened = opened
        self._rlve: _Compare | None = None

    def of(self, line: bytes) -> _Compare:
        """The comparison for a line."""
        schema = _schema(line)
        if schema == EPISODE_SCHEMA:
            return self._episode
        if schema not in (RLVE_TRACE_SCHEMA, RLVE_EPISODE_SCHEMA):
            return self._record
        self._rlve = self._rlve or _rlve(self._release, self._opened)
        return self._rlve if schema == RLVE_TRACE_SCHEMA else self._rlve_episode

    def _record(self, line: bytes, number: int, where: str) -> _Compared:
        return len(read_record(line, where).actions), verify_line(line, number, self._release)

    def _rlve_episode(self, line: bytes, number: int, where: str) -> _Compared | None:
        values = json.loads(line)
        if self._rlve is None or not is_completed(values):
            return None
        found = self._rlve(rlve_line(values, where), number, where)
        if found is None or found[1] is not None:
            return found
        gap = rlve_gap(values)
        return found if gap is None else (found[0], Difference(number, None, gap, "another", "the trace's"))

    def _episode(self, line: bytes, number: int, where: str) -> _Compared | None:
        values = json.loads(line)
        if not is_completed(values):
            return None
        record = record_of(values, where)
        found = verify_line(record.line(), number, self._release)
        gap = first_gap(values)
        if found is None and gap is not None:
            found = Difference(number, gap, "observation", "another page", "that of the step before")
        return len(record.actions), found


def _schema(line: bytes) -> Any:
    """The schema that a line names; None where it is no record, which its reader refuses."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values.get("schema") if isinstance(values, dict) else None


def _rlve(release: Any, opened: ExitStack) -> _Compare:
    """What compares records of RLVE; its market is closed with `opened`."""
    if importlib.util.find_spec("pydantic") is None:
        raise UsageError(
            "episodes of RLVE need pydantic, found none; install 'shopsim[rlve]'", code="missing_extra"
        )
    from shopsim_env.rlve.market import Market
    from shopsim_env.rlve.trace import compare_record, read_rlve_record

    market = opened.enter_context(Market.of(release))

    def compare(line: bytes, number: int, where: str) -> tuple[int, Difference | None]:
        return len(read_rlve_record(line, where).actions), compare_record(line, number, market)

    return compare


def verify_line(line: bytes, number: int, release: IdentifiedRelease) -> Difference | None:
    """Plays one line again; None when every byte is the same.

    Raises:
        TraceError: the line is no record.
    """
    record = read_record(line, f"line {number}")
    for field, step, expected, found in _differences(record, release):
        return Difference(number, step, field, expected, found)
    again = record.line()
    if again != line:
        return Difference(number, None, "line", "other bytes for the same values", "the canonical line")
    return None


_Found = tuple[str, int | None, str, str]


def _differences(record: TraceRecord, release: IdentifiedRelease) -> Iterator[_Found]:
    """Differences in the order of play: what the trace was made with, reset, steps, result."""
    if record.release != release.id:
        yield "release", None, record.release, release.id
        return
    versions = component_versions()
    if record.versions != versions:
        yield "versions", None, *_unequal(record.versions, versions)
    try:
        played = replay(record, release)
    except (ShopSimError, TypeError, KeyError) as error:
        step = getattr(error, "step", None)
        yield "actions" if step is not None else "environment", step, "a playable episode", repr(error)
        return
    yield from _compare(record, played)


def _compare(record: TraceRecord, played: TraceRecord) -> Iterator[_Found]:
    for name in ("environment", "instruction", "persona"):
        expected, found = getattr(record, name), getattr(played, name)
        if expected != found:
            yield name, 0, _shown(expected), _shown(found)
    for step in range(max(len(record.states), len(played.states))):
        for name in ("observations", "states"):
            expected, found = _at(getattr(record, name), step), _at(getattr(played, name), step)
            if expected != found:
                yield name, step, expected, found
    for name in _RESULT:
        expected, found = getattr(record, name), getattr(played, name)
        if compact_json(expected) != compact_json(found):
            yield name, len(record.actions), _shown(expected), _shown(found)


def replay(record: TraceRecord, release: IdentifiedRelease) -> TraceRecord:
    """Plays the actions of a record again and returns the record of that.

    Raises:
        TraceError: an action after the end of the episode; the attribute `step` says which.
        ShopSimError: the release lacks the task, or an option of the environment is unknown.
    """
    wording = ModelWording(records=record.wordings) if record.wordings else None
    env = TracedEnv(release, shopper_wording=wording, **record.environment)
    env.reset(record.task_id, seed=record.seed)
    for number, action in enumerate(record.actions, start=1):
        _play(env, number, action)
    if record.ended_by == "caller" and record.termination_reason is not None and not env.finished:
        env.terminate(record.termination_reason)
    env.close()
    return env.finished[0]


def _play(env: TracedEnv, number: int, action: Any) -> None:
    try:
        env.step(decode_action(action))
    except (EpisodeError, TraceError) as error:
        raise _UnplayableError(f"action {number} cannot be played: {error}", number) from error


class _UnplayableError(TraceError):
    """An action that the replay cannot play, and its number."""

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


def _at(hashes: list[str], step: int) -> str:
    return hashes[step] if step < len(hashes) else "nothing"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _unequal(expected: dict[str, str], found: dict[str, str]) -> tuple[str, str]:
    names = sorted(name for name in {**expected, **found} if expected.get(name) != found.get(name))
    return (
        compact_json({name: expected.get(name) for name in names}),
        compact_json({name: found.get(name) for name in names}),
    )
