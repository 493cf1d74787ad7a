"""Speed of RLVE: scripted steps per second, what a reset and a step cost, opening, memory over many episodes.

    python -m benchmarks.rlve [--release DIR ...] [--levels 0 4 8] [--seeds N] [--warm N] [--episodes N]

Oracles play first, in a market of their own, and their turns are written down. What is timed is the
environment alone, on those turns and on seeds that its market has not met, after `--warm` other seeds: as in
training, where categories come again and episodes do not. CPU time counts; wall time stands beside it. A look
at the CPU clock may take as long as a step, so it is read once per group of episodes and shared out by wall
time. Every release has a process of its own. `--episodes` plays so many episodes with oracles and tells the
private memory at six marks.
"""

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from shopsim_env.release import load_release
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.panel.playing import play
from shopsim_env.search.measure import machine_facts

LEVELS = (0, 4, 8)
SEEDS, WARM, EPISODES, MARKS = 40, 40, 100_000, 6
# What the project asks for: steps per second by products, growth of what does not search, opening.
STEPS = ((1_000, 5_000), (25_000, 5_000), (1_000_000, 1_000))
GROWTH, OPENING = 1.5, 1.0
RESET, PLAIN, SEARCH = "reset", "step", "searching step"
Script = tuple[EpisodeKey, list[dict[str, Any]]]


@dataclass
class Sum:
    """Times of one kind of work; seconds."""

    count: int = 0
    cpu: float = 0.0
    wall: float = 0.0

    def stop(self, start: float) -> float:
        """Counts one that began at `start`; gives the time."""
        now = time.perf_counter()
        self.count += 1
        self.wall += now - start
        return now

    @property
    def micro(self) -> float:
        """CPU time of one, in µs."""
        return 1e6 * self.cpu / self.count if self.count else 0.0


@dataclass
class Cell:
    """One environment at one difficulty: work by kind."""

    work: dict[str, Sum] = field(default_factory=lambda: {kind: Sum() for kind in (RESET, PLAIN, SEARCH)})

    def take(self, other: "Cell") -> None:
        """Adds the times of another one."""
        for kind, found in other.work.items():
            mine = self.work[kind]
            self.work[kind] = Sum(mine.count + found.count, mine.cpu + found.cpu, mine.wall + found.wall)

    def share_out(self, cpu: float) -> None:
        """Divides CPU time by wall time."""
        whole = sum(found.wall for found in self.work.values())
        for found in self.work.values():
            found.cpu = cpu * found.wall / whole

    def steps(self, clock: str = "cpu") -> float:
        """Steps per second, resets included in the time."""
        count = self.work[PLAIN].count + self.work[SEARCH].count
        return count / sum(getattr(one, clock) for one in self.work.values())

    def plain(self) -> float:
        """CPU time of a reset and of one step without a search, in µs: what must not grow."""
        return self.work[RESET].micro + self.work[PLAIN].micro


@dataclass
class Measured:
    """What was measured on one release; `opening` is CPU and wall seconds, `cold` the first seeds."""

    products: int
    opening: tuple[float, float]
    cold: Cell
    cells: dict[tuple[str, int], Cell]

    def whole(self, env: str | None = None) -> Cell:
        """All levels, of one environment or of all."""
        found = Cell()
        for (name, _), cell in self.cells.items():
            if env in (None, name):
                found.take(cell)
        return found


def record(market: Market, keys: Sequence[EpisodeKey]) -> list[Script]:
    """The turns of the oracles."""
    found: list[Script] = []
    for key in keys:
        episode, agent, turns = Episode(market, key), oracle(key.env_id), []
        while not episode.done:
            turns.append(agent.act(episode.sight()))
            episode.step(turns[-1])
        found.append((key, turns))
    return found


def replay(market: Market, scripts: Sequence[Script]) -> Cell:
    """Plays recorded turns and times resets and steps."""
    cell, cpu = Cell(), time.process_time()
    for key, turns in scripts:
        now = time.perf_counter()
        episode = Episode(market, key)
        episode.observation()
        now = cell.work[RESET].stop(now)
        for turn in turns:
            kind = SEARCH if any(call["name"] == "catalog.search" for call in _calls(turn)) else PLAIN
            episode.step(turn)
            now = cell.work[kind].stop(now)
        assert episode.done, key
    cell.share_out(time.process_time() - cpu)
    return cell


def _calls(turn: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return turn.get("tool_calls") or ()


def _keys(levels: Sequence[int], seeds: range) -> list[EpisodeKey]:
    return [EpisodeKey(env, d, seed) for env, d, seed in product(ENVIRONMENTS, levels, seeds)]


def measure(path: Path | None, levels: Sequence[int], warm: int, seeds: int) -> Measured:
    """Everything but memory, on one release."""
    warming, timed = _keys(levels, range(warm)), _keys(levels, range(warm, warm + seeds))
    with load_release(path) as release, Market.of(release) as market:  # leaves the receipt of a full check
        scripts = record(market, warming + timed)
    cpu, wall = time.process_time(), time.perf_counter()
    with load_release(path) as release, Market.of(release) as market:
        opening = (time.process_time() - cpu, time.perf_counter() - wall)
        cold, rest = replay(market, scripts[: len(warming)]), scripts[len(warming) :]
        found = Measured(len(market.world), opening, cold, {})
        for at in range(0, len(rest), seeds):
            key = rest[at][0]
            found.cells[key.env_id, key.difficulty] = replay(market, rest[at : at + seeds])
    return found


def memory(path: Path | None, levels: Sequence[int], episodes: int) -> Iterator[tuple[int, float]]:
    """Private memory in MiB after each sixth of the episodes."""
    with load_release(path) as release, Market.of(release) as market:
        marks = {episodes * mark // MARKS for mark in range(1, MARKS + 1)}
        for number in range(1, episodes + 1):
            env = list(ENVIRONMENTS)[number % len(ENVIRONMENTS)]
            key = EpisodeKey(env, levels[number % len(levels)], 1_000_000 + number)
            play(market, key, oracle(env))
            if number in marks:
                yield number, private_mib()


def private_mib() -> float:
    """Memory of this process that no file is behind."""
    with Path("/proc/self/status").open(encoding="utf-8") as stream:
        lines = dict(line.split(":", 1) for line in stream)
    return int(lines["RssAnon"].split()[0]) / 1024


def show(found: Measured) -> None:
    """Prints one release."""
    cpu, wall = found.opening
    print(f"\n{found.products:,} products: open in {cpu:.3f} s CPU, {wall:.3f} s wall (at most {OPENING:g})")
    print(f"{'':12}{'steps/s':>10}{'(wall)':>10}{'reset µs':>10}{'step µs':>10}{'searching µs':>14}")
    rows = [(f"{env} {d}", cell) for (env, d), cell in found.cells.items()]
    rows += [(env, found.whole(env)) for env in ENVIRONMENTS]
    for name, cell in [*rows, ("all", found.whole()), ("all, cold", found.cold)]:
        reset, plain, search = (cell.work[kind].micro for kind in (RESET, PLAIN, SEARCH))
        rates = f"{cell.steps():>10,.0f}{cell.steps('wall'):>10,.0f}"
        print(f"{name:12}{rates}{reset:>10,.0f}{plain:>10,.0f}{search:>14,.0f}")
    goal = next((steps for most, steps in STEPS if found.products <= most), STEPS[-1][1])
    print(f"{found.whole().steps() / goal:.2f} of the {goal:,} steps/s that are asked for")


def compare(every: Sequence[Measured]) -> None:
    """Prints how the cost of a reset and of a step without a search grows with the catalogue."""
    print("\nreset + step without a search, ratio to the first release:")
    for env in [*ENVIRONMENTS, None]:
        costs = [found.whole(env).plain() for found in every]
        ratios = "".join(f"{cost / costs[0]:>10.2f}" for cost in costs)
        print(
            f"{env or 'all':12}{ratios}   largest / smallest {max(costs) / min(costs):.2f} (at most {GROWTH})"
        )


def main() -> None:
    """Prints tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, action="append")
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--warm", type=int, default=WARM)
    parser.add_argument("--episodes", type=int, default=EPISODES, help="for the memory; 0 leaves it out")
    arguments = parser.parse_args()
    print(f"{machine_facts()}; load {os.getloadavg()[0]:.1f}")
    every = []
    paths = arguments.release or [None]
    for path in paths:
        with get_context("spawn").Pool(1) as pool:
            every.append(pool.apply(measure, (path, arguments.levels, arguments.warm, arguments.seeds)))
        show(every[-1])
    compare(every)
    if arguments.episodes:
        print(f"\nprivate memory over {arguments.episodes:,} episodes of {paths[0] or 'the sample'}:")
        for number, mib in memory(paths[0], arguments.levels, arguments.episodes):
            print(f"{number:>9,}{mib:>9.1f} MiB")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
