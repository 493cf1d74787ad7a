"""What a run is going to play: jobs with their seeds, the fingerprint, and in what two plans differ.

Belongs here: pure functions. A plan holds everything that decides the episodes; concurrency, addresses and
time limits are not in it, so a run may be resumed on another machine.
"""

import hashlib
import platform
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import UsageError
from shopsim_env.runner.config import RunConfig
from shopsim_env.versions import __version__

RUN_SCHEMA: Final = "shopsim-run-v1"
RUNNER_VERSION: Final = "shopsim-runner-v1"
_SHOWN: Final = 20


def episode_seed(seed: int, task_id: int | str, sample_id: int) -> int:
    """Seed of an episode: the first four bytes, big-endian, of SHA-256 of `seed:task:sample`."""
    digest = hashlib.sha256(f"{seed}:{task_id}:{sample_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def episode_id(job: Mapping[str, Any]) -> str:
    """Name of the episode of a job."""
    if "env_id" in job:
        key = f"{job['env_id']}-d{job['difficulty']:03d}-{job['language']}-seed-{job['seed']:06d}"
    else:
        key = f"task-{job['task_id']:06d}"
    return f"{key}__sample-{job['sample_id']:03d}"


def make_plan(
    config: RunConfig, release: str, versions: Mapping[str, str], task_ids: Sequence[int]
) -> dict[str, Any]:
    """The plan of a run.

    Args:
        config: The run.
        release: Id of what is played.
        versions: Its component versions.
        task_ids: The tasks that the configuration names, before a sample is drawn.

    Raises:
        UsageError: a sample of more tasks than there are.
    """
    if config.rlve is not None:
        return {**_decided(config, release, versions), "split": None, "jobs": _rlve_jobs(config)}
    tasks, seed = config.sections["tasks"], config.sections["run"]["seed"]
    chosen = list(task_ids)
    if tasks["sample"] is not None:
        if tasks["sample"] > len(chosen):
            raise UsageError(
                f"tasks.sample: expected at most {len(chosen)}, the number of tasks, found {tasks['sample']}",
                code="out_of_range",
            )
        chosen = random.Random(seed).sample(chosen, tasks["sample"])  # noqa: S311
    return {
        **_decided(config, release, versions),
        "split": tasks["split"],
        "jobs": [
            {
                "task_id": task_id,
                "sample_id": sample_id,
                "seed": episode_seed(seed, task_id, sample_id),
                "split": tasks["split"],
            }
            for task_id in chosen
            for sample_id in range(tasks["repeats"])
        ],
    }


def _decided(config: RunConfig, release: str, versions: Mapping[str, str]) -> dict[str, Any]:
    return {
        "release": release,
        "versions": dict(versions),
        "runner": RUNNER_VERSION,
        "seed": config.sections["run"]["seed"],
        "model": config.sampling,
        "prompt": config.prompt_facts,
        "environment": config.environment,
    }


def _rlve_jobs(config: RunConfig) -> list[dict[str, Any]]:
    """Jobs of RLVE: `seed` is that of the episode's key, `model_seed` that of the sample."""
    rlve, seed = config.sections["rlve"], config.sections["run"]["seed"]
    first = rlve["first_seed"]
    return [
        {
            "env_id": env_id,
            "difficulty": difficulty,
            "seed": key_seed,
            "language": rlve["language"],
            "sample_id": sample_id,
            "model_seed": episode_seed(seed, f"{env_id}:{difficulty}:{key_seed}", sample_id),
        }
        for env_id in rlve["environments"]
        for difficulty in rlve["difficulties"]
        for key_seed in range(first, first + rlve["seeds"])
        for sample_id in range(rlve["repeats"])
    ]


def fingerprint(plan: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the canonical JSON of a plan."""
    return sha256_text(compact_json(plan))


def manifest(plan: Mapping[str, Any], runtime: Mapping[str, Any], created_at: str) -> dict[str, Any]:
    """What `manifest.json` holds."""
    return {
        "schema": RUN_SCHEMA,
        "created_at": created_at,
        "plan_fingerprint": fingerprint(plan),
        "plan": plan,
        "runtime": runtime,
    }


def runtime_facts(config: RunConfig) -> dict[str, Any]:
    """What may differ between sessions of one run."""
    run, model, world = (config.sections[name] for name in ("run", "model", "environment"))
    return {
        "concurrency": run["concurrency"],
        "server": world["server"],
        "base_url": model["base_url"],
        "stream": model["stream"],
        "timeout_s": model["timeout_s"],
        "package": __version__,
        "python": platform.python_version(),
        "host": platform.system(),
    }


def differences(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """In what two plans differ, one line each; jobs are counted."""
    lines = list(_differing("", {**recorded, "jobs": None}, {**wanted, "jobs": None}))
    ours, theirs = (
        {compact_json(job) for job in plan["jobs"]} if isinstance(plan.get("jobs"), list) else set()
        for plan in (recorded, wanted)
    )
    if ours != theirs:
        lines.append(
            f"jobs: {len(ours)} recorded, {len(theirs)} wanted, {len(ours & theirs)} of them the same"
        )
    return lines[:_SHOWN]


def _differing(name: str, recorded: Any, wanted: Any) -> Iterator[str]:
    if isinstance(recorded, Mapping) and isinstance(wanted, Mapping):
        for key in sorted({*recorded, *wanted}):
            yield from _differing(f"{name}.{key}" if name else key, recorded.get(key), wanted.get(key))
    elif recorded != wanted:
        yield f"{name}: {compact_json(recorded)} recorded, {compact_json(wanted)} wanted"
