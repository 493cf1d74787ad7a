"""What of a persona an agent may see.

Belongs here: the removal of user ids, timestamps, reasoning and every trace of the gold product id, and the
view without searches. Source: contract 7.8. Odd values of the published data (a trailing
comma) stay as they are.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from shopsim_env.canonical import compact_json
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.text.normalize import fold

PERSONA_VIEWS = ("default", "without_searches")
"""What `ShopEnv(persona_view=...)` may be."""

USER_ID_NAMES = frozenset({"userid", "user_id", "用户id", "用户_id"})
_REASONING = ("reason", "推理", "理由", "原因", "依据")
_TIME_ENDINGS = ("时间", "日期", "timestamp", "_at", "_time")
_MOMENT = re.compile(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}[0-9:.Z+\-]*[,\s]*")
_SEARCHES = ("搜索", "search")

_Keep = Callable[[str, Any], bool]


def project_persona(raw: Mapping[str, Any], forbidden_asin: str) -> dict[str, Any]:
    """The public persona: a deep copy without ids, timestamps, reasoning and the gold product id.

    Args:
        raw: The persona of a raw record, JSON values; nesting is free (交易特征 may stand inside 行为特征).
        forbidden_asin: The gold product id; every entry that contains it, in any width, is left out.

    Raises:
        TaskError: the id is blank (code `persona_without_asin`) or would still be visible (code
            `persona_leak`). No message shows it.
    """
    forbidden = _plain(forbidden_asin)
    if not forbidden:
        raise TaskError(
            "expected the product id of the goal to project a persona; found a blank one. "
            "Pass the asin of the task's product.",
            code="persona_without_asin",
        )

    def is_public(key: str, value: Any) -> bool:
        if _is_private_key(key) or forbidden in _plain(key):
            return False
        return isinstance(value, (Mapping, list, tuple)) or not _is_private_value(value, forbidden)

    projected: dict[str, Any] = _filtered(raw, is_public)
    if forbidden in _plain(compact_json(projected)):
        raise TaskError(
            "a persona still holds the product id of its goal after projection; expected none. "
            "Quarantine this task and report the persona's shape.",
            code="persona_leak",
        )
    return projected


def without_searches(persona: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a projected persona without recent searches, which often repeat the goal."""

    def is_no_search(key: str, _value: Any) -> bool:
        return not any(word in _plain(key) for word in _SEARCHES)

    projected: dict[str, Any] = _filtered(persona, is_no_search)
    return projected


def shown_persona(persona_json: str | None, view: str) -> dict[str, Any]:
    """A fresh copy of a task's persona in one of `PERSONA_VIEWS`; `{}` for a task without one.

    Args:
        persona_json: `Task.persona_json`.
        view: "default" or "without_searches".

    Raises:
        UsageError: another view.
    """
    if view not in PERSONA_VIEWS:
        raise UsageError(f"persona_view: expected one of {list(PERSONA_VIEWS)}, found {view!r}")
    if not persona_json:
        return {}
    persona: dict[str, Any] = json.loads(
        persona_json if view == "default" else _without_searches(persona_json)
    )
    return persona


# Rollouts of one task show the same persona again and again.
@lru_cache(maxsize=4_096)
def _without_searches(persona_json: str) -> str:
    return compact_json(without_searches(json.loads(persona_json)))


def _filtered(value: Any, keep: _Keep) -> Any:
    """A deep copy with the entries that `keep` accepts; entries of lists are asked for with the key ""."""
    if isinstance(value, Mapping):
        return {str(key): _filtered(item, keep) for key, item in value.items() if keep(str(key), item)}
    if isinstance(value, (list, tuple)):
        return [_filtered(item, keep) for item in value if keep("", item)]
    return value


def _is_private_key(key: str) -> bool:
    name = _plain(key)
    if name in USER_ID_NAMES or any(word in name for word in _REASONING):
        return True
    return name.endswith(_TIME_ENDINGS)


def _is_private_value(value: Any, forbidden: str) -> bool:
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return True
    return forbidden in _plain(str(value))


def _plain(text: str) -> str:
    """NFKC, case folded, without blanks."""
    return "".join(fold(text).split())
