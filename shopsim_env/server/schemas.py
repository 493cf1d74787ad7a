"""JSON Schemas of the answers of `/v1`. The other side of `bodies`; those of RLVE are in `rlve_schemas`.

Belongs here: shapes. Tests compare every one with what a running server sends.
"""

from typing import Final

from shopsim_env.server.rlve_schemas import RLVE_ANSWERS
from shopsim_env.server.shapes import COUNT, HOLDING, OBJECT, STRING, TOOLS, Schema, object_of

_START: Final[dict[str, Schema]] = {
    "release": STRING,
    "environment_version": STRING,
    "task_id": COUNT,
    "task_mode": STRING,
    "interaction_mode": STRING,
    "task_instruction": {**STRING, "description": "what the agent is asked to buy"},
    "user_persona": OBJECT,
    "observation": {**STRING, "description": "text of the page"},
    "observation_state": {**OBJECT, "description": "facts and actions of the page, docs/runtime.md"},
    "tools": TOOLS,
    "private": {**OBJECT, "description": "the goal; only when asked for with the admin token"},
}
_OPTIONAL = ("tools", "private")
_STEP: Final[dict[str, Schema]] = {
    "observation": STRING,
    "observation_state": OBJECT,
    "reward": {"type": ["number", "null"], "description": "null only when `valid` is false"},
    "terminated": {"type": "boolean", "description": "a purchase"},
    "truncated": {"type": "boolean", "description": "a forced end"},
    "done": {"type": "boolean"},
    "termination_reason": {"enum": [None, "purchase", "action_limit", "generation_length"]},
    "action_feedback": {"type": ["object", "null"]},
    "reward_detail": {**OBJECT, "description": "empty until the end; numbers and codes"},
    "info": OBJECT,
    "valid": {"type": "boolean", "description": "false: the infrastructure failed, use no reward"},
    "failure_kind": {
        "enum": [None, "env_crash", "timeout", "lease_lost", "capacity", "adapter", "simulator_fault"]
    },
    "tools": TOOLS,
}

ANSWERS: Final[dict[str, Schema]] = {
    "Lease": object_of(HOLDING),
    "Episode": object_of({**HOLDING, **_START}, _OPTIONAL),
    "Step": object_of(_STEP, ("tools",)),
    "EpisodeNow": object_of(
        {
            **HOLDING,
            **_START,
            "actions_played": COUNT,
            "last_step": {"oneOf": [{"$ref": "#/components/schemas/Step"}, {"type": "null"}]},
        },
        _OPTIONAL,
    ),
    "Group": object_of(
        {
            "group_id": STRING,
            "anchor": {**STRING, "description": "equal for equal starts: text, persona and page"},
            "members": {"type": "array", "items": {"$ref": "#/components/schemas/Lease"}},
            **_START,
        },
        _OPTIONAL,
    ),
    "Released": object_of({"released": {"type": "boolean", "description": "false: it was gone already"}}),
    "ReleasedAll": object_of({"released": COUNT}),
    "Trace": {"type": "object", "description": "one record of shopsim-trace-v1, docs/training.md"},
    "ReleaseInfo": object_of(
        {
            "id": STRING,
            "versions": OBJECT,
            "counts": OBJECT,
            "splits": {"type": "object", "additionalProperties": COUNT},
            "task_modes": {"type": "array", "items": STRING},
            "interaction_modes": {"type": "object", "additionalProperties": COUNT},
            "option_match": {"type": "array", "items": STRING},
            "environment_options": {"type": "array", "items": STRING},
        }
    ),
    "Tasks": object_of(
        {
            "total": COUNT,
            "tasks": {
                "type": "array",
                "items": object_of(
                    {
                        "task_id": COUNT,
                        "has_persona": {"type": "boolean"},
                        "labels": {"type": "array", "items": STRING},
                    }
                ),
            },
        }
    ),
    "Health": object_of(
        {
            "ready": {"type": "boolean", "description": "false while the server stops"},
            "environment_slots": COUNT,
            "free_slots": COUNT,
            "running_episodes": COUNT,
            "waiting": COUNT,
            "lease_ttl_s": {"type": "number"},
            "tasks": COUNT,
            "release": STRING,
            "environment_version": STRING,
            "observation_version": STRING,
            "primary_reward": STRING,
        }
    ),
    "Problem": object_of(
        {
            "type": STRING,
            "title": STRING,
            "status": {"type": "integer"},
            "code": {**STRING, "description": "stable; programs branch on it"},
            "detail": {**STRING, "description": "what was expected, what was found, what to do"},
        }
    ),
    **RLVE_ANSWERS,
}
