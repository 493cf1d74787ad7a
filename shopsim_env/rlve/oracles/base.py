"""What a scripted agent sees and gives.

Belongs here: `Sight`, the observation with what the customer said as values, `Agent`, and turns that many agents
make. A `Sight` holds nothing that the customer's words and the tools' results do not say: needs appear in it when
they were told, a test compares the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.envs.base import ToolRecord

_ASK_REST = {"zh": "请问还有什么要求吗？", "en": "Do you have any other requirements?"}
_WORKING = {"zh": "好的，我来看看。", "en": "Sure, let me have a look."}
_DONE = {"zh": "这是我的结果。", "en": "Here is my result."}


@dataclass(frozen=True, slots=True)
class Sight:
    """One turn as a scripted agent sees it.

    Args:
        env_id: Environment; of a journey, that of the part that was brought up last and is not answered.
        language: `zh` or `en`.
        turn: Turns so far. `turns_left` are those that remain, this one included.
        tool_budget: Calls that one turn may hold.
        top_k: Hits that one search may return.
        message: The customer's last words.
        results: Calls of the last turn.
        request: The request as a value.
        needs: Data of the needs that were told, by id; a revised one has its new data.
        open_needs: How many needs are still open, as the opening said.
    """

    env_id: str
    language: str
    turn: int
    turns_left: int
    tool_budget: int
    top_k: int
    message: str
    results: tuple[ToolRecord, ...]
    request: Mapping[str, Any]
    needs: Mapping[str, Mapping[str, Any]]
    open_needs: int


class Agent(ABC):
    """Plays one episode; a new one is made for each."""

    @abstractmethod
    def act(self, sight: Sight) -> dict[str, Any]:
        """The agent's turn as JSON (`docs/rlve-protocol.md`)."""


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


def results_of(records: Sequence[ToolRecord], name: str) -> list[Mapping[str, Any]]:
    """Results of one tool that are no refusals."""
    return [record.result for record in records if record.name == name and "error" not in record.result]
