"""The parts of a release that episodes need, written from finished artifacts.

Two stages compose them: `witnesses`, to play every task, and `release`, which adds the rest. No rule about
products or tasks; the tables are in `task_tables` and `search_index`.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.stages.search_index import add_title_nouns
from pipelines.stages.task_tables import write_task_tables
from shopsim_env.canonical import pretty_json
from shopsim_env.release import layout


@dataclass(frozen=True, slots=True)
class PlayableParts:
    """Verified artifact files and facts that an episode depends on."""

    catalog: Path
    search_arrays: Path
    title_nouns: Mapping[str, tuple[str, ...]]
    cleaned: Path
    splits: Mapping[str, Iterable[int]]
    inactive_tasks: Mapping[int, str]


def write_playable(
    parts: PlayableParts, root: Path, marks: Mapping[int, Sequence[str]] | None = None
) -> dict[str, int]:
    """Writes catalogue, search arrays, tasks, goals and splits below `root`, which is made.

    Args:
        parts: What goes in.
        root: Staged release folder.
        marks: Task id to what the audit says of it in public; None where nobody reads them.

    Returns:
        Counts of tasks by kind, of inactive tasks and of dropped blank targets.
    """
    for name in (layout.CATALOG, layout.SEARCH_ARRAYS, layout.GOALS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(parts.catalog, root / layout.CATALOG)
    shutil.copyfile(parts.search_arrays, root / layout.SEARCH_ARRAYS)
    add_title_nouns(root / layout.CATALOG, parts.title_nouns)
    splits = {name: sorted(ids) for name, ids in sorted(parts.splits.items())}
    (root / layout.SPLITS).write_bytes(pretty_json(splits).encode("utf-8"))
    return write_task_tables(
        parts.cleaned, root, splits=parts.splits, inactive_tasks=parts.inactive_tasks, marks=marks or {}
    )
