"""What each request of `/v1/rlve` may hold, with examples. For RLVE what `bodies` is for the Shop.

Belongs here: names, types, bounds.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from shopsim_env.rlve.difficulty import MOST_OF_AXES, Axes, axes
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.server.bodies import EXAMPLE_KEY, FENCE, REQUEST, WAITING
from shopsim_env.server.fields import Field, Flag, Number, Table, Text, Turn
from shopsim_env.server.problems import ProblemError

LANGUAGES: Final = ("zh", "en")
MAX_SERVED_DIFFICULTY: Final = 100
_MAX_COUNT: Final = 500
"""Of an axis that counts, and of d above: what strangers may make the server draw in one go."""
_MAX_OF: Final = {"top_k": 200, "B_tool": 64}
_MOST_HITS: Final = 4_000
"""Hits of a search and calls of a turn multiply: 500 of both made one turn of 48 KB answer 85 MB in 4 s;
200 and 64 kept everybody waiting for 490 ms."""
_INT63: Final = 2**63 - 1


def _axis(name: str, kind: object) -> Number:
    if kind is int:
        most = min(_MAX_OF.get(name, _MAX_COUNT), MOST_OF_AXES.get(name, _MAX_COUNT))
        return Number(about="a count", least=1, most=most)
    return Number(about="a share", least=0, most=1, whole=False)


LANGUAGE: Final = Text(about="language of customer and tools", choices=LANGUAGES, default="zh")
RLVE_RESET: Final[dict[str, Field]] = {
    "env_id": Text(about="environment", required=True, choices=tuple(ENVIRONMENTS)),
    "difficulty": Number(about="d", required=True, least=0, most=MAX_SERVED_DIFFICULTY),
    "seed": Number(about="seed of the episode", required=True, least=0, most=_INT63),
    "language": LANGUAGE,
    "overrides": Table(
        about="axes by name instead of those of d, for ablations",
        members={item.name: _axis(item.name, item.type) for item in fields(Axes)},
        default={},
    ),
    "strict": Flag(
        about="true: a turn that cannot be read or an illegal call ends the episode with the failure score, "
        "as in training; false: it is refused with the reason and does not count, for people",
        default=True,
    ),
    "tools": Text(
        about="tool schemas in the answer: a list for function calling, or none",
        choices=("functions", "none"),
        default="functions",
    ),
    **WAITING,
}


def check_hits(difficulty: int, overrides: Mapping[str, Any]) -> None:
    """Refuses an episode whose single turn may bring too many hits; no difficulty by itself does.

    Raises:
        ProblemError: `out_of_range`.
        UsageError: as `axes`.
    """
    found = axes(difficulty, overrides)
    if found.top_k * found.B_tool > _MOST_HITS:
        raise ProblemError(
            f"overrides: expected top_k times B_tool of at most {_MOST_HITS}, found {found.top_k} times "
            f"{found.B_tool}",
            code="out_of_range",
        )


RLVE_STEP: Final[dict[str, Field]] = {
    "turn": Turn(about="the agent's turn, docs/rlve-server.md", required=True),
    "fence": FENCE,
    "request_id": REQUEST,
}
RLVE_INFO_QUERY: Final[dict[str, Field]] = {"language": LANGUAGE}

_ASKING: Final = {"assistant_message": "请问还有什么要求吗？"}
_CALL: Final = {"name": "catalog.search", "args": {"query": "", "filters": {"price_max": 50}}}
_ANSWER: Final = {"recommended_product_ids": ["p_0123456789ab"], "done": True}
RLVE_EXAMPLES: Final[dict[str, list[dict[str, Any]]]] = {
    "rlve_reset": [
        {"env_id": "PD", "difficulty": 2, "seed": 7, "request_id": EXAMPLE_KEY},
        {"env_id": "POLICY", "difficulty": 4, "seed": 1, "language": "en", "overrides": {"p_noise": 0}},
    ],
    "rlve_step": [
        {"turn": _ASKING, "fence": 1, "request_id": "1"},
        {"turn": {"assistant_message": "好的，我来看看。", "tool_calls": [_CALL]}, "fence": 1},
        {"turn": '{"assistant_message": "推荐这一款。", "answer": {"done": true}}', "fence": 1},
        {"turn": {"assistant_message": "推荐这一款。", "answer": _ANSWER}, "fence": 1},
    ],
}
