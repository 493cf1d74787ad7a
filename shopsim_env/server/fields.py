"""Fields of request bodies and queries: each checks a value and describes itself for OpenAPI.

Belongs here: kinds of fields. Which request has which is in `bodies`; one definition serves both sides, so
the document cannot say anything else than the server does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shopsim_env.server.problems import ProblemError
from shopsim_env.strict_json import StrictJsonError, check_value

_SHOWN = 60
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field. `default` is what a request gets that leaves an optional field out."""

    about: str
    required: bool = False
    default: Any = None
    nullable: bool = False

    def check(self, name: str, value: Any) -> Any:
        """The checked value; null comes here only where it is not allowed.

        Raises:
            ProblemError: `wrong_type` or `out_of_range`.
        """
        raise wrong_type(name, "nothing", value)

    def schema(self) -> Schema:
        """JSON Schema of the field."""
        schema = {**self.kind(), "description": self.about}
        if self.nullable and "type" in schema:
            schema["type"] = [schema["type"], "null"]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        if not self.required and self.default is not None:
            schema["default"] = self.default
        return schema

    def kind(self) -> Schema:
        """JSON Schema without description and null."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Field):
    """A string, of a closed list or by length and pattern (whole, ASCII)."""

    choices: tuple[str, ...] = ()
    shortest: int = 0
    longest: int = 4_096
    pattern: str = ""

    def check(self, name: str, value: Any) -> str:
        """A string of the list, or within length and pattern."""
        if not isinstance(value, str):
            raise wrong_type(name, "a string", value)
        if self.choices and value not in self.choices:
            raise out_of_range(name, f"one of {list(self.choices)}", value)
        if not self.shortest <= len(value) <= self.longest:
            raise out_of_range(name, f"{self.shortest} to {self.longest} characters", len(value))
        if self.pattern and not _compiled(self.pattern).fullmatch(value):
            raise out_of_range(name, f"text that matches {self.pattern}", value)
        return value

    def kind(self) -> Schema:
        """JSON Schema without description."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        schema: Schema = {"type": "string", "minLength": self.shortest, "maxLength": self.longest}
        if self.pattern:
            schema["pattern"] = f"^{self.pattern}$"
        return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Field):
    """A number within bounds; `whole` takes 3 and 3.0, as JSON Schema does, and gives an int."""

    least: float
    most: float
    whole: bool = True

    def check(self, name: str, value: Any) -> float:
        """A number within the bounds."""
        if type(value) is int and self.least <= value <= self.most:
            return value
        word = "an integer" if self.whole else "a number"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong_type(name, word, value)
        if self.whole and isinstance(value, float):
            if not value.is_integer():
                raise wrong_type(name, word, value)
            value = int(value)
        number: float = value
        if not self.least <= number <= self.most:
            raise out_of_range(name, f"{word} from {self.least} to {self.most}", value)
        return number

    def kind(self) -> Schema:
        """JSON Schema without description."""
        return {
            "type": "integer" if self.whole else "number",
            "minimum": self.least,
            "maximum": self.most,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Field):
    """true or false."""

    def check(self, name: str, value: Any) -> bool:
        """A boolean."""
        if not isinstance(value, bool):
            raise wrong_type(name, "true or false", value)
        return value

    def kind(self) -> Schema:
        """JSON Schema without description."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Field):
    """An action in any spelling; what it means, and whether it means anything, is the episode's business."""

    def check(self, name: str, value: Any) -> Any:
        """Canonical text, a tool call, or a list of tool calls."""
        if not isinstance(value, (str, dict, list)):
            raise wrong_type(name, "text, a tool call or a list of tool calls", value)
        return value

    def kind(self) -> Schema:
        """JSON Schema without description."""
        return {
            "oneOf": [
                {"type": "string", "description": "canonical text"},
                {"type": "object", "description": "an OpenAI tool call"},
                {"type": "array", "items": {"type": "object"}, "description": "exactly one tool call"},
            ]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Field):
    """A turn of an agent; whether it is one, and what it means, is the episode's business."""

    def check(self, name: str, value: Any) -> Any:
        """Text as a model wrote it, or the object that it stands for."""
        if not isinstance(value, (str, dict)):
            raise wrong_type(name, "text or a JSON object", value)
        try:
            check_value(value)
        except StrictJsonError as error:
            raise ProblemError(f"{name}: {error}", code=error.code) from error
        return value

    def kind(self) -> Schema:
        """JSON Schema without description."""
        return {
            "oneOf": [
                {"type": "string", "description": "as a model wrote it; its mistakes count"},
                {"type": "object", "description": "assistant_message, tool_calls, answer"},
            ]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Field):
    """An object whose members are fields, all of them optional; only those that are given come out."""

    members: Mapping[str, Field]

    def check(self, name: str, value: Any) -> dict[str, Any]:
        """The checked members."""
        if not isinstance(value, dict):
            raise wrong_type(name, "a JSON object", value)
        known = read_fields(self.members, value, name)
        return {member: known[member] for member in value}

    def kind(self) -> Schema:
        """JSON Schema without description."""
        return schema_of(self.members)


def read_fields(fields: Mapping[str, Field], value: Any, what: str) -> dict[str, Any]:
    """Every field with its checked value or its default.

    Raises:
        ProblemError: no object (`wrong_type`), `unknown_field`, `missing_field`, or what a field refuses.
    """
    if not isinstance(value, dict):
        raise wrong_type(what, "a JSON object", value)
    if not value.keys() <= fields.keys():
        name = next(name for name in value if name not in fields)
        raise ProblemError(
            f"{what}: expected only {sorted(fields)}, found {_shown(name)}", code="unknown_field"
        )
    found = {}
    for name, field in fields.items():
        if name in value:
            given = value[name]
            found[name] = None if given is None and field.nullable else field.check(name, given)
        elif field.required:
            raise ProblemError(f"{what}: expected the field {name!r}, found none", code="missing_field")
        else:
            found[name] = field.default
    return found


def schema_of(fields: Mapping[str, Field], examples: list[dict[str, Any]] | None = None) -> Schema:
    """JSON Schema of an object with these fields and no others."""
    schema: Schema = {
        "type": "object",
        "properties": {name: field.schema() for name, field in fields.items()},
        "additionalProperties": False,
    }
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    if examples:
        schema["examples"] = examples
    return schema


def wrong_type(name: str, expected: str, value: Any) -> ProblemError:
    """A value of another type."""
    found = "null" if value is None else type(value).__name__
    return ProblemError(f"{name}: expected {expected}, found {found}", code="wrong_type")


def out_of_range(name: str, expected: str, value: Any) -> ProblemError:
    """A value of the right type that is not allowed."""
    return ProblemError(f"{name}: expected {expected}, found {_shown(value)}", code="out_of_range")


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
