"""Run folders for tests and benchmarks: played by scripted agents, or made up by the hundred thousand.

The format is that of docs/runs.md.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from shopsim_env import ShopEnv
from shopsim_env.versions import component_versions

Agent = Callable[[Any, list[dict[str, Any]]], dict[str, Any]]
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "reasoning_tokens": 5, "total_tokens": 120}
ZERO = dict.fromkeys(("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price"), 0)


def call_of(name: str, argument: str) -> dict[str, Any]:
    key = {"search": "query", "click": "value", "ask_shopper": "message"}[name]
    return {"name": name, "arguments": {key: argument}}


def first_result(state: dict[str, Any], instruction: str) -> dict[str, Any]:
    """Searches for the request, takes the first product and the first values."""
    if state["search_available"]:
        return call_of("search", instruction)
    if state["page_type"] == "search_results":
        return call_of("click", state["products"][0]["asin"] if state["products"] else "back to search")
    for axis in state["missing_option_axes"]:
        return call_of("click", next(text for text in state["actions"] if text.startswith(f"{axis}=")))
    return call_of("click", "buy now")


def stubborn(state: dict[str, Any], instruction: str) -> dict[str, Any]:
    """Searches once and then clicks on something that is not there."""
    return call_of("search", instruction) if state["search_available"] else call_of("click", "nothing")


def episode(
    release: Any, task_id: int, sample_id: int, agent: Any = first_result, limit: int = 6, **more: Any
) -> dict[str, Any]:
    """A played episode with what a runner would have noted of a model."""
    env = ShopEnv(release, task_mode="standard", max_actions=limit)
    start = env.reset(task_id)
    text, state, steps, step = start.observation, start.observation_state, [], None
    while step is None or not step.done:
        action = agent(state, start.task_instruction)
        tools = env.tools()
        step = env.step(action)
        steps.append(_step(len(steps) + 1, text, state, tools, action, step, more.get("reasoning", "想一想")))
        text, state = step.observation, step.observation_state
    return {
        "schema": "shopsim-episode-v1",
        "episode_id": f"task-{task_id:06d}__sample-{sample_id:03d}",
        "status": "completed",
        "job": {"task_id": task_id, "sample_id": sample_id, "seed": 7 + sample_id, "split": None},
        "provenance": {
            "release": release.id,
            "versions": component_versions(),
            "model": {"name": "scripted"},
        },
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:00:02Z",
        "duration_ms": 2_000.0 + sample_id,
        "reset": {
            "task_instruction": more.get("instruction", start.task_instruction),
            "user_persona": start.user_persona,
            "environment": env.options,
        },
        "conversation": [],
        "steps": steps,
        "final": {
            "done": True,
            "reward": step.reward,
            "termination_reason": step.termination_reason,
            "reward_detail": step.reward_detail,
            "purchase": step.info.get("purchase"),
        },
        "error": None,
    }


def _step(number, text, state, tools, action, step, reasoning) -> dict[str, Any]:
    (argument,) = action["arguments"].values()
    return {
        "step": number,
        "observation": text,
        "observation_state": state,
        "tools": tools,
        "model": {
            "content": "",
            "reasoning": reasoning,
            "tool_calls": [{"id": f"call-{number}", "type": "function", "function": action}],
            "finish_reason": "tool_calls",
            "usage": USAGE,
            "latency_ms": 12.5,
            "protocol_error": None,
        },
        "action": f"{action['name']}[{argument}]",
        "environment": {
            "observation": step.observation,
            "observation_state": step.observation_state,
            "reward": step.reward,
            "done": step.done,
            "termination_reason": step.termination_reason,
            "action_feedback": step.action_feedback,
            "valid": step.valid,
            "failure_kind": step.failure_kind,
        },
    }


def failed(
    release: str, task_id: int, sample_id: int, kind: str = "transport", message: str = "no answer"
) -> dict[str, Any]:
    """An episode that broke before its end."""
    return {
        **next(many(1, release)),
        "episode_id": f"task-{task_id:06d}__sample-{sample_id:03d}",
        "job": {"task_id": task_id, "sample_id": sample_id, "seed": 0, "split": None},
        "status": "failed",
        "final": None,
        "error": {"stage": "model", "type": kind, "message": message},
    }


def made_up(task_id: int, sample_id: int, release: str, draw: random.Random) -> dict[str, Any]:
    """A small record that nobody played: numbers drawn by `draw`."""
    reward = draw.choice((0.0, 0.0, 0.25, 0.5, 1.0))
    detail = {**ZERO, "r_loose": reward, "r_strict": reward, "r_success": int(reward == 1.0)}
    step = {
        "observation": "页面：搜索首页\n" + "一" * 200,
        "model": {
            "usage": USAGE,
            "reasoning": "想" * 80,
        },
        "action": "search[杯]",
        "environment": {"action_feedback": {"action": "search[杯]", "valid": draw.random() < 0.9}},
    }
    return {
        "schema": "shopsim-episode-v1",
        "episode_id": f"task-{task_id:06d}__sample-{sample_id:03d}",
        "status": "completed",
        "job": {"task_id": task_id, "sample_id": sample_id, "seed": sample_id, "split": None},
        "provenance": {"release": release},
        "duration_ms": 1_000 + draw.random(),
        "reset": {"task_instruction": f"想买第{task_id}号杯子"},
        "steps": [step] * draw.randint(1, 5),
        "final": {"done": True, "reward": reward, "termination_reason": "purchase", "reward_detail": detail},
        "error": None,
    }


def many(
    count: int, release: str = "0" * 64, seed: int = 1, samples: int = 4, first: int = 0
) -> Iterator[dict[str, Any]]:
    """Made-up episodes, `samples` a task from task `first` on."""
    draw = random.Random(seed)  # noqa: S311
    for number in range(count):
        yield made_up(first + number // samples, number % samples, release, draw)


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def write_run(folder: Path, records: Iterable[dict[str, Any]], **manifest: Any) -> Path:
    """A run folder; `manifest` adds to its manifest."""
    folder.mkdir(parents=True)
    with (folder / "traces.jsonl").open("wb") as stream:
        for record in records:
            stream.write(line(record))
    about = {"schema": "shopsim-run-v1", "created_at": "2026-01-01T00:00:00Z", "plan": {}, **manifest}
    (folder / "manifest.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
