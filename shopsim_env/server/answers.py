"""Answers of `/v1` as JSON: what the pool returns, field by field. No decisions.

Money, rewards and states come as the episode made them; nothing of a goal is here except `goal_block`, which
only holders of the admin token get.
"""

import json
from typing import Any, Final

from shopsim_env.pool import Lease
from shopsim_env.shop.env import Step
from shopsim_env.shop.episode import Goals
from shopsim_env.shop.served import ServedStep, encode, page_bytes
from shopsim_env.shop.tools import static_tools, tools_for

# Of a step that goes on: the members before and after the action feedback.
_RUNNING: Final = (
    b',"reward":0.0,"terminated":false,"truncated":false,"done":false,"termination_reason":null,'
    b'"action_feedback":'
)
_ENDED: Final = ("reward", "terminated", "truncated", "done")
_VALID: Final = b',"valid":true,"failure_kind":null'


def started(lease: Lease, tools: str, release: str) -> bytes:
    """What a reset showed, as members of a JSON object without its braces."""
    start = lease.start
    members = {
        "release": release,
        "environment_version": start.environment_version,
        "task_id": start.task_id,
        "task_mode": start.task_mode,
        "interaction_mode": start.interaction_mode,
        "task_instruction": start.task_instruction,
        "user_persona": start.user_persona,
        "observation": start.observation,
        "observation_state": start.observation_state,
        **tool_block(start.observation_state, tools, start.interaction_mode),
    }
    return encode(members)[1:-1]


def holding_bytes(lease: Lease, ttl_s: float) -> bytes:
    """`holding` as members of a JSON object, written out; a lease id needs no escapes."""
    return (
        f'"lease_id":"{lease.id}","fence":{lease.fence},"slot":{lease.slot},"expires_in_s":{ttl_s!r}'.encode()
    )


def holding(lease: Lease, ttl_s: float) -> dict[str, Any]:
    """What a holder has to know of the lease."""
    return {"lease_id": lease.id, "fence": lease.fence, "slot": lease.slot, "expires_in_s": ttl_s}


def joined(*parts: bytes) -> bytes:
    """A JSON object of several lists of members."""
    return b"{" + b",".join(part for part in parts if part) + b"}"


def played(step: Step, tools: str) -> bytes:
    """The answer to a step or a forced end, as JSON."""
    dynamic = tools == "dynamic" and step.valid
    if isinstance(step, ServedStep) and step.valid:
        end = (b',"tools":', step.tools, b"}") if dynamic else (b"}",)
        return b"".join((b"{", *step.pieces, *_served_result(step), *end))
    rest = {**_result(step), **({"tools": tools_for(step.observation_state)} if dynamic else {})}
    return with_page(step, rest)


def _served_result(step: ServedStep) -> tuple[bytes, ...]:
    """`_result` as bytes, from what was encoded already."""
    head = _RUNNING
    if step.done:
        reason = f'"termination_reason":"{step.termination_reason}","action_feedback":'
        head = b"," + encode({name: getattr(step, name) for name in _ENDED})[1:-1] + f",{reason}".encode()
    feedback = b"null" if step.action_feedback is None else step.feedback
    return (head, feedback, b',"reward_detail":', step.detail, b',"info":', _info(step.info), _VALID)


def _info(info: dict[str, Any]) -> bytes:
    """JSON of the counts of a step, written out: the encoder takes longer to start than this takes."""
    if "shopper" in info or "purchase" in info:
        return encode(info)
    counts = ",".join([f'"{name}":{value}' for name, value in info.items()])
    return f"{{{counts}}}".encode()


def with_page(step: Step, answer: dict[str, Any]) -> bytes:
    """JSON of `answer` with the page of a step in front."""
    page = step.page if isinstance(step, ServedStep) else page_bytes(step)
    return b"".join((b"{", page, b",", encode(answer)[1:]))


def observation_of(step: Step) -> str:
    """The text of a page, which a `ServedStep` has as JSON alone."""
    if not isinstance(step, ServedStep):
        return step.observation
    text: str = json.loads(b"".join((b"{", step.page, b"}")))["observation"]
    return text


def _result(step: Step) -> dict[str, Any]:
    """What a step says besides the page."""
    return {
        "reward": step.reward,
        "terminated": step.terminated,
        "truncated": step.truncated,
        "done": step.done,
        "termination_reason": step.termination_reason,
        "action_feedback": step.action_feedback,
        "reward_detail": step.reward_detail,
        "info": step.info,
        "valid": step.valid,
        "failure_kind": step.failure_kind,
    }


def tool_block(state: dict[str, Any], tools: str, interaction_mode: str) -> dict[str, Any]:
    """The tool schemas that were asked for."""
    if tools == "none":
        return {}
    dynamic = tools == "dynamic"
    return {"tools": tools_for(state) if dynamic else static_tools(interaction_mode == "multi_turn")}


def goal_block(goals: Goals, task_id: int) -> dict[str, Any]:
    """The goal, for an external shopper that holds the admin token."""
    goal = goals.goal(task_id)
    return {
        "instruction": goal.instruction,
        "instruction_simple": goal.instruction_simple,
        "asin": goal.product.asin,
        "attributes": list(goal.attributes),
        "options": list(goal.options),
        "budget_kind": goal.budget_kind,
        "budget_upper": None if goal.budget_upper is None else float(goal.budget_upper),
    }
