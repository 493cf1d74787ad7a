"""What each request of `/v1` may hold, with examples. The one place for validators and OpenAPI.

Belongs here: names, types, bounds. Semantics (whether the task exists, who owns the lease) are the pool's.
"""

from typing import Any, Final

from shopsim_env.reward.option import OPTION_RULES
from shopsim_env.server.fields import Action, Field, Flag, Number, Text
from shopsim_env.shop.env import FORCED_ENDS, TASK_MODES
from shopsim_env.shop.styles import RENDERERS
from shopsim_env.tasks.persona import PERSONA_VIEWS
from shopsim_env.versions import ACTION_LIMITS, PAGE_SIZE

LEASE_PATTERN: Final = "[A-Za-z0-9_.-]{16,128}"
TOOL_KINDS: Final = ("dynamic", "static", "none")
MAX_WAIT_S: Final = 3_600.0
DEFAULT_WAIT_S: Final = 60.0
_INT64: Final = 2**63 - 1
EXAMPLE_KEY: Final = "0b1f6c1e7a4b4d0c9e1d5a7c3f2e8b90"

ENVIRONMENT: Final[dict[str, Field]] = {
    "task_mode": Text(
        about="persona: simple text and persona where a task has them; standard: the full text",
        choices=TASK_MODES,
        default="persona",
    ),
    "interaction_mode": Text(
        about="multi_turn: a vague request and a shopper to ask",
        choices=tuple(ACTION_LIMITS),
        default="single_turn",
    ),
    "option_match": Text(about="how options are compared", choices=OPTION_RULES, default="anchored"),
    "max_actions": Number(
        about="limit of actions; null: that of the interaction mode", least=1, most=1_000, nullable=True
    ),
    "page_size": Number(about="products on a results page", least=1, most=PAGE_SIZE, default=PAGE_SIZE),
    "observation_style": Text(about="length of the text", choices=tuple(RENDERERS), default="full"),
    "max_invalid": Number(
        about="refused actions in a row that end the episode; null: any number",
        least=1,
        most=1_000,
        nullable=True,
    ),
    "persona_view": Text(
        about="without_searches: the persona without recent searches, which often repeat the goal",
        choices=PERSONA_VIEWS,
        default="default",
    ),
}
"""Keywords of `ShopEnv`."""

WAITING: Final[dict[str, Field]] = {
    "wait_s": Number(
        about="seconds to wait for a slot", least=0, most=MAX_WAIT_S, default=DEFAULT_WAIT_S, whole=False
    ),
    "request_id": Text(
        about="makes the request repeatable: the same id gives the same lease while it lives. Like a lease "
        "id it must not be guessable: use a new UUID",
        shortest=32,
        longest=128,
        pattern="[A-Za-z0-9_-]{32,128}",
        nullable=True,
    ),
}
_ASK: Final[dict[str, Field]] = {
    "task_id": Number(
        about="task to play; else one is drawn from `split`", least=0, most=_INT64, nullable=True
    ),
    "split": Text(about="split to draw from by `seed`", longest=200, nullable=True),
    "seed": Number(
        about="seed of the draw and of the shopper's wordings", least=-_INT64, most=_INT64, nullable=True
    ),
    **ENVIRONMENT,
    "tools": Text(
        about="tool schemas in the answers: of each page, fixed ones (reset only), or none",
        choices=TOOL_KINDS,
        default="dynamic",
    ),
    **WAITING,
    "private": Flag(about="adds the goal to the answer; needs the admin token", default=False),
}
FENCE: Final = Number(about="current fencing number of the lease", required=True, least=0, most=_INT64)
REQUEST: Final = Text(
    about="makes the request repeatable: an id that the lease has seen gives its first answer again",
    shortest=1,
    longest=128,
    pattern="[A-Za-z0-9_.:-]{1,128}",
    nullable=True,
)

RESET: Final = _ASK
GROUP: Final[dict[str, Field]] = {
    **_ASK,
    "n": Number(about="number of episodes with identical starts", required=True, least=1, most=100_000),
}
STEP: Final[dict[str, Field]] = {
    "action": Action(about="what to do", required=True),
    "fence": FENCE,
    "request_id": REQUEST,
}
TERMINATE: Final[dict[str, Field]] = {
    "reason": Text(about="why the episode ends", required=True, choices=FORCED_ENDS),
    "fence": FENCE,
    "request_id": REQUEST,
}
HEARTBEAT: Final[dict[str, Field]] = {"fence": FENCE}
TAKE_OVER: Final[dict[str, Field]] = {}

EXAMPLES: Final[dict[str, list[dict[str, Any]]]] = {
    "reset": [
        {"task_id": 3, "task_mode": "standard", "request_id": EXAMPLE_KEY},
        {"split": "project/train", "seed": 7, "wait_s": 120},
    ],
    "group": [{"task_id": 3, "n": 8}],
    "step": [
        {"action": "search[收纳盒]", "fence": 1, "request_id": "1"},
        {"action": {"name": "click", "arguments": {"value": "back to search"}}, "fence": 1},
    ],
    "terminate": [{"reason": "generation_length", "fence": 1}],
    "heartbeat": [{"fence": 1}],
    "take_over": [{}],
}
