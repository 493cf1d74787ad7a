"""The audit of the real records: findings by code, labels, near duplicates across splits, seconds.

    .venv/bin/python -m benchmarks.audit [--shared DIR] [--json]

The records carry no licence: they stay outside the project, and only numbers and codes leave this program.
"""

import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.real_records import measure_real
from benchmarks.real_tasks import (
    attach_tasks,
    build_release,
    goals_by_asin,
    read_lines,
    write_archive,
)
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.labels import TaskLabels, label_case, worst
from pipelines.stages.audit.run import run_audit
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.json_archive import iter_array
from shopsim_env import load_release
from shopsim_env.release.layout import CLEANED_EXPORT


def measure(shared: Path, folder: Path) -> dict[str, Any]:
    """Builds a release from the real records and audits it.

    Args:
        shared: Folder that holds `real/products.jsonl.gz` and its neighbours.
        folder: Empty folder for the archive, the artifacts and the release.

    Raises:
        RuntimeError: the build published no release.
    """
    real, fates, archive = shared / "real", Counter[str](), folder / "raw.json"
    rows = attach_tasks(read_lines(real / "products.jsonl.gz"), read_lines(real / "tasks.jsonl.gz"), fates)
    write_archive(rows, archive)
    build = build_release(archive, folder)
    if build.release is None:
        raise RuntimeError("no release was published:\n" + "\n".join(build.problems))
    cleaned = Path(build.release) / CLEANED_EXPORT
    started = time.perf_counter()
    findings = run_audit(iter_array(archive), iter_cleaned(cleaned), {})
    audited = time.perf_counter()
    labels = [row for case in iter_cases(iter_cleaned(cleaned)) for row in label_case(case)]
    labelled = time.perf_counter()
    with load_release(build.release) as release:
        playable = {row["asin"] for row in read_lines(real / "playable_tasks.jsonl.gz")}
        chosen = {goal.task_id for goal in goals_by_asin(release, playable).values()}
        near = release.metrics["contamination"]["near_duplicates"]["pairs"]
        tasks = len(release.tasks)
    return {
        "products": build.ingest["product_count"],
        "active_tasks": tasks,
        "findings": dict(Counter(item.code for item in findings).most_common()),
        "playable_tasks": len(chosen),
        "playable": dict(Counter(item.code for item in findings if item.task_id in chosen).most_common()),
        "labels": _labels(labels),
        "labels_of_playable": _labels([row for row in labels if row.task_id in chosen]),
        "near_duplicates_across_splits": len(near),
        "seconds": {"audit": round(audited - started, 2), "labels": round(labelled - audited, 2)},
        "machine": f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors",
    }


def _labels(rows: list[TaskLabels]) -> dict[str, dict[str, dict[str, int]]]:
    """Mode -> kind -> worst label -> tasks; and how many tasks are derivable without and with attributes."""
    result = {}
    for mode in ("standard", "persona"):
        chosen = [row for row in rows if row.mode == mode]
        result[mode] = {
            "options": _counts(worst(row.option_labels) for row in chosen),
            "attributes": _counts(worst(row.attribute_labels) for row in chosen),
            "budget": _counts(row.budget_label for row in chosen),
            "derivable": {
                "all_facts": sum(row.derivable for row in chosen),
                "options_and_budget": sum(
                    "underivable" not in (*row.option_labels, row.budget_label) for row in chosen
                ),
                "tasks": len(chosen),
            },
        }
    return result


def _counts(labels: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(labels).items()))


def as_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report for a person: one line per figure."""
    for name, value in report.items():
        if name.startswith("labels"):
            yield name
            for mode, kinds in value.items():
                yield from (f"  {mode:<9} {kind:<11} {json.dumps(counts)}" for kind, counts in kinds.items())
        else:
            yield f"{name:<32} {json.dumps(value)}"


def main() -> int:
    report, as_json = measure_real("benchmarks.audit", __doc__, measure)
    print(json.dumps(report, indent=2) if as_json else "\n".join(as_lines(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
