"""Sensors: a raw archive that changed on disk starts a build, and a failed run leaves a line in a file.

Belongs here: what is watched and what is asked for. The build decides by itself what has to be done anew.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from pipelines.failure_text import problems_of
from pipelines.jobs import BUILD_RELEASE
from pipelines.resources.paths import CONFIGS
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.settings import configured_datasets
from shopsim_env.canonical import compact_json, pretty_json, sha256_file, sha256_text

FAILED_RUNS = "failed_runs.jsonl"


@dataclass(frozen=True)
class Seen:
    """What the cursor remembers of one data set: sizes and times of its files, and a hash of their content.

    `settled`: the content is that of files with this signature, else it is an earlier one ("" for none).
    """

    signature: str
    content: str
    settled: bool


@dg.sensor(
    job_name=BUILD_RELEASE,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Builds a configured data set when its raw archive or its recorded annotations have another "
    "content than at the last tick. A file is hashed only after its size or time has changed, and only when "
    "it then stayed the same for one tick, so a copy in progress is left alone.",
)
def raw_archive_changed(
    context: dg.SensorEvaluationContext, workspace: WorkspaceResource
) -> dg.SensorResult | dg.SkipReason:
    """One run request for each data set whose files have a new content."""
    cursor = {name: Seen(**seen) for name, seen in json.loads(context.cursor or "{}").items()}
    requests, notes = [], []
    for work, config in _watched(workspace):
        name = work.settings.name
        before, now = cursor.get(name), _look(work, cursor.get(name))
        cursor[name] = now
        if now.content and (before is None or now.content != before.content):
            requests.append(_request(name, config, now))
        notes.append(f"{name}: {_note(before, now)}")
    context.update_cursor(pretty_json({name: vars(seen) for name, seen in cursor.items()}))
    if requests:
        return dg.SensorResult(run_requests=requests)
    return dg.SkipReason("; ".join(notes) or "no configured data set has its archive on disk")


def _watched(workspace: WorkspaceResource) -> Iterator[tuple[Workspace, dict[str, Any]]]:
    """Configured data sets whose archive is there, each with the run config that builds it."""
    configs = Path(workspace.configs_root or CONFIGS)
    roots = {name: getattr(workspace, name) for name in ("configs_root", "artifacts_root", "releases_root")}
    for name in configured_datasets(configs):
        config = {"dataset": name, **{key: value for key, value in roots.items() if value is not None}}
        work = WorkspaceResource(**config).open()
        if work.files.archive.is_file():
            yield work, config


def _look(work: Workspace, before: Seen | None) -> Seen:
    """Hashes the files once they have rested for a tick; until then the content known so far stays."""
    files = [path for path in (work.files.archive, work.files.annotations) if path and path.is_file()]
    states = [(path, path.stat()) for path in files]
    signature = " ".join(f"{path.name}:{state.st_size}:{state.st_mtime_ns}" for path, state in states)
    if before is None or before.signature != signature:
        return Seen(signature, before.content if before else "", settled=False)
    if before.settled:
        return before
    content = sha256_text(compact_json([sha256_file(path) for path in files]))
    return Seen(signature, content, settled=True)


def _note(before: Seen | None, now: Seen) -> str:
    if now.settled:
        return f"unchanged, {now.content[:12]}"
    return "first seen, looking again" if before is None else "changing, looking again"


def _request(name: str, config: Mapping[str, Any], now: Seen) -> dg.RunRequest:
    """The time in the signature lets a content come back later; ticks of one change share the key."""
    return dg.RunRequest(
        run_key=f"{name} {now.content[:16]} {sha256_text(now.signature)[:8]}",
        run_config={"resources": {"workspace": {"config": dict(config)}}},
        tags={"data_set": name, "content": now.content[:12]},
    )


@dg.run_failure_sensor(
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=f"Appends one JSON line for each failed run to {FAILED_RUNS} beside the artifacts: "
    "when, which job and data set, and what went wrong. It sends nothing anywhere.",
)
def failed_run_log(context: dg.RunFailureSensorContext) -> None:
    """Writes the line and logs the same in words."""
    run = context.dagster_run
    run_config: Any = run.run_config
    config = run_config.get("resources", {}).get("workspace", {}).get("config", {})
    records = context.instance.all_logs(run.run_id)
    events = [record.dagster_event for record in records if record.dagster_event is not None]
    line = {
        "time": _ended(context.instance, run.run_id),
        "run_id": run.run_id,
        "job": run.job_name,
        "data_set": config.get("dataset", WorkspaceResource().dataset),
        "problems": list(problems_of(events)) or [f"{run.job_name} did not finish; see the run in the UI"],
    }
    path = WorkspaceResource(**config).artifacts() / FAILED_RUNS
    _append(path, line)
    context.log.error(f"run {run.run_id} of {run.job_name} failed: {'; '.join(line['problems'])}")


def _ended(instance: dg.DagsterInstance, run_id: str) -> str:
    record = instance.get_run_record_by_id(run_id)
    ended = record.end_time if record else None
    return datetime.fromtimestamp(ended, UTC).isoformat(timespec="seconds") if ended else ""


def _append(path: Path, line: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(f"{compact_json(line)}\n".encode())
        stream.flush()
        os.fsync(stream.fileno())
