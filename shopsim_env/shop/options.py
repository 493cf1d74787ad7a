"""The options of an episode: which exist, what each may be, and what a trace has to record of them.

Belongs here: checked values and their defaults. What they mean for an episode is in `env`. No goals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from shopsim_env.errors import TaskError, UsageError
from shopsim_env.reward.option import OPTION_RULES
from shopsim_env.shop.styles import RENDERERS
from shopsim_env.tasks.persona import PERSONA_VIEWS
from shopsim_env.versions import ACTION_LIMITS, PAGE_SIZE

TASK_MODES = ("persona", "standard")
INTERACTION_MODES = tuple(ACTION_LIMITS)


@dataclass(frozen=True, slots=True)
class EnvOptions:
    """Options of `ShopEnv` after the check.

    Raises:
        UsageError: an unknown mode, rule, style or view; a limit or page size out of range.
    """

    task_mode: str
    interaction_mode: str
    option_match: str
    max_actions: int
    page_size: int
    observation_style: str
    max_invalid: int | None
    persona_view: str

    def __post_init__(self) -> None:
        one_of("task_mode", self.task_mode, TASK_MODES)
        one_of("interaction_mode", self.interaction_mode, INTERACTION_MODES)
        one_of("option_match", self.option_match, OPTION_RULES)
        one_of("observation_style", self.observation_style, tuple(RENDERERS))
        one_of("persona_view", self.persona_view, PERSONA_VIEWS)
        object.__setattr__(self, "max_actions", _at_least_one("max_actions", self.max_actions))
        object.__setattr__(self, "page_size", _at_least_one("page_size", self.page_size, PAGE_SIZE))
        if self.max_invalid is not None:
            object.__setattr__(self, "max_invalid", _at_least_one("max_invalid", self.max_invalid))

    def as_dict(self) -> dict[str, Any]:
        """Keywords that make a `ShopEnv` which plays the same."""
        return {name: getattr(self, name) for name in _NAMES}


_NAMES = tuple(item.name for item in fields(EnvOptions))
_known_options = lru_cache(maxsize=64, typed=True)(EnvOptions)


def options_of(**given: Any) -> EnvOptions:
    """Checked options. Kept, because the episodes of a server ask for the same few.

    Raises:
        UsageError: as `EnvOptions`.
    """
    try:
        return _known_options(**given)
    except TypeError:  # a value that is no key; the check says what is wrong with it
        return EnvOptions(**given)


def action_limit(interaction_mode: str, max_actions: int | None) -> int:
    """`max_actions`, else the mode's own limit."""
    own = ACTION_LIMITS[one_of("interaction_mode", interaction_mode, INTERACTION_MODES)]
    return own if max_actions is None else max_actions


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """`value`, which must be one of `allowed`."""
    if value not in allowed:
        raise UsageError(f"{name}: expected one of {list(allowed)}, found {value!r}")
    return value


def integer(name: str, value: object, error: type[TaskError] | type[UsageError] = UsageError) -> int:
    """`value` as an int; anything with `__index__` is one, a bool is not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise error(f"{name}: expected an integer, found {value!r}")
    return int(value.__index__())


def split_ids(splits: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    """The task ids of a split that tasks can be drawn from.

    Raises:
        TaskError: unknown split, or one without tasks.
    """
    if name not in splits:
        raise TaskError(f"split: expected one of {sorted(splits)}, found {name!r}", code="unknown_split")
    if not splits[name]:
        raise TaskError(f"split {name!r} has no tasks in this release", code="empty_split")
    return tuple(splits[name])


def _at_least_one(name: str, value: int, most: int | None = None) -> int:
    limit = integer(name, value)
    if limit < 1 or (most is not None and limit > most):
        upper = "" if most is None else f" and at most {most}"
        raise UsageError(f"{name}: expected at least 1{upper}, found {limit}")
    return limit
