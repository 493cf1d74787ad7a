"""Run folders whose episodes were played by a real rollout, in the format of docs/runs.md."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from run_folders import write_run

from shopsim_env import Release
from shopsim_env.client.local import LocalClient
from shopsim_env.runner import Rollout
from shopsim_env.runner.chat import Completion
from shopsim_env.runner.episode import final_record, step_record
from shopsim_env.runner.plan import episode_id
from shopsim_env.runs.rows import EPISODE_SCHEMA
from shopsim_env.versions import component_versions

Say = Callable[[dict[str, Any], str], dict[str, Any]]


def call(name: str, **arguments: str) -> dict[str, Any]:
    """An assistant message with one call."""
    return {"content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def buyer(number: int = 0) -> Say:
    """Buys the product at this place of the first page, with the first values."""

    def say(state: dict[str, Any], request: str) -> dict[str, Any]:
        if state["search_available"]:
            return call("search", query=request)
        if state["page_type"] == "search_results":
            return call("click", value=state["products"][number]["asin"])
        for axis in state["missing_option_axes"]:
            return call("click", value=next(text for text in state["actions"] if text.startswith(f"{axis}=")))
        return call("click", value="buy now")

    return say


def stumbling(first: Sequence[dict[str, Any]]) -> Say:
    """Says `first`, then buys."""
    left = list(first)

    def say(state: dict[str, Any], request: str) -> dict[str, Any]:
        return left.pop(0) if left else buyer()(state, request)

    return say


def played(release: Release, task_id: int, sample_id: int, say: Say, **environment: Any) -> dict[str, Any]:
    """One episode line."""
    tools = environment.pop("tools", "dynamic")
    with (
        LocalClient(release, slots=1) as client,
        Rollout.open(client, task_id, seed=7, tools=tools, **environment) as rollout,
    ):
        steps = []
        while not rollout.done:
            rollout.act(say(rollout.observation_state, rollout.reset.task_instruction))
            said = Completion("", f"想法{len(steps) + 1}", None, "stop", None, "", "scripted")
            steps.append(step_record(rollout.last_turn, said))
        return {
            "schema": EPISODE_SCHEMA,
            "episode_id": episode_id({"task_id": task_id, "sample_id": sample_id}),
            "status": "completed",
            "job": {"task_id": task_id, "sample_id": sample_id, "seed": 7, "split": None},
            "provenance": {
                "release": release.id,
                "versions": component_versions(),
                "model": {"name": "scripted"},
                "prompt": {"id": "zh-v1", "tools": tools},
            },
            "reset": {
                "task_instruction": rollout.reset.task_instruction,
                "user_persona": rollout.reset.user_persona,
                "environment": environment,
            },
            "conversation": rollout.conversation,
            "steps": steps,
            "final": final_record(rollout.last_turn),
            "error": None,
        }


def with_reward(record: dict[str, Any], reward: float) -> dict[str, Any]:
    """The same episode with another reward."""
    detail = {**record["final"]["reward_detail"], "r_strict": reward, "r_success": float(reward == 1)}
    return {**record, "final": {**record["final"], "reward": reward, "reward_detail": detail}}


def renamed(record: dict[str, Any], sample_id: int) -> dict[str, Any]:
    """The same episode as another sample."""
    task_id = record["job"]["task_id"]
    job = {**record["job"], "sample_id": sample_id}
    return {**record, "job": job, "episode_id": f"task-{task_id:06d}__sample-{sample_id:03d}"}


def broken(record: dict[str, Any], sample_id: int) -> dict[str, Any]:
    """An episode that the infrastructure broke."""
    error = {"stage": "model", "type": "timeout", "message": "no answer"}
    return {**renamed(record, sample_id), "status": "failed", "final": None, "error": error}


def run_of(folder: Path, *records: dict[str, Any]) -> Path:
    """A run folder."""
    return write_run(folder, records)
