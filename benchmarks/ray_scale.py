"""What Ray costs: a batched step through actors beside the pool in this process, and a stage of the pipeline.

    python -m benchmarks.ray_scale [--release DIR] [--rounds 200] [--actors 1] [--stage] [--json]

Needs the extra `ray`. The cluster is that of `RAY_ADDRESS`, or one started here. The player searches the
visible text, opens a product and goes back, over and over, on tasks seen before: the cheapest steps, and so
the worst case for the overhead. Times are wall-clock, the median of the rounds, and in-process and actor
rounds take turns, so that a shared machine disturbs both alike. `--stage` also times the search index of
generated products and the witnesses of the release, with local processes and with Ray; files must be equal.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_name
from pipelines.resources.mapper import LOCAL, RAY, load_workers
from pipelines.stages.processes import Workers
from pipelines.stages.search_index import build_search_index
from pipelines.stages.witnesses import make_witnesses, read_witnesses
from shopsim_env import EnvPool, Release, load_release
from shopsim_env.adapters.ray import RayPool
from shopsim_env.adapters.ray.cluster import connected
from shopsim_env.canonical import sha256_file
from shopsim_env.release.layout import WITNESSES

BATCHES = (1, 16, 64)
PRODUCTS = 40_000


class Player:
    """One batch of episodes in a pool; `round` plays one action in each."""

    def __init__(self, pool: Any, release: Release, batch: int) -> None:
        self._pool = pool
        self.started = pool.reset(list(release.tasks)[:batch])
        self._search = {one.slot: f"search[{one.start.task_instruction}]" for one in self.started}
        self._actions = self._script()
        self.bytes = 0

    def round(self) -> float:
        """Seconds of one batched step."""
        actions = next(self._actions)
        began = time.perf_counter()
        steps = self._pool.step(actions)
        seconds = time.perf_counter() - began
        self._last = list(steps.values())
        if not all(step.valid for step in self._last):
            raise SystemExit("a step failed for the infrastructure; measure again")
        if self._last[0].done:
            slots = [one.slot for one in self.started]
            ids = [one.start.task_id for one in self.started]
            self._pool.give_back(slots)
            self.started = self._pool.reset(ids)
        return seconds

    def _script(self) -> Iterator[dict[int, str]]:
        while True:
            yield self._search
            if self._last[0].done:
                continue
            firsts = [step.observation_state["products"][0]["asin"] for step in self._last]
            yield {slot: f"click[{asin}]" for slot, asin in zip(self._search, firsts, strict=True)}
            if not self._last[0].done:
                yield dict.fromkeys(self._search, "click[back to search]")


def measure_steps(release: Release, actors: int, rounds: int) -> dict[str, Any]:
    """Microseconds per step for each size of a batch, in this process and through actors."""
    report: dict[str, Any] = {}
    for batch in BATCHES:
        size = -(-batch // actors)
        with EnvPool(release, batch) as here, RayPool(release, actors=actors, slots=size) as there:
            players = [Player(pool, release, batch) for pool in (here, there)]
            times: list[list[float]] = [[], []]
            for number in range(rounds):
                for player, found in zip(players, times, strict=True):
                    seconds = player.round()
                    if number >= rounds // 10:  # caches are warm by then
                        found.append(seconds)
            memory = max(process["peak_bytes"] for process in there.processes())
        local, remote = (statistics.median(found) / batch * 1e6 for found in times)
        report[str(batch)] = {
            "in_process_us": round(local, 1),
            "actor_us": round(remote, 1),
            "overhead_us": round(remote - local, 1),
            "ratio": round(remote / local, 1),
            "steps_per_second": round(1e6 / remote),
            "actor_peak_mib": memory >> 20,
        }
    return report


def measure_stages(release: Release, folder: Path) -> dict[str, Any]:
    """Seconds of two heavy stages with each mapper; what they write must be equal."""
    found: dict[str, Any] = {"search_index": {}, "witnesses": {}}
    for mapper in (LOCAL, RAY):
        workers = load_workers(mapper)
        there = Workers(workers.count, workers.start, always=True)
        index = partial(build_search_index, _records(), folder / f"{mapper}.sqlite", workers=there)
        found["search_index"][mapper] = _timed(index)
        found["witnesses"][mapper] = _timed(partial(_remake_witnesses, release.path, there))
    if len({sha256_file(folder / f"{mapper}.sqlite") for mapper in (LOCAL, RAY)}) != 1:
        raise SystemExit("the two indexes differ")
    for times in found.values():
        times["ratio"] = round(times[RAY] / times[LOCAL], 2)
    return {"workers": load_workers(LOCAL).count, "cluster_cores": load_workers(RAY).count, **found}


def _remake_witnesses(root: Path, workers: Workers) -> None:
    stored = list(read_witnesses(root / WITNESSES))
    derivable = {(item.task_id, item.mode): "W3" in item.grades for item in stored}
    if list(make_witnesses(root, derivable, workers=workers)) != stored:
        raise SystemExit("the witnesses are not those of the release")


def _records() -> Iterator[dict[str, Any]]:
    for number in range(PRODUCTS):
        words = [
            f"{'收纳盒帐篷水杯台灯背包'[number * step % 9 :][:3]}{number * step % 997}"
            for step in range(1, 30)
        ]
        yield {"asin": f"{number:012d}", "title": " ".join(words), "attribute": words[:8]}


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 1)


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for batch, row in report["steps"].items():
        yield f"batch {batch:>3}  " + "  ".join(f"{name} {value}" for name, value in row.items())
    for name in ("stages", "machine"):
        if name in report:
            yield f"{name:<9}  {json.dumps(report[name])}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.ray_scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--release", metavar="DIR", help="release folder (default: the sample)")
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="batched steps of each size")
    parser.add_argument("--actors", type=int, default=1, metavar="N", help="actors that share a batch")
    parser.add_argument("--stage", action="store_true", help="time stages of the pipeline too")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    ray = connected()
    machine = {"cpu": cpu_name(), "cores": os.cpu_count(), "ray": ray.__version__}
    with load_release(arguments.release) as release, tempfile.TemporaryDirectory() as folder:
        report = {"steps": measure_steps(release, arguments.actors, arguments.rounds), "machine": machine}
        if arguments.stage:
            report["stages"] = measure_stages(release, Path(folder))
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print("\n".join(_lines(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
