"""Time and memory of making all witnesses of a release again; the result must be the release's own.

    python -m benchmarks.witnesses RELEASE [--workers N] [--json]

The release is opened as staged parts are, so this measures what the build does between the last index and the
manifest. Exit code 0 when every line is equal, 1 otherwise.
"""

import argparse
import json
import resource
import sys
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pipelines.resources.mapper import LOCAL, load_workers
from pipelines.stages.processes import Workers
from pipelines.stages.witness_report import ALL_TASKS, summarise_witnesses
from pipelines.stages.witnesses import make_witnesses, read_witnesses
from shopsim_env.release.layout import WITNESSES
from shopsim_env.search.measure import machine_facts


def measure(root: Path, workers: Workers) -> dict[str, Any]:
    """Plays every task of the release at `root` again.

    Args:
        root: Release folder with its private part.
        workers: Processes that play.
    """
    stored = list(read_witnesses(root / WITNESSES))
    derivable = {(item.task_id, item.mode): "W3" in item.grades for item in stored}
    started = time.perf_counter()
    made = list(make_witnesses(root, derivable, workers=workers))
    seconds = time.perf_counter() - started
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return {
        "tasks": len({item.task_id for item in stored}),
        "witnesses": len(made),
        "equal": all(one == other for one, other in zip_longest(stored, made)),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(item.ru_utime + item.ru_stime for item in used), 1),
        "peak_mib": {"parent": used[0].ru_maxrss // 1024, "largest_worker": used[1].ru_maxrss // 1024},
        "shares": summarise_witnesses(made, {})[ALL_TASKS],
        "machine": machine_facts(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.witnesses", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("release", type=Path, help="release folder")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: as the build)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    chosen = arguments.workers and Workers(arguments.workers, always=arguments.workers > 1)
    report = measure(arguments.release.resolve(), chosen or load_workers(LOCAL))
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print("\n".join(f"{name:<14} {json.dumps(value)}" for name, value in report.items()))
    return 0 if report["equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
