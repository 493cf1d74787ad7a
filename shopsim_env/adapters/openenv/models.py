"""What travels: action, observations of a reset and of a step, state, as models of the package.

Belongs here: fields and their descriptions, which end up in `/schema`. Nothing private and no metadata: the
package sends an observation's `metadata` to the client, twice.
"""

from typing import Any

from openenv.core.env_server import Action, Observation, State
from pydantic import Field, model_validator

_SPELLINGS = (
    "One action: the text search[QUERY], click[VALUE] or ask_shopper[MESSAGE] (multi-turn only), or a tool "
    'call such as {"name": "click", "arguments": {"value": "buy now"}}. What can be clicked stands in the '
    "observation. An action that the page does not offer counts, and the next observation says why."
)


class ShopAction(Action):
    """One action in any spelling; what it means, and whether it means anything, is the episode's business."""

    action: str | dict[str, Any] | list[dict[str, Any]] = Field(description=_SPELLINGS)

    @model_validator(mode="before")
    @classmethod
    def _bare_tool_call(cls, data: Any) -> Any:
        """Takes a tool call in place of the whole object: models asked for JSON write one."""
        if isinstance(data, dict) and "action" not in data and ("name" in data or "function" in data):
            return {"action": data}
        return data


class ShopReset(Observation):
    """The start of an episode."""

    task_instruction: str = Field(description="what the shopper wants, in words")
    user_persona: dict[str, Any] = Field(description="facts about the shopper; empty where a task has none")
    observation: str = Field(description="the page as text, with every text that can be clicked")
    task_id: int = Field(description="task of the release")
    task_mode: str = Field(description="persona or standard")
    interaction_mode: str = Field(description="single_turn or multi_turn")
    environment_version: str = Field(description="version of the rules")
    observation_state: dict[str, Any] | None = Field(
        default=None, description="the page as data, if asked for"
    )
    tools: list[dict[str, Any]] | None = Field(default=None, description="tool schemas, if asked for")


class ShopObservation(Observation):
    """What came of an action; `reward` is 0 until the end and null when the episode had ended before."""

    observation: str = Field(description="the page as text, with every text that can be clicked")
    action_feedback: dict[str, Any] | None = Field(description="whether the action was taken, and why not")
    terminated: bool = Field(description="something was bought")
    truncated: bool = Field(description="the limit of actions was reached")
    termination_reason: str | None = Field(description="purchase, action_limit, or null")
    reward_detail: dict[str, Any] = Field(
        description="components of the reward, at the end; numbers and codes"
    )
    info: dict[str, Any] = Field(description="counts of actions, and what was bought")
    observation_state: dict[str, Any] | None = Field(
        default=None, description="the page as data, if asked for"
    )


class ShopState(State):
    """How far an episode is. `reward` is null until the end."""

    task_id: int | None = Field(default=None, description="task of the release")
    seed: int | None = Field(default=None, description="seed of the reset, drawn if none was given")
    done: bool = Field(default=False, description="whether the episode has ended")
    termination_reason: str | None = Field(default=None, description="why it ended")
    reward: float | None = Field(default=None, description="reward of the episode, once it has ended")
