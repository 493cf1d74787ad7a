"""Runs of scripted models for tests and benchmarks: configuration files and scripts of the stub."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shopsim_env import ShopEnv
from shopsim_env.runner.plan import episode_seed
from shopsim_env.shop.oracle import solve

MODES = {"task_mode": "persona", "interaction_mode": "single_turn"}


def winnable(release: Any, count: int, split: str = "project/train", **mode: str) -> dict[int, list[str]]:
    """The first tasks of a split that the oracle wins, and its actions."""
    env, found = ShopEnv(release, **{**MODES, **mode}), {}
    for task_id in release.splits[split]:
        result = solve(release, env, task_id)
        if result.reached:
            found[task_id] = list(result.actions)
        if len(found) == count:
            return found
    raise AssertionError(f"expected {count} tasks that can be won")


def script(
    tasks: dict[int, list[str]], kinds: Sequence[str], seed: int = 7, repeats: int = 1
) -> dict[int, tuple[str, list[str]]]:
    """A script in which the episodes take turns with the kinds."""
    plays, number = {}, 0
    for task_id, actions in tasks.items():
        for sample in range(repeats):
            plays[episode_seed(seed, task_id, sample)] = (kinds[number % len(kinds)], actions)
            number += 1
    return plays


def config(folder: Path, base_url: str, **sections: Any) -> Path:
    """A configuration file; `sections` add to its tables or replace values, None takes one out."""
    tables: dict[str, dict[str, Any]] = {
        "run": {"name": "played", "seed": 7, "concurrency": 4},
        "tasks": {"split": "project/train"},
        "environment": dict(MODES),
        "model": {"name": "scripted", "base_url": base_url, "send_seed": True, "give_up_s": 20.0},
    }
    for name, values in sections.items():
        tables.setdefault(name, {}).update(values)
    lines = []
    for name, values in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    path = folder / "run.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def recorded(path: Path) -> list[dict[str, Any]]:
    """The episodes of a run, by their names."""
    lines = (path / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda record: record["episode_id"])
