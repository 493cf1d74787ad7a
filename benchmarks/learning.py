"""Does an agent learn here? A linear policy by REINFORCE with group baselines, and floors, on held-out tasks.

    python -m benchmarks.learning [--seeds N] [--updates N] [--release DIR] [--svg FILE] [--json]

A policy of some forty weights (`benchmarks.learning_policy`) plays groups of episodes of one task, as
trainers do: the advantage of an episode is its reward minus the mean of its group. It learns on `--train` and
is measured, greedy, on the tasks of `--held-out`, which it never trained on. No held-out figure chooses
anything: the weights after the last update count. Beside it play agents without skill of `shopsim floors`.
A seed gives the same figures again on the same machine and numpy.
"""

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks.learning_chart import draw
from benchmarks.learning_policy import SIZE, Chooser, Mind, best, chances, choices
from shopsim_env import ShopEnv, TaskIterator, load_release
from shopsim_env.commands.floors import play_baseline
from shopsim_env.release import Release

FLOORS = ("random", "first-result", "persona-keywords")
MODES = {"persona": "two texts and a persona", "standard": "the full request"}
GROUP, TASKS, UPDATES, EVERY, RATE, ENTROPY = 8, 16, 80, 5, 0.1, 0.003
FIGURES = ("r_strict", "r_loose", "r_success")
_DRAWS = 10_000  # of the paired bootstrap over tasks


@dataclass
class Played:
    """One episode: per step the features and the choice, and what came of it."""

    tables: list[np.ndarray] = field(default_factory=list)
    picks: list[int] = field(default_factory=list)
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def reward(self) -> float:
        """The reward of the environment."""
        return self.detail["r_strict"]


def play(env: ShopEnv, task_id: int, weights: np.ndarray, choose: Chooser) -> Played:
    """Plays one episode."""
    start = env.reset(task_id)
    mind = Mind(start.task_instruction, start.user_persona, env.options["max_actions"])
    state, played, done = start.observation_state, Played(), False
    while not done:
        actions, table = choices(state, mind)
        pick = choose(chances(table, weights))
        played.tables.append(table)
        played.picks.append(pick)
        step = env.step(actions[pick])
        mind.did(actions[pick])
        state, done = step.observation_state, step.done
    played.detail = {name: float(step.reward_detail[name]) for name in FIGURES}
    return played


def gradient(played: Played, weights: np.ndarray, advantage: float) -> np.ndarray:
    """Of the advantage times the log chance of what was chosen, plus the entropy of the choices."""
    total = np.zeros(SIZE)
    for table, pick in zip(played.tables, played.picks, strict=True):
        shares = chances(table, weights)
        mean = shares @ table
        logs = np.log(np.maximum(shares, 1e-12))
        entropy = -(shares * (logs - shares @ logs)) @ (table - mean)
        total += advantage * (table[pick] - mean) + ENTROPY * entropy
    return total


class Adam:
    """The optimizer of Kingma and Ba (2015), upwards."""

    def __init__(self, rate: float) -> None:
        self._rate, self._count = rate, 0
        self._mean, self._square = np.zeros(SIZE), np.zeros(SIZE)

    def step(self, slope: np.ndarray) -> np.ndarray:
        """The change of the weights."""
        self._count += 1
        self._mean = 0.9 * self._mean + 0.1 * slope
        self._square = 0.999 * self._square + 0.001 * slope**2
        mean = self._mean / (1 - 0.9**self._count)
        square = self._square / (1 - 0.999**self._count)
        return self._rate * mean / (np.sqrt(square) + 1e-8)


@dataclass
class Learned:
    """One seed: the marks of the curve, and per held-out task the figures of the last weights."""

    seed: int
    updates: list[int]
    held_out: list[float]
    train: list[float]
    weights: np.ndarray
    final: dict[int, dict[str, float]]


def learn(env: ShopEnv, train: TaskIterator, held_out: Sequence[int], seed: int, updates: int) -> Learned:
    """Trains one policy from weights of zero, which choose evenly."""
    draw = np.random.default_rng(seed)
    weights, optimizer = np.zeros(SIZE), Adam(RATE)
    marks, curve, seen = [0], [score(measure(env, held_out, weights))], [math.nan]
    rewards: list[float] = []
    for update in range(1, updates + 1):
        slope = np.zeros(SIZE)
        for _ in range(TASKS):
            task_id = next(train)
            group = [
                play(env, task_id, weights, lambda shares: int(draw.choice(len(shares), p=shares)))
                for _ in range(GROUP)
            ]
            mean = fmean(one.reward for one in group)
            rewards.append(mean)
            for one in group:
                slope += gradient(one, weights, one.reward - mean)
        weights = weights + optimizer.step(slope / (TASKS * GROUP))
        if update % EVERY == 0 or update == updates:
            marks.append(update)
            curve.append(score(measure(env, held_out, weights)))
            seen.append(fmean(rewards))
            rewards = []
    return Learned(seed, marks, curve, seen, weights, measure(env, held_out, weights))


def measure(env: ShopEnv, tasks: Sequence[int], weights: np.ndarray) -> dict[int, dict[str, float]]:
    """The figures of every task, played once by the likeliest actions."""
    return {task_id: play(env, task_id, weights, best).detail for task_id in tasks}


def score(found: Mapping[int, Mapping[str, float]], name: str = "r_strict") -> float:
    """The mean of a figure over tasks."""
    return math.fsum(detail[name] for detail in found.values()) / len(found)


def floors(release: Release, env: ShopEnv, tasks: Sequence[int]) -> dict[str, dict[int, dict[str, float]]]:
    """The agents without skill on the same tasks."""
    return {
        agent: {
            task_id: {name: getattr(outcome, name) for name in FIGURES}
            for task_id in tasks
            for outcome in [play_baseline(release, env, agent, task_id)]
        }
        for agent in FLOORS
    }


def difference(
    learned: Sequence[Learned], floor: Mapping[int, Mapping[str, float]], name: str = "r_strict"
) -> tuple[float, float, float]:
    """Mean gain over a floor and its 95 % interval: paired bootstrap over tasks, seeds averaged first."""
    gains = np.array([fmean(one.final[task][name] for one in learned) - floor[task][name] for task in floor])
    draws = np.random.default_rng(0).integers(len(gains), size=(_DRAWS, len(gains)))
    low, high = np.quantile(gains[draws].mean(axis=1), [0.025, 0.975])
    return float(gains.mean()), float(low), float(high)


def run(release: Release, mode: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything about one mode, as JSON."""
    env = ShopEnv(release, task_mode=mode)
    held_out = [task_id for name in arguments.held_out for task_id in release.splits[name]]
    begin = time.process_time()
    learned = []
    for seed in range(arguments.seeds):
        train = TaskIterator(release.splits, arguments.train, seed=seed)
        learned.append(learn(env, train, held_out, seed, arguments.updates))
    seconds = time.process_time() - begin
    played = floors(release, env, held_out)
    return {
        "mode": mode,
        "train": arguments.train,
        "held_out": arguments.held_out,
        "tasks": {"train": len(train), "held_out": len(held_out)},
        "seeds": arguments.seeds,
        "updates": learned[0].updates,
        "episodes": arguments.updates * TASKS * GROUP,
        "curves": [one.held_out for one in learned],
        "train_curves": [one.train[1:] for one in learned],
        "learned": {name: _spread([score(one.final, name) for one in learned]) for name in FIGURES},
        "floors": {agent: {name: score(found, name) for name in FIGURES} for agent, found in played.items()},
        "gain_over": {agent: difference(learned, found) for agent, found in played.items()},
        "cpu_seconds": round(seconds, 1),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": fmean(values),
        "sd": stdev(values) if len(values) > 1 else 0.0,
        "least": min(values),
        "most": max(values),
    }


def report(found: Mapping[str, Any]) -> None:
    sizes = found["tasks"]
    print(
        f"\n{found['mode']} mode: {found['train']} ({sizes['train']} tasks), held out "
        f"{' + '.join(found['held_out'])} ({sizes['held_out']} tasks), {found['seeds']} seeds, "
        f"{found['episodes']:,} episodes each, {found['cpu_seconds']} s CPU"
    )
    print("  agent                 r_strict        r_loose         r_success       gain of the policy (95 %)")
    for agent, means in found["floors"].items():
        figures = "".join(f"{means[name]:<16.3f}" for name in FIGURES)
        gain, low, high = found["gain_over"][agent]
        print(f"  {agent:<20}  {figures}{gain:+.3f} ({low:+.3f} to {high:+.3f})")
    spread = [found["learned"][name] for name in FIGURES]
    print("  learned, mean ± sd    " + "".join(f"{one['mean']:.3f} ± {one['sd']:.3f}   " for one in spread))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--release", help="release folder (default: the sample release)")
    parser.add_argument("--train", default="project/train")
    parser.add_argument("--held-out", action="append")
    parser.add_argument("--mode", action="append", choices=tuple(MODES), help="repeatable (default: both)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--svg", type=Path, help="draw the curves into this file")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    arguments.held_out = arguments.held_out or ["project/val", "project/test"]
    with load_release(arguments.release) as release:
        TaskIterator(release.splits, [arguments.train, *arguments.held_out], seed=0)  # refuses an overlap
        found = [run(release, mode, arguments) for mode in arguments.mode or MODES]
    if arguments.svg:
        arguments.svg.write_text(draw(found), encoding="utf-8")
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for one in found:
            report(one)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
