"""What an episode costs: steps a second, resets, memory of live episodes, memory over time, purchases.

    python benchmarks/episodes.py [--release DIR] [--episodes 100000] [--live 10000] [--json]

One thread, in process, observation text and state included; times are CPU times of this process, best of
`--passes` passes, so that a shared machine disturbs less. The player sees what an agent sees: it searches the
visible text, every other time goes to the next page, opens a product, chooses every axis, buys. Rates count
the resets too. "cached": actions, queries, pages and purchases were seen before; "new_results": every page of
results is built anew from remembered hits; "computed": every search is computed as well. Read rates with the
time of an empty loop beside them: `in_empty_loops` is the cost of a cached step in such loops.
"""

import argparse
import gc
import json
import os
import platform
import resource
import sqlite3
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_name
from shopsim_env import Release, ShopEnv, Step, load_release
from shopsim_env.reward.fuzzy import forget_ratios
from shopsim_env.shop.shelf import caches_of

BUY = "click[buy now]"
Script = tuple[int, list[str]]


def script(env: ShopEnv, task: int, number: int) -> Script:
    """Plays an episode with open eyes and returns its actions."""
    actions: list[str] = []

    def play(action: str) -> Step:
        actions.append(action)
        return env.step(action)

    state = play(f"search[{env.reset(task).task_instruction}]").observation_state
    if number % 2 and "next >" in state["actions"]:
        state = play("click[next >]").observation_state
    products = state["products"]
    step = play(f"click[{products[number % len(products)]['asin']}]")
    while step.observation_state["missing_option_axes"]:
        axis = step.observation_state["missing_option_axes"][0]
        values = [text for text in step.observation_state["actions"] if text.startswith(f"{axis}=")]
        step = play(f"click[{values[number % len(values)]}]")
    play(BUY)
    return task, actions


def replay(env: ShopEnv, scripts: list[Script]) -> int:
    """Plays every script; number of steps."""
    steps = 0
    for task, actions in scripts:
        env.reset(task)
        for action in actions:
            env.step(action)
        steps += len(actions)
    return steps


def best(passes: int, work: Callable[[], int]) -> float:
    """Units of work per CPU second in the best pass."""
    rates = []
    for _ in range(passes):
        start = time.process_time()
        units = work()
        rates.append(units / (time.process_time() - start))
    return max(rates)


def in_empty_loops(passes: int, work: Callable[[], int]) -> float:
    """Cost of one unit of work, counted in rounds of an empty loop timed right before and after.

    Rates on a shared machine change by a factor of two within minutes; this figure changes less.
    """
    costs = []
    for _ in range(passes):
        before, rate, after = best(3, empty_loop), best(1, work), best(3, empty_loop)
        costs.append((before + after) / 2 / rate)
    return statistics.median(costs)


def speed(release: Release, scripts: list[Script], passes: int) -> dict[str, float]:
    env = ShopEnv(release)
    caches = caches_of(release)
    replay(env, scripts)

    def new_results() -> int:
        caches.results.clear()
        return replay(env, scripts)

    def computed() -> int:
        caches.queries.clear()  # no query occurs twice in a pass
        caches.results.clear()
        return replay(env, scripts)

    def resets() -> int:
        for task, _ in scripts:
            env.reset(task)
        return len(scripts)

    cached, reset = best(passes, lambda: replay(env, scripts)), best(passes, resets)
    episodes_per_step = len(scripts) / sum(len(actions) for _, actions in scripts)
    return {
        "steps_per_s_cached": cached,
        "  in_empty_loops": in_empty_loops(2 * passes + 1, lambda: replay(env, scripts)),
        "  without_resets": 1 / (1 / cached - episodes_per_step / reset),
        "steps_per_s_new_results": best(passes, new_results),
        "steps_per_s_computed": best(passes, computed),
        "reset_us": 1e6 / reset,
    }


def purchases(release: Release, scripts: list[Script]) -> dict[str, float]:
    """Milliseconds of the step that buys: text comparisons forgotten before each, then remembered."""
    env = ShopEnv(release)
    times: dict[str, list[float]] = {"purchase_ms_first": [], "purchase_ms_again": []}
    for name, forget in (("purchase_ms_first", True), ("purchase_ms_again", False)):
        replay(env, scripts)
        for task, actions in scripts:
            env.reset(task)
            for action in actions[:-1]:
                env.step(action)
            if forget:
                forget_ratios()
                caches_of(release).scores.clear()
            start = time.process_time()
            env.step(actions[-1])
            times[name].append(1e3 * (time.process_time() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def live(release: Release, scripts: list[Script], count: int) -> dict[str, float]:
    """Bytes of one live episode before its purchase, shared caches left out."""
    replay(ShopEnv(release), scripts)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    envs = []
    for number in range(count):
        env = ShopEnv(release)
        task, actions = scripts[number % len(scripts)]
        env.reset(task, seed=number)
        for action in actions[:-1]:
            env.step(action)
        envs.append(env)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert sum(env.tools() != [] for env in envs) == count
    return {"live_episodes": count, "bytes_per_live_episode": used / count}


def resident() -> int:
    """Resident bytes now (Linux), else the largest so far."""
    path = Path("/proc/self/statm")
    if path.exists():
        return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def endurance(release: Release, scripts: list[Script], episodes: int) -> dict[str, Any]:
    """Resident memory at the start and after each fifth of `episodes` episodes."""
    env = ShopEnv(release)
    marks = [resident()]
    for fifth in range(5):
        for number in range(fifth * episodes // 5, (fifth + 1) * episodes // 5):
            replay(env, [scripts[number % len(scripts)]])
        marks.append(resident())
    return {"episodes": episodes, "resident_mb": [round(mark / 1e6, 1) for mark in marks]}


def empty_loop() -> int:
    """The speed of this machine now; on a shared one it changes by a factor of two."""
    for _ in range(100_000):
        pass
    return 100_000


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "ns_per_empty_loop": round(1e9 / best(20, empty_loop), 1),
        "load": [round(value, 1) for value in os.getloadavg()],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--release", help="release folder (default: the sample)")
    parser.add_argument("--tasks", type=int, default=200, help="different tasks (default 200)")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--live", type=int, default=10_000, help="live episodes (default 10,000)")
    parser.add_argument("--episodes", type=int, default=10_000, help="episodes played for memory over time")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with load_release(arguments.release) as release:
        env = ShopEnv(release)
        every = max(1, len(release.tasks) // arguments.tasks)
        tasks = list(release.tasks)[::every][: arguments.tasks]
        scripts = [script(env, task, number) for number, task in enumerate(tasks)]
        report: dict[str, Any] = {
            "machine": machine(),
            "release": release.id,
            "products": release.manifest["counts"]["products"],
            "tasks": len(scripts),
            "steps_per_episode": sum(len(actions) for _, actions in scripts) / len(scripts),
            **speed(release, scripts, arguments.passes),
            **purchases(release, scripts),
            **endurance(release, scripts, arguments.episodes),
            **live(release, scripts, arguments.live),
        }
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        for name, value in report.items():
            print(f"{name:24} {value:,.3f}" if isinstance(value, float) else f"{name:24} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
