"""A run as figures need it: one result per planned episode, and what was played.

Belongs here: reading run folders and trace files of the Shop (docs/runs.md) and of RLVE. Lines come from
anybody: texts are bounded and cleaned, a value of another type is left out. An episode without a result keeps
its place and has no values, so it is counted and never becomes a zero.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from shopsim_env.canonical import compact_json
from shopsim_env.errors import RunError, UsageError
from shopsim_env.evaluation.settings import UNKNOWN, Settings, agreed, cleaned, settings_of, short
from shopsim_env.runs.folder import TRACES
from shopsim_env.runs.rows import (
    COMPLETED,
    COMPONENTS,
    EPISODE_SCHEMA,
    FAILED,
    RLVE_EPISODE_SCHEMA,
    Row,
    integer,
    items,
    load_line,
    number,
    row_of,
    table,
    text,
)
from shopsim_env.runs.select import sample_ids
from shopsim_env.trace import RLVE_TRACE_SCHEMA, TraceReader

SHOP, RLVE = "shop", "rlve"
SCORED, INVALID, UNFINISHED, MISSING = "scored", "invalid", "unfinished", "missing"
STATES: Final = (SCORED, FAILED, INVALID, UNFINISHED, MISSING)
SUCCESS: Final = {SHOP: "r_success", RLVE: "success"}
PURCHASE: Final = "purchase"
# Metrics are shares, but total and parts of RLVE go down to -1.
LOWEST: Final = {"total": -1.0, "task_score": -1.0, "hallucination": -1.0}
# Metrics of RLVE, and the parts of its reward that they are.
_RLVE_PARTS: Final = {"total": "total", "task_score": "task", "hallucination": "hallucination"}

Group = tuple[str, ...]


class Result(NamedTuple):
    """One planned or recorded episode.

    `task` names what was played: a task id, or the key of an RLVE episode; episodes of one task are samples
    of it. `group` is what is reported apart: task mode and interaction mode, or environment and difficulty.
    `values` are the metrics of a scored episode and empty for every other `state`.
    """

    task: str
    sample: int
    group: Group
    state: str
    values: Mapping[str, float]
    seed: int | None = None
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a trace file held besides the results that count.

    `unreadable` lines are no episodes, `replaced` episodes were played again, `unplanned` ones are not among
    the jobs of the plan, `torn_bytes` belong to a last line that a stopped writer left.
    """

    lines: int = 0
    unreadable: int = 0
    replaced: int = 0
    unplanned: int = 0
    torn_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RunResults:
    """A run that was read. `rows` are its scored episodes, as the replay page lists them; traces of RLVE
    without a model have none.
    """

    kind: str
    settings: Settings
    results: tuple[Result, ...]
    reading: Reading
    splits: tuple[str, ...] = ()
    planned: bool = False
    fingerprint: str | None = None
    created_at: str | None = None
    rows: tuple[Row, ...] = field(default=())


class _Episode(NamedTuple):
    """One line: its result, the sample id that it names, settings, row, of the Shop the split, and kind."""

    result: Result
    sample: int | None
    settings: Settings
    row: Row | None
    split: str
    kind: str = SHOP


def read_run(path: str | Path) -> RunResults:
    """Reads a run folder, or a file of traces.

    Raises:
        UsageError: neither is there (code `run_missing`), it has no episode and no plan (`empty_run`), or
            episodes of it were played under different rules (`mixed_run`).
        RunError: the manifest is no JSON object, or a file cannot be read.
    """
    try:
        return _read(Path(path))
    except OSError as error:
        raise RunError(f"{path}: expected a run that can be read, found {error.strerror}") from error


def _read(place: Path) -> RunResults:
    file = place / TRACES if place.is_dir() else place
    manifest = _manifest(place / "manifest.json") if place.is_dir() else {}
    if not file.is_file() and not manifest:
        raise UsageError(
            f"{place}: expected a run folder with {TRACES} or a file of traces, found neither",
            code="run_missing",
        )
    episodes, reading = _episodes(file)
    plan = table(manifest.get("plan"))
    if not episodes and not items(plan.get("jobs")):
        raise UsageError(
            f"{place}: expected episodes or planned jobs, found none in {reading.lines} lines",
            code="empty_run",
        )
    return _run(manifest, plan, episodes, reading)


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return load_line(path.read_bytes())
    except RunError as error:
        raise RunError(f"{path}: {error}") from error


def _episodes(file: Path) -> tuple[list[_Episode], Reading]:
    """The last line of each episode id; lines of RLVE have no id, each is an episode."""
    found: dict[str, _Episode] = {}
    lines = unreadable = 0
    reader = TraceReader(file)
    if not file.is_file():
        return [], Reading()  # a run that has only been planned
    for _, line in reader:
        if not line.strip():
            continue
        lines += 1
        try:
            episode_id, episode = _episode(load_line(line), lines, len(line))
        except RunError:
            unreadable += 1
            continue
        found[episode_id] = episode
    episodes = _numbered(found.values())
    return episodes, Reading(lines, unreadable, lines - unreadable - len(episodes), 0, reader.torn)


def _episode(record: dict[str, Any], line_number: int, length: int) -> tuple[str, _Episode]:
    if record.get("schema") == RLVE_TRACE_SCHEMA:
        return f"line-{line_number:06d}", _of_rlve(record)
    row = row_of(record, line_number, 0, length)
    if record.get("schema") == RLVE_EPISODE_SCHEMA:
        return row.episode_id, _of_rlve_episode(record, row)
    noted = record.get("schema") == EPISODE_SCHEMA
    about = table(record.get("provenance")) if noted else record
    environment = (table(record.get("reset")) if noted else record).get("environment")
    settings = settings_of({**about, "environment": environment})
    split = _short(text(table(record.get("job")).get("split")))
    return row.episode_id, _Episode(_of_shop(row, record, settings), row.sample_id, settings, row, split)


def _of_shop(row: Row, record: dict[str, Any], settings: Settings) -> Result:
    values = _values(row)
    state, error = row.status, row.error
    if state == COMPLETED:
        last = table(table((items(record.get("steps")) or [None])[-1]).get("environment"))
        state, error = _judged(values, last, "r_success")
    return Result(
        task=str(row.task_id),
        sample=row.sample_id or 0,
        group=settings.scenario,
        state=state,
        values=values if state == SCORED else {},
        seed=row.seed,
        reason=_short(row.reason),
        error=_short(error),
    )


def _judged(values: Mapping[str, float], last: Mapping[str, Any], success: str) -> tuple[str, str]:
    """State and error of an episode that ended: a failure of the environment is no result."""
    if last.get("valid") is False:
        return INVALID, text(last.get("failure_kind")) or "invalid_step"
    if success not in values:
        return INVALID, "no_result"
    inside = all(LOWEST.get(name, 0.0) <= value <= 1 for name, value in values.items())
    return (SCORED, "") if inside else (INVALID, "out_of_range")


def _values(row: Row) -> dict[str, float]:
    if row.components is None:
        return {}
    known = zip(COMPONENTS, row.components, strict=True)
    values = {name: value for name, value in known if value is not None}
    return {**values, "finish": float(row.reason == PURCHASE)}


def _of_rlve(record: dict[str, Any]) -> _Episode:
    """Raises RunError for a line without environment, difficulty and seed."""
    key, reward = table(record.get("key")), table(record.get("reward"))
    env_id, difficulty, seed = (
        text(key.get("env_id")),
        integer(key.get("difficulty")),
        integer(key.get("seed")),
    )
    if not env_id or difficulty is None or seed is None:
        raise RunError("expected a key with env_id, difficulty and seed")
    success = reward.get("success")
    found = {metric: number(reward.get(part)) for metric, part in _RLVE_PARTS.items()}
    values = {metric: value for metric, value in found.items() if value is not None}
    if isinstance(success, bool):
        values["success"] = float(success)
    ended = record.get("reason") is not None
    state, error = _judged(values, {}, "success") if ended else (UNFINISHED, "")
    result = Result(
        task=sys.intern(cleaned(compact_json(key))),
        sample=0,
        group=(_short(env_id), str(difficulty)),
        state=state,
        values=values if state == SCORED else {},
        seed=seed,
        reason=_short(text(record.get("reason"))),
        error=error,
    )
    about = {
        "release": record.get("release"),
        "versions": {"rlve_suite": record.get("suite")},
        "environment": {"language": key.get("language"), "strict": record.get("strict")},
    }
    return _Episode(result, None, settings_of(about), None, "", RLVE)


def _of_rlve_episode(record: dict[str, Any], row: Row) -> _Episode:
    """An RLVE episode of a run; a failed one has no trace, and its job names what was to be played."""
    job, about = table(record.get("job")), table(record.get("provenance"))
    trace = table(record.get("trace"))
    found = _of_rlve(trace if row.status != FAILED and trace else {"key": _rlve_key(job)})
    played = found.settings
    settings = settings_of(
        {
            **about,
            "versions": {**table(about.get("versions")), **(played.versions if trace else {})},
            "environment": played.environment if trace else {"language": job.get("language"), "strict": True},
        }
    )
    result = found.result._replace(sample=row.sample_id or 0)
    if row.status == FAILED:
        result = result._replace(state=FAILED, values={}, error=_short(row.error))
    return found._replace(result=result, sample=row.sample_id, settings=settings, row=row)


def _rlve_key(job: dict[str, Any]) -> dict[str, Any]:
    """The key of the episode of a job, as a trace has it."""
    return {**{name: job.get(name) for name in ("env_id", "difficulty", "seed", "language")}, "overrides": {}}


def _numbered(episodes: Iterable[_Episode]) -> list[_Episode]:
    """Episodes without a sample id get those of their task that are free, in the order of the file.

    Of two with the same one the last counts, whatever their episode ids.
    """
    listed = list(episodes)
    samples = sample_ids(((one.result.task, one.result.group), one.sample) for one in listed)
    numbered = [
        one._replace(result=one.result._replace(sample=sample))
        for one, sample in zip(listed, samples, strict=True)
    ]
    return list({(one.result.task, one.result.group, one.result.sample): one for one in numbered}.values())


def _run(
    manifest: dict[str, Any], plan: dict[str, Any], episodes: list[_Episode], reading: Reading
) -> RunResults:
    kinds = {one.kind for one in episodes} or {_planned_kind(plan)}
    if len(kinds) > 1:
        raise UsageError(
            "expected episodes of the Shop or of RLVE, found both in one file; evaluate them apart",
            code="mixed_run",
        )
    planned = settings_of(plan) if plan else None
    known = [
        one.settings for one in episodes if one.result.state == SCORED or UNKNOWN not in one.result.group
    ]
    settings = agreed(planned, known)
    default = settings.scenario
    jobs = _jobs(plan, default)
    fitting = _placed(episodes, {one.result.group for one in episodes if one.result.state == SCORED}, default)
    taken = [one for one in fitting if not jobs or (one.result.task, one.result.sample) in jobs]
    have = {(one.result.task, one.result.sample) for one in taken}
    missing = [result for key, (result, _) in jobs.items() if key not in have]
    results = sorted([one.result for one in taken] + missing, key=_order)
    splits = {split for _, split in jobs.values()} | {one.split for one in taken}
    return RunResults(
        kind=kinds.pop(),
        settings=settings,
        results=tuple(results),
        reading=Reading(
            reading.lines,
            reading.unreadable,
            reading.replaced,
            len(fitting) - len(taken),
            reading.torn_bytes,
        ),
        splits=tuple(sorted(splits - {""})),
        planned=bool(jobs),
        fingerprint=_short(text(manifest.get("plan_fingerprint"))) or None,
        created_at=_short(text(manifest.get("created_at"))) or None,
        rows=tuple(one.row for one in taken if one.row is not None and one.result.state == SCORED),
    )


def _planned_kind(plan: dict[str, Any]) -> str:
    return RLVE if any("env_id" in table(job) for job in items(plan.get("jobs"))[:1]) else SHOP


def _jobs(plan: dict[str, Any], group: Group) -> dict[tuple[str, int], tuple[Result, str]]:
    """Planned episodes by task and sample, as results that are missing, each with its split."""
    found = {}
    for job in map(table, items(plan.get("jobs"))):
        if "env_id" in job:
            one = _of_rlve({"key": _rlve_key(job)}).result
            one = one._replace(state=MISSING, sample=integer(job.get("sample_id")) or 0)
            found[one.task, one.sample] = (one, "")
            continue
        task_id = integer(job.get("task_id"))
        if task_id is None:
            raise RunError("manifest.json: expected an integer task_id in every job of the plan, found none")
        sample = integer(job.get("sample_id")) or 0
        result = Result(str(task_id), sample, group, MISSING, {}, integer(job.get("seed")))
        found[result.task, sample] = (result, _short(text(job.get("split"))))
    return found


def _placed(episodes: list[_Episode], groups: set[Group], default: Group) -> list[_Episode]:
    """An episode that broke early may not say its scenario: it is the only one there is, or the plan's."""
    only = next(iter(groups)) if len(groups) == 1 else default
    return [
        one._replace(result=one.result._replace(group=only))
        if one.result.state != SCORED and UNKNOWN in one.result.group
        else one
        for one in episodes
    ]


def _order(result: Result) -> tuple[Any, ...]:
    """Groups by name, difficulties and task ids by number."""
    group = tuple((int(part), "") if part.isdecimal() else (-1, part) for part in result.group)
    task = (int(result.task), "") if result.task.isdecimal() else (-1, result.task)
    return (group, task, result.sample)


def _short(value: str) -> str:
    return sys.intern(short(value))
