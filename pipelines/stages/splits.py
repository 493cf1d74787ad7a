"""Source splits: from which part of the source a task comes. The project's splits are in `project_splits`.

A data set with known bounds (configuration) is cut by raw product index, any other by its products' `tag`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.errors import ConfigError, DatasetError
from pipelines.stages.task_ids import TaskRow, active_tasks

SOURCE_SPLITS_VERSION = "shopsimulator-stable-task-splits-v2"
ID_SEMANTICS = "IDs assigned before filtering; gaps are intentional"
_TAGS = ("eval", "train", "")


@dataclass(frozen=True, slots=True)
class SourceBounds:
    """One source split: products with raw index in [start, stop).

    `persona` says for which task mode the split is meant (None: both); it does not filter: the published
    `standard_eval` holds the `persona_eval` tasks too, to be played with their full text.
    """

    name: str
    start: int
    stop: int
    persona: bool | None


def build_source_splits(
    tasks: Sequence[TaskRow],
    excluded: frozenset[int],
    bounds: Sequence[SourceBounds] | None = None,
) -> dict[str, Any]:
    """Source splits in the published format, active ids ascending.

    Args:
        tasks: All tasks of the raw corpus.
        excluded: Source indices of the excluded products.
        bounds: Cuts by raw product index; None cuts by tag, see `tag_splits`.

    Raises:
        ConfigError: Bounds that overlap themselves or repeat a name.
        DatasetError: A tag other than eval and train where tags decide.
    """
    active = active_tasks(tasks, excluded)
    splits = tag_splits(active) if bounds is None else _bound_splits(active, bounds)
    return {
        "version": SOURCE_SPLITS_VERSION,
        "id_semantics": ID_SEMANTICS,
        "source_task_count": len(tasks),
        "active_task_count": len(active),
        "splits": splits,
    }


def tag_splits(active: Iterable[TaskRow]) -> dict[str, dict[str, Any]]:
    """The five published splits for data without bounds; `standard_eval` again holds all eval tasks.

    A product without a tag counts as train: an evaluation set is something that a source declares.
    """
    chosen: dict[str, list[int]] = {name: [] for name in _TAG_SPLITS}
    for task in active:
        if task.tag not in _TAGS:
            raise DatasetError(
                f"expected the tag eval or train, found {task.tag!r}; configure source bounds instead",
                record=task.source_product_index,
                field="tag",
                code="unknown_tag",
            )
        for name in _splits_of(task):
            chosen[name].append(task.task_id)
    return {name: {"task_ids": sorted(ids), "persona": _TAG_SPLITS[name]} for name, ids in chosen.items()}


_TAG_SPLITS: dict[str, bool | None] = {
    "persona_eval": True,
    "standard_eval": False,
    "persona_train": True,
    "standard_train": False,
    "all_train": None,
}


def _splits_of(task: TaskRow) -> tuple[str, ...]:
    if task.tag == "eval":
        return ("persona_eval", "standard_eval") if task.persona else ("standard_eval",)
    return ("persona_train" if task.persona else "standard_train", "all_train")


def _bound_splits(active: Sequence[TaskRow], bounds: Sequence[SourceBounds]) -> dict[str, dict[str, Any]]:
    splits: dict[str, dict[str, Any]] = {}
    for bound in bounds:
        if bound.name in splits or not 0 <= bound.start <= bound.stop:
            raise ConfigError(
                f"source split {bound.name!r}: expected a name used once and 0 <= start <= stop, "
                f"found [{bound.start}, {bound.stop})"
            )
        ids = [task.task_id for task in active if bound.start <= task.source_product_index < bound.stop]
        splits[bound.name] = {"task_ids": sorted(ids), "persona": bound.persona}
    return splits
