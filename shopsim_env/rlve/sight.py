"""`Sight`: the observation as a scripted agent sees it, with what the customer said also as values.

Belongs here: the value alone. It holds nothing that the customer's words and the tools' results do not say:
a need appears in it when it was told; a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopsim_env.rlve.envs.base import ToolRecord


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
