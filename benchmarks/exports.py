"""Exports of a large recording: episodes a second and peak memory of each kind.

    python -m benchmarks.exports [--episodes N] [--samples N] [--json]

Some episodes of the sample are played by an agent that buys the first result, and written N times under
other ids with rewards in turn: a run folder as a runner writes it. Every kind is a process of its own; memory
is its peak, beside that of a recording of a hundredth of the size.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from recorded_runs import buyer, played, renamed, with_reward
from run_folders import write_run

from shopsim_env import load_release

KINDS = ("sft", "groups", "preferences", "lengths")
REWARDS = (0.0, 0.25, 0.5, 1.0)


def records(count: int, samples: int) -> Iterator[dict[str, Any]]:
    """`count` episodes, `samples` of each task, as many tasks as it takes."""
    with load_release() as release:
        made = [played(release, task_id, 0, buyer()) for task_id in release.splits["project/train"][:32]]
    for number in range(count):
        record = renamed(made[number // samples % len(made)], number)
        yield with_reward(record, REWARDS[number % len(REWARDS)])


def timed(kind: str, run: Path, folder: Path) -> dict[str, float]:
    """Seconds of CPU and peak memory in MB of one export."""
    out = [] if kind == "lengths" else ["--out", str(folder / f"{kind}.jsonl"), "--force"]
    code = (
        "import resource, sys; from shopsim_env.cli import main; code = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "export", kind, str(run), *out, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": time.perf_counter() - begin, "peak_mb": int(done.stderr.split()[-1]) / 1024}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    found: dict[str, Any] = {"episodes": arguments.episodes}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for label, count in (("small", arguments.episodes // 100), ("whole", arguments.episodes)):
            run = write_run(folder / label, records(count, arguments.samples))
            found[f"{label}_mb"] = (run / "traces.jsonl").stat().st_size / 2**20
            found[label] = {kind: timed(kind, run, folder) for kind in KINDS}
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{found['episodes']:,} episodes, {found['whole_mb']:,.0f} MB")
    for kind, one in found["whole"].items():
        small = found["small"][kind]["peak_mb"]
        print(
            f"  {kind:<12} {one['cpu']:7.1f} s CPU  {found['episodes'] / one['cpu']:8,.0f} episodes/s  "
            f"peak {one['peak_mb']:6.0f} MB (of a hundredth: {small:.0f} MB)"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
