"""Runs with outcomes written by hand, for tests of evaluation. The format is that of docs/runs.md."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from run_folders import failed, line, write_run

from shopsim_env.versions import component_versions

RELEASE = "a" * 64
NAMES = ("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price")
ENVIRONMENT = {"task_mode": "standard", "interaction_mode": "single_turn", "option_match": "anchored"}


def outcome(
    task_id: int,
    sample_id: int,
    strict: float,
    *,
    release: str = RELEASE,
    reason: str = "purchase",
    environment: Mapping[str, Any] = ENVIRONMENT,
    **more: Any,
) -> dict[str, Any]:
    """A completed episode with this strict reward, and half of what is missing to 1 as loose reward."""
    values = dict.fromkeys(NAMES, strict) | {"r_loose": (1 + strict) / 2, "r_success": float(strict == 1)}
    record = {
        "schema": "shopsim-episode-v1",
        "episode_id": f"task-{task_id:06d}__sample-{sample_id:03d}",
        "status": "completed",
        "job": {"task_id": task_id, "sample_id": sample_id, "seed": 10 * task_id + sample_id, "split": None},
        "provenance": {
            "release": release,
            "versions": component_versions(),
            "model": {"name": "m"},
            "prompt": {"name": "zh-v1"},
        },
        "duration_ms": 1_000,
        "reset": {"task_instruction": "想买杯子", "environment": dict(environment)},
        "steps": [{"environment": {"action_feedback": {"valid": True}, "valid": True}}],
        "final": {"done": True, "reward": strict, "termination_reason": reason, "reward_detail": values},
        "error": None,
    }
    return {**record, **more}


def broken(task_id: int, sample_id: int, kind: str = "timeout") -> dict[str, Any]:
    """An episode that failed before its end."""
    return failed(RELEASE, task_id, sample_id, kind)


def plan(jobs: Iterable[tuple[int, int]], **more: Any) -> dict[str, Any]:
    """A plan of these (task, sample)."""
    return {
        "release": RELEASE,
        "versions": component_versions(),
        "model": {"name": "m"},
        "prompt": {"name": "zh-v1"},
        "environment": dict(ENVIRONMENT),
        "jobs": [
            {"task_id": task, "sample_id": sample, "seed": 10 * task + sample, "split": "project/test"}
            for task, sample in jobs
        ],
        **more,
    }


def rlve(env_id: str, difficulty: int, seed: int, total: float | None, **more: Any) -> dict[str, Any]:
    """A trace of RLVE that ended with this total; None for one that was left."""
    reward = None if total is None else {"total": total, "success": total == 1}
    key = {"env_id": env_id, "difficulty": difficulty, "seed": seed, "language": "zh", "overrides": {}}
    return {
        "schema": "shopsim-rlve-trace-v1",
        "suite": "shopsim-rlve-v2",
        "release": RELEASE,
        "key": key,
        "strict": True,
        "actions": [],
        "observations": ["0" * 64],
        "wordings": [],
        "reason": None if total is None else "agent_done",
        "reward": reward,
        **more,
    }


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """A trace file without a folder of its own."""
    path.write_bytes(b"".join(line(dict(record)) for record in records))
    return path


def planned_run(folder: Path, records: Iterable[dict[str, Any]], jobs: Iterable[tuple[int, int]]) -> Path:
    """A run folder with a plan."""
    return write_run(folder, records, plan=plan(jobs), plan_fingerprint="f" * 64)


def altered(record: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a record with one value changed, named by its dotted path."""
    copy: dict[str, Any] = json.loads(json.dumps(record))
    inner: Any = copy
    *parents, name = path.split(".")
    for parent in parents:
        inner = inner[int(parent)] if isinstance(inner, list) else inner[parent]
    inner[name] = value
    return copy
