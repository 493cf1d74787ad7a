"""`shopsim rlve schedule`: how the windows of difficulty move under a policy of known skill.

Belongs here: the simulated policies and the printing. The rule is in `scheduler`; no episode is played.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.rlve.scheduler import Plateau, Result, Schedule, Settings, new_schedule, random_number

# (key of the draw, level) to success
Policy = Callable[[str, int], bool]
_RESOLUTION = 1 << 256


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a frontier: after how many prompts of the environment, from which window to which."""

    environment: str
    prompts: int
    before: tuple[int, int]
    after: tuple[int, int]


def add_schedule(subparsers: Any, environments: Sequence[str]) -> None:
    """Adds the command; it simulates `environments`."""
    parser = subparsers.add_parser(
        "schedule",
        help="how the windows of difficulty move under a policy of known skill",
        description="Simulate the adaptive schedule: every window's moves, and where each one stands.",
    )
    parser.add_argument(
        "--simulate",
        metavar="POLICY",
        required=True,
        help="perfect, ceiling:N (succeeds up to level N) or rate:P (succeeds with probability P)",
    )
    parser.add_argument(
        "--episodes", type=int, default=1000, metavar="N", help="prompts of each environment (default 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all draws (default 0)")
    add_common(parser)
    parser.set_defaults(handler=run, environments=tuple(environments))


def run(arguments: argparse.Namespace) -> int:
    """Simulates and prints; exit code 0."""
    if arguments.episodes < 1:
        raise UsageError(f"--episodes: expected at least 1, found {arguments.episodes}")
    policy = parse_policy(arguments.simulate)
    schedule = new_schedule(arguments.environments, Settings(seed=arguments.seed))
    schedule, moves = simulate(schedule, policy, arguments.episodes)
    plateaus = schedule.plateaus()
    if arguments.json:
        head = {"policy": arguments.simulate, "episodes": arguments.episodes, "seed": arguments.seed}
        rows = {"moves": [asdict(move) for move in moves], "plateaus": [asdict(row) for row in plateaus]}
        show_json({**head, **rows})
    else:
        show([*_head(arguments), *_moves(arguments.environments, moves), "", *_table(plateaus)])
    return 0


def parse_policy(text: str) -> Policy:
    """The policy of that name.

    Raises:
        UsageError: code `bad_policy`.
    """
    kind, _, value = text.partition(":")
    if text == "perfect":
        return lambda _key, _d: True
    if kind == "ceiling" and re.fullmatch("[0-9]{1,9}", value):
        ceiling = int(value)
        return lambda _key, d: d <= ceiling
    try:
        rate = float(value) if kind == "rate" else -1.0
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise UsageError(
            f"--simulate: expected perfect, ceiling:N or rate:P with P from 0 to 1, found {text!r}",
            code="bad_policy",
        )
    return lambda key, _d: random_number(key) < rate * _RESOLUTION


def simulate(schedule: Schedule, policy: Policy, episodes: int) -> tuple[Schedule, list[Move]]:
    """Every environment in turn, `episodes` prompts each, one rollout a prompt."""
    moves = []
    names = list(schedule.windows)
    for prompt in range(episodes * len(names)):
        name = names[prompt % len(names)]
        before, d = schedule.windows[name], schedule.draw(name, prompt)
        success = policy(f"policy|{schedule.settings.seed}|{prompt}", d)
        schedule, _ = schedule.after(Result(prompt, name, d, int(success)))
        after = schedule.windows[name]
        if after.high != before.high:
            played = prompt // len(names) + 1
            moves.append(Move(name, played, (before.low, before.high), (after.low, after.high)))
    return schedule, moves


def _head(arguments: argparse.Namespace) -> list[str]:
    return [
        f"{arguments.simulate} · {arguments.episodes} prompts of each environment · seed {arguments.seed}",
        "",
        "moves (window, and the prompt after which it opened)",
    ]


def _moves(environments: Sequence[str], moves: Sequence[Move]) -> list[str]:
    lines = []
    for name in environments:
        own = [
            f"{move.after[0]}..{move.after[1]} @{move.prompts}" for move in moves if move.environment == name
        ]
        lines.append(f"  {name:<8}  0..0 @0  {'  '.join(own)}".rstrip())
    return lines


def _table(plateaus: Sequence[Plateau]) -> list[str]:
    lines = [
        "where the frontiers stand",
        "  environ.  window  waited  blocks  prompts  success  95 % interval   stalled",
    ]
    for row in plateaus:
        share = "      -  -             "
        if row.success is not None:
            share = f"{row.success:7.3f}  {row.success_low:.3f} to {row.success_high:.3f}"
        lines.append(
            f"  {row.environment:<8}  {f'{row.low}..{row.high}':<6}  {row.waited:6d}  {row.failed_blocks:6d}"
            f"  {row.prompts:7d}  {share}  {'yes' if row.stalled else 'no'}"
        )
    return lines
