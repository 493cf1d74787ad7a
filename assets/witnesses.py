"""Group `release`, before the release itself: how every task can be won, played on staged parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import all_splits, derivable
from assets._materialize import OWNERS, Facts, materialize
from assets._playable import staged
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.clean_splits import CLEAN
from pipelines.stages.witness_report import ALL_TASKS, Shares, summarise_witnesses
from pipelines.stages.witnesses import make_witnesses, read_witnesses, write_witnesses
from shopsim_env.private import GRADES

WITNESSES = code_version("witnesses", "pipelines.stages.witnesses", "pipelines.stages.playable")
PARENTS = (
    "task_ids",
    "price_axis_exclusions",
    "cleaned_v2",
    "task_labels",
    "source_splits",
    "persona_splits",
    "clean_splits",
    "title_nouns",
    "search_index",
    "search_arrays",
)
_COUNTS = ("tasks", *GRADES, "all_grades")


@dg.asset(
    deps=PARENTS,
    group_name="release",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=WITNESSES,
)
def witnesses(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """For every task and mode an action list that reaches full reward, or a reason code, and its grades."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        stated = derivable(work)
        with staged(work) as root, work.progress("witnesses") as on_progress:
            made = make_witnesses(root, stated, workers=work.workers(), on_progress=on_progress)
            rows = write_witnesses(path, made)
        shares = summarise_witnesses(read_witnesses(path), all_splits(work))
        return Facts(
            rows,
            numbers={"shares": dg.MetadataValue.json(shares)},
            preview=(preview := list(_preview(shares))),
            preview_rows=len(preview),
            bars=_bars(shares),
            columns={"task_id": "int", "mode": "str", "grades": "list", "reason": "str", "actions": "list"},
        )

    return materialize(work, "witnesses", "witnesses.jsonl", WITNESSES, write, parents=PARENTS)


def _preview(shares: Shares) -> Iterator[dict[str, Any]]:
    for split, modes in shares.items():
        for mode, entry in modes.items():
            yield {"split": split, "mode": mode, **{name: entry[name] for name in _COUNTS}}


def _bars(shares: Shares) -> dict[str, dict[str, float]]:
    """Per mode the share of each grade in each published split, and why tasks have no action list."""
    bars: dict[str, dict[str, float]] = {}
    for mode, entry in shares[ALL_TASKS].items():
        bars[f"{mode} mode: percent of tasks"] = {
            f"{split}: {grade}": round(100 * modes[mode][grade] / modes[mode]["tasks"], 1)
            for split, modes in shares.items()
            if mode in modes and not split.endswith(CLEAN)
            for grade in GRADES
        }
        bars[f"{mode} mode: without an action list"] = entry["reasons"]
    return bars
