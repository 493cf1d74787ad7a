"""`shopsim rlve difficulty|schedule`: the axes of every level, and the scheduler without a model.

Belongs here: tables and the simulated policies. Formulas are in `rlve.difficulty`, moves in `rlve.scheduler`.
"""

import argparse
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.rlve.collections import COLLECTIONS
from shopsim_env.rlve.difficulty import DERIVED, SYMBOLS, difficulty
from shopsim_env.rlve.scheduler import Scheduler
from shopsim_env.rlve.scheduler_state import Window

Policy = Callable[[int, random.Random], bool]


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("rlve", help="the conversational environments: difficulty, scheduler")
    below = parser.add_subparsers(dest="rlve_command", metavar="COMMAND", required=True)
    levels = below.add_parser("difficulty", help="what every level of difficulty sets")
    levels.add_argument("--to", type=int, default=12, metavar="N", help="highest level (default 12)")
    add_common(levels)
    levels.set_defaults(handler=run_difficulty)
    schedule = below.add_parser("schedule", help="play the adaptive scheduler with a simulated agent")
    schedule.add_argument(
        "--simulate",
        required=True,
        metavar="POLICY",
        help="perfect, ceiling:N (succeeds up to level N) or rate:P (succeeds with probability P)",
    )
    schedule.add_argument("--collection", choices=COLLECTIONS, default="C1", help="environments (default C1)")
    schedule.add_argument(
        "--episodes", type=int, default=1000, metavar="N", help="episodes of each environment (default 1000)"
    )
    schedule.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draws (default 0)")
    add_common(schedule)
    schedule.set_defaults(handler=run_schedule)


def run_difficulty(arguments: argparse.Namespace) -> int:
    """Prints all axes of levels 0 to `--to`; exit code 0."""
    rows = [level_row(d) for d in range(_at_least(0, "--to", arguments.to) + 1)]
    if arguments.json:
        show_json({"symbols": SYMBOLS, "levels": rows})
        return 0
    for names in (["d", *SYMBOLS], ["d", *DERIVED]):
        show(["  ".join(names)])
        show("  ".join(f"{row[name]:>{len(name)}.4g}" for name in names) for row in rows)
        show([""])
    return 0


def level_row(d: int) -> dict[str, Any]:
    """All axes of one level and the numbers of single environments."""
    return {**asdict(difficulty(d)), **{name: function(d) for name, function in DERIVED.items()}}


def run_schedule(arguments: argparse.Namespace) -> int:
    """Simulates and prints the moves of every window; exit code 0."""
    policy = simulated_policy(arguments.simulate)
    episodes = _at_least(1, "--episodes", arguments.episodes)
    scheduler = Scheduler(arguments.collection)
    moves = simulate(scheduler, policy, episodes, arguments.seed)
    final = [
        {"env_id": row.env_id, **_plain(row.window), "plateau": row.plateau} for row in scheduler.report()
    ]
    if arguments.json:
        head = {"policy": arguments.simulate, "episodes": episodes, "seed": arguments.seed}
        show_json({**head, "moves": moves, "final": final})
        return 0
    show(["episode  environment  window"])
    show(f"{move['episode']:>7}  {move['env_id']:<11}  {move['low']}..{move['high']}" for move in moves)
    show(["", "environment  window  block  failed blocks  plateau"])
    for row in final:
        window, block = f"{row['low']}..{row['high']}", f"{row['correct']:g}/{row['total']}"
        plateau = "yes" if row["plateau"] else "no"
        show([f"{row['env_id']:<11}  {window:>6}  {block:>5}  {row['failed_blocks']:>13}  {plateau:>7}"])
    return 0


def simulated_policy(text: str) -> Policy:
    """The policy of `--simulate`: from the level and a generator to success.

    Raises:
        UsageError: not one of the three forms (code `unknown_policy`).
    """
    name, _, value = text.partition(":")
    if text == "perfect":
        return lambda _d, _generator: True
    if name == "ceiling" and value.isascii() and value.isdigit():
        return lambda d, _generator: d <= int(value)
    if name == "rate":
        rate = _share(value)
        if rate is not None:
            return lambda _d, generator: generator.random() < rate
    raise UsageError(
        f"--simulate: expected perfect, ceiling:N or rate:P with P in [0, 1], found {text!r}",
        code="unknown_policy",
    )


def simulate(scheduler: Scheduler, policy: Policy, episodes: int, seed: int) -> list[dict[str, Any]]:
    """Plays `episodes` of every environment; returns each move of a window and the episode that made it."""
    moves = []
    for env_id in scheduler.windows():
        generator = random.Random(f"schedule:{env_id}:{seed}")  # noqa: S311
        for episode in range(1, episodes + 1):
            before = scheduler.window(env_id)
            d = scheduler.sample(env_id, generator)
            scheduler.record(env_id, d, [policy(d, generator)])
            after = scheduler.window(env_id)
            if after.high != before.high:
                moves.append({"episode": episode, "env_id": env_id, "low": after.low, "high": after.high})
    return moves


def _plain(window: Window) -> Mapping[str, Any]:
    return {**asdict(window), "correct": float(window.correct)}


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _at_least(least: int, name: str, value: int) -> int:
    if value < least:
        raise UsageError(f"{name}: expected at least {least}, found {value}")
    return value
