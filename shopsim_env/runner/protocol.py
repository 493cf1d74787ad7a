"""Reading one assistant message: exactly one call of an offered tool, or a typed error for the model.

Belongs here: the form of an answer and the words about a broken one. Whether the page allows the action is
the environment's business: a value that is not on the page goes there and is refused there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from shopsim_env.canonical import compact_json
from shopsim_env.shop.actions import Action, AskShopper, Click, Search
from shopsim_env.shop.display import well_formed

PROTOCOL_CODES: Final = (
    "invalid_message",
    "invalid_tool_calls",
    "empty_response",
    "tool_call_count",
    "mixed_content",
    "invalid_tool_call",
    "missing_function",
    "missing_tool_name",
    "unavailable_tool",
    "invalid_arguments_type",
    "invalid_arguments_json",
    "invalid_arguments_object",
    "invalid_tool_arguments",
)
"""What may be wrong with a message, in the order in which it is looked at."""

MOST_SENT: Final = 10_000
"""Characters of an argument that are sent: above what the environment takes, below the body of a request."""

_SHAPES: Final[dict[str, tuple[str, type[Search] | type[Click] | type[AskShopper]]]] = {
    "search": ("query", Search),
    "click": ("value", Click),
    "ask_shopper": ("message", AskShopper),
}
_INSTRUCTIONS: Final = {
    "zh": "请重新作答：只调用一个当前可用的工具，恰好调用一次，参数须符合该工具的定义。",
    "en": "Answer again: call one of the available tools, exactly once, with arguments that fit its schema.",
}
Message = dict[str, Any]


class Fault(NamedTuple):
    """What is wrong with a message: a code of `PROTOCOL_CODES` and a sentence."""

    code: str
    message: str


class Reading(NamedTuple):
    """An assistant message as it was understood.

    Either `action` or `fault` is set. `echo` is the message as it goes back to the model in later turns: with
    an id for every call, and without arguments that are no JSON object, which servers refuse to take back.
    `call_ids` are those of the calls in `echo`.
    """

    action: Action | None
    fault: Fault | None
    echo: Message
    call_ids: tuple[str, ...]


def read_message(
    message: object, available: Sequence[str], turn: int, *, text_beside_call: bool = True
) -> Reading:
    """Reads `{"content": ..., "tool_calls": [...]}` of turn number `turn`.

    Args:
        message: An assistant message in the form of OpenAI; arguments as JSON text or as an object.
        available: Names of the tools that were offered.
        turn: Makes the ids of calls that came without one; ids are the server's doing, not the model's.
        text_beside_call: Whether visible text may stand beside the call.
    """
    echo, calls = _echo(message, turn)
    call_ids = tuple(call["id"] for call in echo.get("tool_calls", ()))
    found = _understood(message, calls, available, text_beside_call)
    if isinstance(found, Fault):
        return Reading(None, found, echo, call_ids)
    return Reading(found, None, echo, call_ids)


def fault_messages(
    fault: Fault, call_ids: Sequence[str], available: Sequence[str], language: str
) -> list[Message]:
    """What the model gets back: one tool message per call, a user message where there was no call."""
    content = compact_json(
        {
            "type": "tool_protocol_error",
            "code": fault.code,
            "message": fault.message,
            "instruction": _INSTRUCTIONS[language],
            "available_tools": list(available),
        }
    )
    if not call_ids:
        return [{"role": "user", "content": content}]
    return [{"role": "tool", "tool_call_id": call_id, "content": content} for call_id in call_ids]


def call_message(name: str, argument: object) -> Message:
    """The assistant message that calls one tool, for callers that have its name and its one argument."""
    text = argument if isinstance(argument, str) else str(argument)
    function = {"name": name, "arguments": compact_json({_SHAPES[name][0]: well_formed(text)})}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def tool_names(tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names in a list of OpenAI function schemas."""
    return tuple(tool["function"]["name"] for tool in tools)


def _understood(
    message: object, calls: "list[Any] | None", available: Sequence[str], text_beside_call: bool
) -> "Action | Fault":
    if not isinstance(message, Mapping):
        return Fault("invalid_message", f"expected an assistant message, found {type(message).__name__}")
    if calls is None:
        return Fault("invalid_tool_calls", "expected tool_calls to be a list")
    text = message.get("content")
    if not isinstance(text, (str, list, type(None))):
        return Fault("invalid_message", f"expected content to be text, found {type(text).__name__}")
    if not calls and not text:
        return Fault("empty_response", "expected one tool call, found neither a call nor text")
    if len(calls) != 1:
        return Fault("tool_call_count", f"expected exactly one tool call, found {len(calls)}")
    if text and not text_beside_call and str(text).strip():
        return Fault("mixed_content", "expected a tool call alone, found text beside it")
    return _called(calls[0], available)


def _called(call: Any, available: Sequence[str]) -> "Action | Fault":
    if not isinstance(call, Mapping):
        return Fault("invalid_tool_call", "expected the call to be an object")
    function = call.get("function")
    if not isinstance(function, Mapping):
        return Fault("missing_function", "expected the call to have a function")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        return Fault("missing_tool_name", "expected the function to have a name")
    if name not in available or name not in _SHAPES:
        return Fault("unavailable_tool", f"expected one of {', '.join(available)}; found another tool")
    arguments = _arguments(function.get("arguments"))
    return arguments if isinstance(arguments, Fault) else _action(name, arguments)


def _arguments(given: Any) -> "Mapping[str, Any] | Fault":
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, str):
        return Fault("invalid_arguments_type", "expected arguments as JSON text, found another type")
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return Fault("invalid_arguments_json", "expected arguments as JSON, found text that is none")
    if not isinstance(value, dict):
        return Fault("invalid_arguments_object", "expected arguments as a JSON object, found another value")
    return value


def _action(name: str, arguments: Mapping[str, Any]) -> "Action | Fault":
    key, kind = _SHAPES[name]
    if set(arguments) != {key} or not isinstance(arguments[key], str):
        return Fault("invalid_tool_arguments", f"expected exactly one argument, {key!r}, as text")
    return kind(bounded(arguments[key]))


def bounded(text: str) -> str:
    """Trimmed text that UTF-8 holds, cut where it is far beyond what the environment reads anyway.

    A longer argument is `too_long` in the environment, and stays so; a request that is refused for its size
    would be a failure of the infrastructure, which a long answer of a model is not.
    """
    return well_formed(text).strip()[:MOST_SENT]


def _echo(message: object, turn: int) -> "tuple[Message, list[Any] | None]":
    """The message as it is kept, and its calls; None when those are no list."""
    if not isinstance(message, Mapping):
        return {"role": "assistant", "content": ""}, []
    content = message.get("content")
    kept: Message = {"role": "assistant", "content": content if isinstance(content, (str, list)) else ""}
    given = message.get("tool_calls")
    calls = list(given) if isinstance(given, (list, tuple)) else [] if given is None else None
    echoed = [_echoed(call, f"call-{turn}-{number}") for number, call in enumerate(calls or (), start=1)]
    if echoed and all(echoed):
        kept["tool_calls"] = echoed
    return kept, calls


def _echoed(call: Any, call_id: str) -> Message | None:
    """A call as a server takes it back; None for what is none."""
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not name or not isinstance(function, Mapping):
        return None
    arguments = function.get("arguments")
    read = _arguments(arguments)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    given = call.get("id")
    return {
        "id": given if isinstance(given, str) and given else call_id,
        "type": "function",
        "function": {"name": name, "arguments": "{}" if isinstance(read, Fault) else text},
    }
