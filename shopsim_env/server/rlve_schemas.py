"""JSON Schemas of the answers of `/v1/rlve`. For RLVE what `schemas` is for the Shop.

Belongs here: shapes. Tests compare every one with what a running server sends.
"""

from typing import Final

from shopsim_env.server.shapes import COUNT, HOLDING, OBJECT, STRING, TOOLS, Schema, object_of

_FLAG: Final[Schema] = {"type": "boolean"}
_NUMBER: Final[Schema] = {"type": "number"}
_STRINGS: Final[Schema] = {"type": "array", "items": STRING}

_KEY: Final = object_of(
    {"env_id": STRING, "difficulty": COUNT, "seed": COUNT, "language": STRING, "overrides": OBJECT}
)
_OBSERVATION: Final = object_of(
    {
        "env_id": STRING,
        "conversation": {
            "type": "array",
            "items": object_of({"role": {"enum": ["user", "assistant"]}, "content": STRING}),
        },
        "tool_results": {
            "type": "array",
            "items": object_of({"name": STRING, "args": OBJECT, "result": OBJECT}),
            "description": "of the last turn; a refusal of the shop is a result with the member `error`",
        },
        "turn": {**COUNT, "description": "turns so far"},
        "turns_left": {"type": "integer"},
        "tool_budget": {**COUNT, "description": "calls that one turn may hold"},
        "done": _FLAG,
        "reward": _NUMBER,
    }
)
_STEP: Final[dict[str, Schema]] = {
    "observation": _OBSERVATION,
    "reward": {**_NUMBER, "description": "the total at the end, else 0"},
    "done": _FLAG,
    "info": {
        **OBJECT,
        "description": "`reason` and `reward` with all parts at the end; `fault` (code, message) where a "
        "turn was refused",
    },
}
_START: Final[dict[str, Schema]] = {
    "release": STRING,
    "suite": STRING,
    "key": {**_KEY, "description": "brings the same episode again"},
    "strict": _FLAG,
    "observation": {**_OBSERVATION, "description": "what the agent sees first"},
    "tools": TOOLS,
}

RLVE_ANSWERS: Final[dict[str, Schema]] = {
    "RlveEpisode": object_of({**HOLDING, **_START}, ("tools",)),
    "RlveStep": object_of(_STEP),
    "RlveNow": object_of(
        {
            **HOLDING,
            **_START,
            "turns_played": {**COUNT, "description": "refused ones included"},
            "last_step": {"oneOf": [{"$ref": "#/components/schemas/RlveStep"}, {"type": "null"}]},
        },
        ("tools",),
    ),
    "RlveTrace": {"type": "object", "description": "one record of shopsim-rlve-trace-v1"},
    "RlveGoal": object_of(
        {
            "goal": OBJECT,
            "score": {
                "oneOf": [
                    object_of({"score": _NUMBER, "success": _FLAG, "parts": OBJECT}),
                    {"type": "null"},
                ],
                "description": "of the task; null after a turn that ended the episode as a failure",
            },
        }
    ),
    "RlveInfo": object_of(
        {
            "suite": STRING,
            "release": STRING,
            "currency": STRING,
            "languages": _STRINGS,
            "max_difficulty": COUNT,
            "environments": {
                "type": "array",
                "items": object_of({"id": STRING, "name": STRING, "answer": OBJECT}),
            },
            "collections": {"type": "object", "additionalProperties": _STRINGS},
            "reasons": {**_STRINGS, "description": "how an episode may end"},
            "tools": {
                "type": "array",
                "items": object_of({"name": STRING, "alias": STRING, "about": STRING, "schema": OBJECT}),
            },
        }
    ),
}
