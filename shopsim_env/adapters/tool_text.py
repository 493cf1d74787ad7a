"""Tool calls that a model wrote as text: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

Belongs here: the form that Hermes and Qwen models are trained on, for trainers that hand over text or tokens.
Whether the calls are proper is judged in `shopsim_env.runner.protocol`, as everywhere.
"""

import json
import re
from typing import Any, Final

from shopsim_env.runner.protocol import Message

_CALL: Final = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
# To its end, or to the end of a text that was cut off while thinking; templates may have opened it already.
_THINKING: Final = re.compile(r"^.*?</think>|<think>.*$", re.DOTALL)


def read_answer(text: str) -> Message:
    """The assistant message in a model's text. Calls inside its thinking are no calls.

    A call that is no JSON object keeps its text as arguments, so that the protocol can say what is wrong.
    """
    said = _THINKING.sub("", text, count=1)
    calls = [_call(found) for found in _CALL.findall(said)]
    content = _CALL.sub("", said).strip()
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _call(text: str) -> Message:
    value = _json(text)
    if not isinstance(value, dict):
        return {"type": "function", "function": {"name": _name(text), "arguments": text.strip()}}
    return {
        "type": "function",
        "function": {"name": value.get("name"), "arguments": value.get("arguments")},
    }


def _name(text: str) -> str:
    """The name in a call that is no JSON, as far as it can be read."""
    found = re.search(r'"name"\s*:\s*"([A-Za-z_]{1,40})"', text)
    return found[1] if found else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
