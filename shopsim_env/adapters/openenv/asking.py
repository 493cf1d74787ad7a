"""What a reset may ask for: every argument checked, because the socket hands them on as they came.

Belongs here: names, bounds, and which task is meant. No episode is touched.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.errors import TaskError, UsageError
from shopsim_env.release import Release
from shopsim_env.server.bodies import ENVIRONMENT
from shopsim_env.server.fields import Field, Flag, Number, Text, out_of_range, read_fields
from shopsim_env.server.problems import ProblemError
from shopsim_env.shop.briefing import find_task

_INT64: Final = 2**63 - 1
_DRAWN: Final = 2**31
DEFAULT_SPLIT: Final = "project/train"

RESET: Final[dict[str, Field]] = {
    "task_id": Number(about="task to play", least=0, most=_INT64, nullable=True),
    "split": Text(about="split to choose from", longest=200, nullable=True),
    "index": Number(about="place of the task in its split", least=0, most=_INT64, nullable=True),
    "seed": Number(
        about="seed of the draw without an index, and of the shopper's wordings",
        least=0,
        most=_INT64,
        nullable=True,
    ),
    "episode_id": Text(
        about="name of the episode in the state", longest=128, pattern="[A-Za-z0-9_.:-]{1,128}", nullable=True
    ),
    "tools": Text(about="whether the reset shows tool schemas", choices=("none", "static"), default="none"),
    "structured": Flag(about="whether observations carry the structured state too", default=False),
    **ENVIRONMENT,
}
"""Arguments of `reset`; those of `ShopEnv` are the server's."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked request: a task, or a split to draw from by the seed."""

    task_id: int | None
    split: str | None
    seed: int | None
    episode_id: str
    tools: str
    structured: bool
    options: dict[str, Any]


def read_asked(
    release: Release, given: Mapping[str, Any], default_split: str, options: Mapping[str, Any]
) -> Asked:
    """What the arguments of a reset ask for; `options` are the server's own instead of those of `ShopEnv`.

    Without an index a task is drawn by the seed, and without a seed by one that the state tells.

    Raises:
        ProblemError, UsageError, TaskError: unknown arguments, wrong types, values out of range, unknown
            tasks and splits, a task and a split at once.
    """
    fields = read_fields(RESET, {**options, **given}, "reset")
    task_id, split = _chosen(release, fields, default_split)
    seed = fields["seed"]
    if split is not None and seed is None:
        seed = secrets.randbelow(_DRAWN)
    return Asked(
        task_id,
        split,
        seed,
        fields["episode_id"] or secrets.token_hex(16),
        fields["tools"],
        fields["structured"],
        {name: fields[name] for name in ENVIRONMENT},
    )


def split_of(release: Release, name: str) -> tuple[int, ...]:
    """The task ids of a split, in their order.

    Raises:
        TaskError: unknown split.
    """
    if name not in release.splits:
        raise TaskError(f"split: expected one of {sorted(release.splits)}", code="unknown_split")
    return release.splits[name]


def _chosen(release: Release, fields: dict[str, Any], default_split: str) -> tuple[int | None, str | None]:
    """A task, or a split to draw from: exactly one of them."""
    task_id, split, index = fields["task_id"], fields["split"], fields["index"]
    if task_id is not None:
        if split is not None or index is not None:
            message = "expected a task_id, or a split and an index, found both"
            raise UsageError(message, code="task_and_split")
        return find_task(release.tasks, task_id).task_id, None
    if split is None and index is not None:
        raise ProblemError("split: expected one for the index, found none", code="missing_field")
    ids = split_of(release, default_split if split is None else split)
    if index is None:
        return None, default_split if split is None else split
    if index >= len(ids):
        raise out_of_range("index", f"0 to {len(ids) - 1}", index)
    return ids[index], None
