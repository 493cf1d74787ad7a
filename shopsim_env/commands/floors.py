"""`shopsim floors`: what agents without skill get on each split, so that other figures can be read.

Belongs here: playing the baselines, means, the interval of the success rate, the table. The agents are in
`shopsim_env.shop.baselines`. Every task is played once for each agent, whatever the number of its splits.
"""

import argparse
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.commands.output import (
    add_common,
    add_episode_options,
    add_release,
    require_tasks,
    show,
    show_json,
)
from shopsim_env.errors import UsageError
from shopsim_env.intervals import wilson
from shopsim_env.release import load_release
from shopsim_env.shop.baselines import BASELINES, GOLD_TITLE, Baseline, Start, gold_title
from shopsim_env.shop.env import TASK_MODES, ShopEnv
from shopsim_env.shop.episode import ReleaseLike

AGENTS = (*BASELINES, GOLD_TITLE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finished episode."""

    r_loose: float
    r_strict: float
    r_success: float
    actions: int
    purchase: bool


@dataclass(frozen=True, slots=True)
class Floor:
    """One agent on one split: means, the 95 % Wilson interval of the success rate, the share of purchases."""

    split: str
    agent: str
    episodes: int
    r_loose: float
    r_strict: float
    r_success: float
    success_low: float
    success_high: float
    actions: float
    purchases: float


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "floors",
        help="what agents without skill get on each split",
        description="Play agents without skill. Only gold-title knows something of the goal.",
    )
    parser.add_argument("--split", metavar="NAME", help="one split, such as project/test (default: all)")
    parser.add_argument("--mode", choices=TASK_MODES, default="persona", help="task mode (default persona)")
    parser.add_argument("--limit", type=int, metavar="N", help="play N tasks of each split, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draws (default 0)")
    add_episode_options(parser)
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Plays and prints; exit code 0."""
    with load_release(arguments.release) as release:
        require_tasks(release)
        chosen = _tasks(release, arguments.split, arguments.limit, arguments.seed)
        env = ShopEnv(
            release,
            task_mode=arguments.mode,
            option_match=arguments.option_match,
            persona_view=arguments.persona_view,
        )
        floors = play_floors(release, env, chosen, arguments.seed)
        head = {
            "release": release.id,
            "task_mode": arguments.mode,
            "option_match": arguments.option_match,
            "persona_view": arguments.persona_view,
            "seed": arguments.seed,
            "limit": arguments.limit,
        }
    if arguments.json:
        show_json({**head, "floors": [floor_row(floor) for floor in floors]})
    else:
        show(_table(head, floors))
    return 0


def play_floors(
    release: ReleaseLike, env: ShopEnv, tasks: dict[str, tuple[int, ...]], seed: int = 0
) -> list[Floor]:
    """Every agent on every split.

    Args:
        release: The release that `env` plays; it must hold goals.
        env: Its episode is replaced.
        tasks: Split names and the ids to play; a split without tasks has no floor.
        seed: Seed of the random agent, together with the task id.
    """
    ids = sorted({task_id for chosen in tasks.values() for task_id in chosen})
    played = {
        (agent, task_id): play_baseline(release, env, agent, task_id, seed)
        for agent in AGENTS
        for task_id in ids
    }
    return [
        _floor(split, agent, [played[agent, task_id] for task_id in chosen])
        for split, chosen in tasks.items()
        if chosen
        for agent in AGENTS
    ]


def play_baseline(release: ReleaseLike, env: ShopEnv, agent: str, task_id: int, seed: int = 0) -> Outcome:
    """One episode of the named agent."""
    reset = env.reset(task_id)
    start = Start(task_id, reset.task_instruction, reset.user_persona, seed)
    player: Baseline
    if agent == GOLD_TITLE:
        player = gold_title(release.private().goal(task_id).product.title)
    else:
        player = BASELINES[agent](start)
    step, count = env.step(player.act(reset.observation_state)), 1
    while not step.done:
        step, count = env.step(player.act(step.observation_state)), count + 1
    detail = step.reward_detail
    return Outcome(
        r_loose=float(detail["r_loose"]),
        r_strict=float(detail["r_strict"]),
        r_success=float(detail["r_success"]),
        actions=count,
        purchase=step.termination_reason == "purchase",
    )


def _floor(split: str, agent: str, outcomes: Sequence[Outcome]) -> Floor:
    count = len(outcomes)
    low, high = wilson(sum(outcome.r_success == 1 for outcome in outcomes), count)
    return Floor(
        split=split,
        agent=agent,
        episodes=count,
        r_loose=math.fsum(outcome.r_loose for outcome in outcomes) / count,
        r_strict=math.fsum(outcome.r_strict for outcome in outcomes) / count,
        r_success=math.fsum(outcome.r_success for outcome in outcomes) / count,
        success_low=low,
        success_high=high,
        actions=sum(outcome.actions for outcome in outcomes) / count,
        purchases=sum(outcome.purchase for outcome in outcomes) / count,
    )


def _tasks(
    release: ReleaseLike, split: str | None, limit: int | None, seed: int
) -> dict[str, tuple[int, ...]]:
    splits = release.splits
    if split is not None and split not in splits:
        raise UsageError(f"--split: expected one of {sorted(splits)}, found {split!r}")
    if limit is not None and limit < 1:
        raise UsageError(f"--limit: expected at least 1, found {limit}")
    names = sorted(splits) if split is None else [split]
    return {name: _drawn(splits[name], limit, f"{seed}:{name}") for name in names}


def _drawn(ids: tuple[int, ...], limit: int | None, seed: str) -> tuple[int, ...]:
    if limit is None or limit >= len(ids):
        return ids
    return tuple(sorted(random.Random(seed).sample(ids, limit)))  # noqa: S311


def floor_row(floor: Floor) -> dict[str, Any]:
    """JSON form."""
    return {name: getattr(floor, name) for name in Floor.__slots__}


def _table(head: dict[str, Any], floors: Iterable[Floor]) -> list[str]:
    view = "" if head["persona_view"] == "default" else f" · personas {head['persona_view']}"
    lines = [f"{head['release']} · {head['task_mode']} mode · options {head['option_match']}{view}"]
    split = None
    for floor in floors:
        if floor.split != split:
            split = floor.split
            lines += [
                "",
                f"{split} ({floor.episodes} tasks)",
                "  agent             r_loose  r_strict  r_success  95 % interval   actions  purchases",
            ]
        lines.append(
            f"  {floor.agent:<16}  {floor.r_loose:7.3f}  {floor.r_strict:8.3f}  {floor.r_success:9.3f}"
            f"  {floor.success_low:.3f} to {floor.success_high:.3f}  {floor.actions:7.2f}"
            f"  {floor.purchases:9.3f}"
        )
    return lines
