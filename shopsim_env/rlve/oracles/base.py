"""What a scripted agent gives: `Agent`, and the turns that many agents make."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.sight import Sight

Request = tuple[str, Mapping[str, Any]]
"""Name and arguments of a call."""

_ASK_REST = {"zh": "请问还有什么要求吗？", "en": "Do you have any other requirements?"}
_WORKING = {"zh": "好的，我来看看。", "en": "Sure, let me have a look."}
_DONE = {"zh": "这是我的结果。", "en": "Here is my result."}


class Agent(ABC):
    """Plays one episode; a new one is made for each."""

    @abstractmethod
    def act(self, sight: Sight) -> dict[str, Any]:
        """The agent's turn as JSON (`docs/rlve-tools.md`)."""


def ask_rest(sight: Sight) -> dict[str, Any]:
    """The turn that asks for whatever is still open."""
    return {"assistant_message": _ASK_REST[sight.language]}


def call_tools(sight: Sight, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The turn that makes these calls."""
    return {
        "assistant_message": _WORKING[sight.language],
        "tool_calls": [{"name": name, "args": dict(args)} for name, args in calls],
    }


def answer(sight: Sight, **values: Any) -> dict[str, Any]:
    """The turn that ends the episode, or a journey's part, with this answer."""
    return {
        "assistant_message": _DONE[sight.language],
        "answer": {"env": sight.env_id, "done": True, **values},
    }


def all_filters(sight: Sight) -> dict[str, Any]:
    """The search filter that asks for the request and all told constraints, in stock."""
    parts: Iterable[Mapping[str, Any]] = [
        sight.request.get("filters", {}),
        *(need["filters"] for need in sight.needs.values() if "filters" in need),
        {"in_stock": True},
    ]
    return merge_filters(parts)


def search(sight: Sight, *filters: Mapping[str, Any]) -> Request:
    """The search for all that meets these filters, as far as searches go."""
    return "catalog.search", {"query": "", "filters": merge_filters(filters), "top_k": sight.top_k}


def results_of(records: Sequence[ToolRecord], name: str) -> list[Mapping[str, Any]]:
    """Results of one tool that are no refusals."""
    return [record.result for record in records if record.name == name and "error" not in record.result]
