"""From an episode with messages of a model to the record that can be played again.

Belongs here: the one place that knows how `shopsim-episode-v1` holds `shopsim-trace-v1`, and
`shopsim-rlve-episode-v1` a `shopsim-rlve-trace-v1`. Hashes are made of
the very texts and states in the line, so that a replay of the record checks those.
"""

from typing import Any

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import TraceError
from shopsim_env.recording import state_hash
from shopsim_env.runs.rows import COMPLETED, items, table
from shopsim_env.trace import TraceRecord

_ARGUMENTS = {"search": "query", "click": "value", "ask_shopper": "message"}


def is_completed(values: dict[str, Any]) -> bool:
    """Whether a line holds an episode with a result; another one has nothing to compare."""
    return values.get("status") == COMPLETED and table(values.get("final")).get("done") is True


def record_of(values: dict[str, Any], where: str) -> TraceRecord:
    """The record of a completed episode.

    Raises:
        TraceError: the line lacks something or holds another type.
    """
    try:
        return _record(values)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise TraceError(
            f"{where}: expected a whole shopsim-episode-v1, found one that lacks {error!r}"
        ) from error


def _record(values: dict[str, Any]) -> TraceRecord:
    job, reset, final = values["job"], values["reset"], values["final"]
    steps = items(values["steps"])
    first = {name: steps[0][name] for name in ("observation", "observation_state")}
    played = [step for step in steps if step["action"] is not None]
    pages = [first, *(step["environment"] for step in played)]
    if final["ended_by"] == "caller":
        pages.append(final)
    return TraceRecord(
        release=values["provenance"]["release"],
        versions=values["provenance"]["versions"],
        task_id=job["task_id"],
        seed=job["seed"],
        environment=reset["environment"],
        instruction=sha256_text(reset["task_instruction"]),
        persona=state_hash(reset["user_persona"]),
        actions=[tool_call(step["action"]) for step in played],
        observations=[sha256_text(page["observation"]) for page in pages],
        states=[state_hash(page["observation_state"]) for page in pages],
        ended_by=final["ended_by"],
        termination_reason=final["termination_reason"],
        reward=final["reward"],
        reward_detail=final["reward_detail"],
    )


def first_gap(values: dict[str, Any]) -> int | None:
    """The first step that does not show the page which the one before led to; None when all do.

    A page stands twice in a line, as an answer and as what the next step begins with; the record is made of
    the answers.
    """
    page = values["steps"][0]
    for step in values["steps"]:
        if any(step[name] != page[name] for name in ("observation", "observation_state")):
            return int(step["step"])
        if step["action"] is not None:
            page = step["environment"]
    return None


def rlve_line(values: dict[str, Any], where: str) -> bytes:
    """The line of `shopsim-rlve-trace-v1` in an RLVE episode of a run.

    Raises:
        TraceError: there is none.
    """
    trace = values.get("trace")
    if not isinstance(trace, dict):
        raise TraceError(f"{where}: expected a trace in a completed episode, found none")
    return compact_json(trace).encode("utf-8", "backslashreplace") + b"\n"


def rlve_gap(values: dict[str, Any]) -> str | None:
    """The first member of an RLVE episode that says other than its trace; None when all agree."""
    trace, final, job = (table(values.get(name)) for name in ("trace", "final", "job"))
    key, reward = table(trace.get("key")), table(trace.get("reward"))
    turns = [table(step).get("turn") for step in items(values.get("steps"))]
    agree = {
        "job": all(job.get(name) == key.get(name) for name in ("env_id", "difficulty", "seed", "language")),
        "steps": turns == trace.get("actions"),
        "final": [final.get(name) for name in ("termination_reason", "reward_detail", "reward")]
        == [trace.get("reason"), reward, reward.get("total")],
    }
    return next((name for name, same in agree.items() if not same), None)


def tool_call(action: str) -> dict[str, Any]:
    """The call that canonical text stands for. Its argument is everything between the outermost brackets."""
    name, bracket, rest = action.partition("[")
    if not bracket or not rest.endswith("]"):
        raise ValueError("an action in canonical text")
    return {"name": name, "arguments": {_ARGUMENTS[name]: rest[:-1]}}
