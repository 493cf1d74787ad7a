"""No held-out task gets into training data unasked.

Belongs here: which episodes of a recording may be exported. How texts of tasks are compared is in
`shopsim_env.contamination`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.contamination import HELD_OUT, check_contamination
from shopsim_env.errors import RunError, TaskError
from shopsim_env.exports.recorded import Place
from shopsim_env.release import Release

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Guard:
    """What may be exported.

    Args:
        release: The release that was played.
        splits: Only tasks of these splits; all when empty. A held-out split named here is exported.
        held_out: Splits that must stay unseen.

    Raises:
        TaskError: a split that the release does not have (code `unknown_split`).
    """

    release: Release
    splits: tuple[str, ...] = ()
    held_out: tuple[str, ...] = HELD_OUT

    def __post_init__(self) -> None:
        known = self.release.splits
        unknown = [name for name in (*self.splits, *self.held_out) if name not in known]
        if unknown:
            raise TaskError(f"split: expected some of {sorted(known)}, found {unknown}", code="unknown_split")

    def allowed(self, places: Sequence[Place], counts: Counter[str]) -> list[Place]:
        """The places that may be exported; those of other splits are counted (`other_split`).

        Raises:
            RunError: an episode of another release (code `other_release`), or of a held-out task whose split
                was not asked for by name (code `held_out`).
        """
        self._check_release(places)
        rlve = [place for place in places if place.row.world]
        if rlve:
            return self._of_rlve(places, rlve)
        wanted = {task_id for name in self.splits for task_id in self.release.splits[name]}
        kept = [place for place in places if not self.splits or place.row.task_id in wanted]
        counts["other_split"] += len(places) - len(kept)
        self._check_tasks(kept)
        return kept

    def _of_rlve(self, places: Sequence[Place], rlve: list[Place]) -> list[Place]:
        """Episodes of RLVE: their keys are in no split, so there is nothing to hold out."""
        if len(rlve) < len(places) or self.splits:
            found = "--split" if self.splits else "runs of both"
            raise RunError(
                f"expected runs of the Shop or of RLVE, and no --split for RLVE, found {found}",
                code="other_world",
            )
        return rlve

    def near_tasks(self, places: Sequence[Place]) -> list[int]:
        """Tasks of these places whose request or persona repeats that of a held-out task."""
        closed = self._closed()
        if not closed or any(place.row.world for place in places):
            return []
        tasks = sorted({place.row.task_id for place in places})
        rows = [self._shown(task_id) for task_id in tasks]
        report = check_contamination(rows, self.release, closed)
        return sorted({tasks[hit.row - 1] for hit in report.hits})

    def _closed(self) -> tuple[str, ...]:
        return tuple(name for name in self.held_out if name not in self.splits)

    def _shown(self, task_id: int) -> Mapping[str, Any]:
        task = self.release.tasks[task_id]
        return {
            "texts": [text for text in (task.instruction, task.instruction_simple) if text],
            "persona": task.user_persona,
        }

    def _check_release(self, places: Sequence[Place]) -> None:
        others = sorted({place.row.release for place in places} - {self.release.id})
        if others:
            raise RunError(
                f"expected episodes of release {self.release.id}, found some of {others[:3]}; "
                "name the release that was played with --release",
                code="other_release",
            )

    def _check_tasks(self, places: Sequence[Place]) -> None:
        split_of = {task_id: name for name in self._closed() for task_id in self.release.splits[name]}
        found = sorted({place.row.task_id for place in places} & split_of.keys())
        if found:
            names = sorted({split_of[task_id] for task_id in found})
            raise RunError(
                f"{len(found)} tasks of these episodes are held out ({', '.join(names)}), such as "
                f"{found[:_SHOWN]}; "
                f"name the splits to train on with --split, or {names[0]} itself to export it",
                code="held_out",
            )
