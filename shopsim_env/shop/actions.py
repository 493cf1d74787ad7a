"""What an agent may ask for, and how three spellings of it become one value.

Belongs here: typed actions and the reading of typed actions, OpenAI tool calls and canonical text. Nothing
here raises on what a model wrote: a wrong spelling is a `Parsed` with a problem code. Whether the page offers
the action is decided in `session`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from shopsim_env.shop.display import echo, well_formed

MAX_ARGUMENT = 4_000
"""Longest query, click value or message in characters; more is `too_long`."""


@dataclass(frozen=True, slots=True)
class Search:
    """Search the catalogue; offered on the search home only."""

    query: str


@dataclass(frozen=True, slots=True)
class Click:
    """Click one of the texts listed in `observation_state["actions"]`, compared exactly."""

    value: str


@dataclass(frozen=True, slots=True)
class AskShopper:
    """Ask the shopper; needs a multi-turn environment with a shopper."""

    message: str


Action: TypeAlias = Search | Click | AskShopper

_ARGUMENTS = {"search": "query", "click": "value", "ask_shopper": "message"}
_TYPES: dict[str, type[Search] | type[Click] | type[AskShopper]] = {
    "search": Search,
    "click": Click,
    "ask_shopper": AskShopper,
}
_SECOND_ACTION = re.compile(r"\][\s,，;；、&|>-]{0,20}(?:search|click|ask_shopper)\[", re.IGNORECASE)
_KEPT_LENGTH = 200
_ACTION_LINE = re.compile(r"^[ \t]*action[ \t]*[:：]", re.IGNORECASE | re.MULTILINE)


class Parsed(NamedTuple):
    """Result of reading one action.

    `action` is None when nothing can be made of the input. `problem` is "", `invalid_format`, `too_long` or
    `multiple_actions_not_allowed`; it is reported unless the page shows the very value that is clicked
    (contract 7.9). `text` is the canonical text, safe to echo.
    """

    action: Action | None
    problem: str
    text: str


def parse_action(raw: object) -> Parsed:
    """Reads a typed action, an OpenAI tool call (or a list with one), or canonical text such as `click[x]`.

    Tool calls: `{"type": "function", "function": {"name", "arguments"}}` or `{"name", "arguments"}`, the
    arguments as JSON text or object. Typed actions and tool calls are data: their argument is never searched
    for a second action. Source: contract 7.9.
    """
    if isinstance(raw, str):
        return _from_known_text(raw) if len(raw) <= _KEPT_LENGTH else _from_text(raw)
    if isinstance(raw, (Search, Click, AskShopper)):
        name = _name_of(raw)
        return _checked(name, getattr(raw, _ARGUMENTS[name]))
    if isinstance(raw, Mapping):
        return _from_call(raw)
    if isinstance(raw, (list, tuple)) and all(isinstance(item, Mapping) for item in raw):
        return _from_calls(raw)
    return _malformed(type(raw).__name__)


def canonical_text(action: Action) -> str:
    """The canonical text of an action: `search[…]`, `click[…]` or `ask_shopper[…]`, unshortened."""
    name = _name_of(action)
    return f"{name}[{getattr(action, _ARGUMENTS[name])}]"


def _name_of(action: Action) -> str:
    return next(name for name, kind in _TYPES.items() if isinstance(action, kind))


def _checked(name: str, argument: object) -> Parsed:
    if not isinstance(argument, str):
        return _malformed(name)
    text = well_formed(argument)
    problem = "too_long" if len(text) > MAX_ARGUMENT else ""
    return Parsed(_TYPES[name](text), problem, echo(f"{name}[{text}]"))


def _malformed(text: str, problem: str = "invalid_format") -> Parsed:
    return Parsed(None, problem, echo(text))


def _from_calls(calls: "list[Any] | tuple[Any, ...]") -> Parsed:
    if len(calls) == 1:
        return _from_call(calls[0])
    return _malformed("tool_calls", "multiple_actions_not_allowed" if calls else "invalid_format")


def _from_call(call: Mapping[Any, Any]) -> Parsed:
    function = call.get("function", call)
    if not isinstance(function, Mapping):
        return _malformed("function")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or name not in _ARGUMENTS:
        return _malformed(well_formed(str(name)))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return _malformed(name)
    if not isinstance(arguments, Mapping) or set(arguments) != {_ARGUMENTS[name]}:
        return _malformed(name)
    return _checked(name, arguments[_ARGUMENTS[name]])


def _from_text(raw: str) -> Parsed:
    text = well_formed(raw).strip()
    head, bracket, rest = text.partition("[")
    name = head.casefold()
    known = name in _ARGUMENTS and (not bracket or rest.endswith("]"))
    parsed = _checked(name, rest[:-1]) if known else _malformed(text)
    if parsed.problem == "too_long" or (not known and len(text) > MAX_ARGUMENT):
        return Parsed(parsed.action, "too_long", parsed.text)
    lines = "\n" in text or "\r" in text
    second = ("]" in head or "[" in rest) and _SECOND_ACTION.search(text)
    if second or (lines and len(_ACTION_LINE.findall(text)) > 1):
        return Parsed(parsed.action, "multiple_actions_not_allowed", echo(text))
    if lines:
        return Parsed(None, "invalid_format", echo(text))
    return parsed


# Rollouts of one task click and search the same few texts again and again.
_from_known_text = lru_cache(maxsize=8_192)(_from_text)
