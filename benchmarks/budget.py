"""Time of the budget parser: CPU time per text over the instructions of a task file, on one thread.

    .venv/bin/python -m benchmarks.budget [TASKS.jsonl[.gz]]

Belongs here: the measurement and the machine's facts. Every line of the file is an object with `instruction`
and `instruction_simple` (null or a text). A text counts with the best of several rounds: other work on the
machine slows rounds down, nothing speeds them up.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import cpu_name
from shopsim_env.tasks.budget import parse_budget

SHARED_TASKS = Path(__file__).resolve().parents[2] / "shared" / "data" / "real" / "tasks.jsonl.gz"
ROUNDS = 9
LIMIT_US = 50


def read_texts(path: Path) -> list[str]:
    """All instructions of the file, in file order."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row[field] for row in rows for field in ("instruction", "instruction_simple") if row[field]]


def time_per_text(texts: Sequence[str]) -> list[float]:
    """Microseconds of CPU time for each text: the best of `ROUNDS` rounds over all texts."""
    for text in texts:
        parse_budget(text)
    rounds = [[_one(text) for text in texts] for _ in range(ROUNDS)]
    return [min(times) / 1000 for times in zip(*rounds, strict=True)]


def _one(text: str) -> int:
    start = time.process_time_ns()
    parse_budget(text)
    return time.process_time_ns() - start


def machine_facts() -> dict[str, object]:
    """What the figures depend on."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one JSON object; exit code 1 when the median is not below `LIMIT_US` microseconds."""
    parser = argparse.ArgumentParser(description="Time the budget parser over the texts of a task file.")
    parser.add_argument("tasks", type=Path, nargs="?", default=SHARED_TASKS)
    texts = read_texts(parser.parse_args(arguments).tasks)
    times = sorted(time_per_text(texts))
    median = statistics.median(times)
    report = {
        "texts": len(texts),
        "median_us": round(median, 1),
        "mean_us": round(statistics.fmean(times), 1),
        "p95_us": round(times[int(0.95 * (len(times) - 1))], 1),
        "median_length": statistics.median(map(len, texts)),
        "machine": machine_facts(),
    }
    print(json.dumps(report, ensure_ascii=False, indent=2))
    return 0 if median < LIMIT_US else 1


if __name__ == "__main__":
    sys.exit(main())
