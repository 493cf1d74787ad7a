"""Shapes that answers of both worlds have: what a lease is, and small words of JSON Schema.

Belongs here: shapes in common. The answers are in `schemas` and `rlve_schemas`.
"""

from typing import Any, Final

Schema = dict[str, Any]

STRING: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
ID: Final[Schema] = {"type": "string", "description": "secret of the holder"}
OBJECT: Final[Schema] = {"type": "object"}
TOOLS: Final[Schema] = {"type": "array", "items": {"type": "object"}, "description": "OpenAI tool schemas"}


def object_of(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


HOLDING: Final[dict[str, Schema]] = {
    "lease_id": ID,
    "fence": {**COUNT, "description": "fencing number to send with every action"},
    "slot": COUNT,
    "expires_in_s": {"type": "number", "description": "seconds without use after which the lease is gone"},
}
