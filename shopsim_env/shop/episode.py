"""Types of an episode: what `ShopEnv` returns and what it needs of a release. No behaviour.

Goals appear here as a type only; `Reset` and `Step` never hold one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shopsim_env.catalog.product import Product
from shopsim_env.private import Goal
from shopsim_env.search.result import SearchResult
from shopsim_env.tasks.model import Task


class Goals(Protocol):
    """The private side of a release."""

    def goal(self, task_id: int, /) -> Goal:
        """The goal of one task."""


class ReleaseLike(Protocol):
    """What an episode needs of a release."""

    @property
    def tasks(self) -> Mapping[int, Task]:
        """Public tasks by id."""

    @property
    def splits(self) -> Mapping[str, tuple[int, ...]]:
        """Split names and their task ids."""

    def product(self, asin: str, /) -> Product:
        """The product with this asin."""

    def search(self, query: str, top_k: int, /) -> SearchResult:
        """Ranked hits."""

    def private(self) -> Goals:
        """Goals; a public copy raises ReleaseError."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Start of an episode. `observation_state` and `user_persona` are fresh copies."""

    task_instruction: str
    observation: str
    observation_state: dict[str, Any]
    user_persona: dict[str, Any]
    task_id: int
    task_mode: str
    interaction_mode: str
    environment_version: str


@dataclass(frozen=True, slots=True)
class Step:
    """Outcome of one action or of a forced end.

    `reward` is `r_strict` after a purchase and 0.0 otherwise. `terminated` marks a purchase, `truncated` an
    `action_limit` or `generation_length`; `done` is either. `reward_detail` is empty until the end and then
    holds numbers and codes only. `action_feedback` is None after `terminate`. `info` counts actions and says
    what was bought. Steps in one process are always `valid`; servers and pools set the two last fields when
    the infrastructure failed, with `reward` None.
    """

    observation: str
    observation_state: dict[str, Any]
    reward: float | None
    terminated: bool
    truncated: bool
    done: bool
    termination_reason: str | None
    action_feedback: dict[str, Any] | None
    reward_detail: dict[str, Any]
    info: dict[str, Any] = field(default_factory=dict)
    valid: bool = True
    failure_kind: str | None = None
