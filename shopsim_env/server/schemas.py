"""JSON Schemas of the answers of `/v1`, with examples. The other side of `bodies`.

Belongs here: shapes. Tests compare every one with what a running server sends.
"""

from typing import Any, Final

Schema = dict[str, Any]

_STRING: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_ID: Final[Schema] = {"type": "string", "description": "secret of the holder"}
_OBJECT: Final[Schema] = {"type": "object"}
_TOOLS: Final[Schema] = {"type": "array", "items": {"type": "object"}, "description": "OpenAI tool schemas"}


def _object(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_HOLDING: Final[dict[str, Schema]] = {
    "lease_id": _ID,
    "fence": {**_COUNT, "description": "fencing number to send with every action"},
    "slot": _COUNT,
    "expires_in_s": {"type": "number", "description": "seconds without use after which the lease is gone"},
}
_START: Final[dict[str, Schema]] = {
    "release": _STRING,
    "environment_version": _STRING,
    "task_id": _COUNT,
    "task_mode": _STRING,
    "interaction_mode": _STRING,
    "task_instruction": {**_STRING, "description": "what the agent is asked to buy"},
    "user_persona": _OBJECT,
    "observation": {**_STRING, "description": "text of the page"},
    "observation_state": {**_OBJECT, "description": "facts and actions of the page, docs/runtime.md"},
    "tools": _TOOLS,
    "private": {**_OBJECT, "description": "the goal; only when asked for with the admin token"},
}
_OPTIONAL = ("tools", "private")
_STEP: Final[dict[str, Schema]] = {
    "observation": _STRING,
    "observation_state": _OBJECT,
    "reward": {"type": ["number", "null"], "description": "null only when `valid` is false"},
    "terminated": {"type": "boolean", "description": "a purchase"},
    "truncated": {"type": "boolean", "description": "a forced end"},
    "done": {"type": "boolean"},
    "termination_reason": {"enum": [None, "purchase", "action_limit", "generation_length"]},
    "action_feedback": {"type": ["object", "null"]},
    "reward_detail": {**_OBJECT, "description": "empty until the end; numbers and codes"},
    "info": _OBJECT,
    "valid": {"type": "boolean", "description": "false: the infrastructure failed, use no reward"},
    "failure_kind": {
        "enum": [None, "env_crash", "timeout", "lease_lost", "capacity", "adapter", "simulator_fault"]
    },
    "tools": _TOOLS,
}

ANSWERS: Final[dict[str, Schema]] = {
    "Lease": _object(_HOLDING),
    "Episode": _object({**_HOLDING, **_START}, _OPTIONAL),
    "Step": _object(_STEP, ("tools",)),
    "EpisodeNow": _object(
        {
            **_HOLDING,
            **_START,
            "actions_played": _COUNT,
            "last_step": {"oneOf": [{"$ref": "#/components/schemas/Step"}, {"type": "null"}]},
        },
        _OPTIONAL,
    ),
    "Group": _object(
        {
            "group_id": _STRING,
            "anchor": {**_STRING, "description": "equal for equal starts: text, persona and page"},
            "members": {"type": "array", "items": {"$ref": "#/components/schemas/Lease"}},
            **_START,
        },
        _OPTIONAL,
    ),
    "Released": _object({"released": {"type": "boolean", "description": "false: it was gone already"}}),
    "ReleasedAll": _object({"released": _COUNT}),
    "Trace": {"type": "object", "description": "one record of shopsim-trace-v1, docs/training.md"},
    "ReleaseInfo": _object(
        {
            "id": _STRING,
            "versions": _OBJECT,
            "counts": _OBJECT,
            "splits": {"type": "object", "additionalProperties": _COUNT},
            "task_modes": {"type": "array", "items": _STRING},
            "interaction_modes": {"type": "object", "additionalProperties": _COUNT},
            "option_match": {"type": "array", "items": _STRING},
            "environment_options": {"type": "array", "items": _STRING},
        }
    ),
    "Tasks": _object(
        {
            "total": _COUNT,
            "tasks": {
                "type": "array",
                "items": _object(
                    {
                        "task_id": _COUNT,
                        "has_persona": {"type": "boolean"},
                        "labels": {"type": "array", "items": _STRING},
                    }
                ),
            },
        }
    ),
    "Health": _object(
        {
            "ready": {"type": "boolean", "description": "false while the server stops"},
            "environment_slots": _COUNT,
            "free_slots": _COUNT,
            "running_episodes": _COUNT,
            "waiting": _COUNT,
            "lease_ttl_s": {"type": "number"},
            "tasks": _COUNT,
            "release": _STRING,
            "environment_version": _STRING,
            "observation_version": _STRING,
            "primary_reward": _STRING,
        }
    ),
    "Problem": _object(
        {
            "type": _STRING,
            "title": _STRING,
            "status": {"type": "integer"},
            "code": {**_STRING, "description": "stable; programs branch on it"},
            "detail": {**_STRING, "description": "what was expected, what was found, what to do"},
        }
    ),
}
