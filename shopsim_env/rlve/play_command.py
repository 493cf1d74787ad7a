"""`shopsim rlve play` and `rlve oracle`: one RLVE episode at the terminal, from a script, or by the oracle.

Belongs here: reading turns and printing. A line is a turn as JSON, or plain text, which is a message alone.
What is printed is what an agent sees; goal and score follow after the end. Episodes are imported on use:
tools need the extra `rlve`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import load_release
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.trace import TraceWriter

if TYPE_CHECKING:
    from shopsim_env.rlve.step import RlveStep
    from shopsim_env.rlve.trace import TracedEpisode

_HELP = 'a line is a message, or a turn: {"assistant_message": "...", "tool_calls": [...], "answer": {...}}'
_SHOWN = 600
Turns = Callable[["TracedEpisode"], Any]


def add_play(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "play", help="play one episode", description=f"Play one RLVE episode; {_HELP}. Ctrl-D leaves."
    )
    player = parser.add_mutually_exclusive_group()
    player.add_argument("--script", metavar="FILE", help="read turns from FILE ('-': standard input)")
    player.add_argument("--oracle", action="store_true", help="as `rlve oracle`")
    _add_episode(parser)


def add_oracle(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "oracle",
        help="watch the agent that solves every episode",
        description="Let the agent that knows the goal play one RLVE episode.",
    )
    parser.set_defaults(oracle=True, script=None)
    _add_episode(parser)


def _add_episode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--environment", choices=tuple(ENVIRONMENTS), default="PD", help="default PD")
    parser.add_argument("--difficulty", type=int, default=0, metavar="D", help="default 0")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the episode (default 0)")
    parser.add_argument("--language", choices=("zh", "en"), default="zh", help="the customer's (default zh)")
    parser.add_argument("--trace", metavar="FILE", help="append the episode to FILE (shopsim-rlve-trace-v1)")
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Plays to the end; exit code 0 when the episode ended with success, else 1."""
    from shopsim_env.rlve.episode import EpisodeKey
    from shopsim_env.rlve.market import Market
    from shopsim_env.rlve.trace import TracedEpisode

    key = EpisodeKey(arguments.environment, arguments.difficulty, arguments.seed, arguments.language)
    turns = _turns(arguments)
    with (
        load_release(arguments.release) as release,
        Market.of(release) as market,
        _trace(arguments) as writer,
    ):
        # A person's slip is told and may be mended; an agent's ends the episode, as in training.
        episode = TracedEpisode(market, key, strict=arguments.oracle or arguments.script is not None)
        steps = list(_played(episode, turns, quiet=arguments.json))
        if writer is not None:
            writer.append(episode.record)
        if arguments.json:
            show_json(_report(episode, steps))
        return 0 if episode.reward is not None and episode.reward.success else 1


def _turns(arguments: argparse.Namespace) -> Turns:
    """Where the next turn comes from; None when there is no more."""
    if arguments.oracle:
        from shopsim_env.rlve.oracles import oracle

        agent = oracle(arguments.environment)
        return lambda episode: agent.act(episode.sight())
    lines = _lines(arguments.script)
    return lambda _: next(lines, None)


def _lines(script: str | None) -> Iterator[Any]:
    if script is None or script == "-":
        source = iter(sys.stdin)
    else:
        path = Path(script)
        if not path.is_file():
            raise UsageError(f"--script: expected a file, found none at {script}")
        source = iter(path.read_text(encoding="utf-8").splitlines())
    for line in source:
        text = line.strip()
        if text:
            yield text if text.startswith("{") else {"assistant_message": text}


def _trace(arguments: argparse.Namespace) -> AbstractContextManager[TraceWriter | None]:
    from shopsim_env.rlve.trace import read_rlve_record

    return nullcontext() if arguments.trace is None else TraceWriter(arguments.trace, read=read_rlve_record)


def _played(episode: "TracedEpisode", turns: Turns, *, quiet: bool) -> "Iterator[RlveStep]":
    if not quiet:
        seen = episode.observation()
        show([f"{seen['turns_left']} turns, {seen['tool_budget']} calls a turn; {_HELP}", _said(seen)])
    while not episode.done and (turn := turns(episode)) is not None:
        step = episode.step(turn)
        if not quiet:
            show(_shown(turn, step))
        yield step
    if not quiet:
        show([_ending(episode)])


def _ending(episode: "TracedEpisode") -> str:
    if episode.done:
        return f"goal: {json.dumps(episode.goal(), ensure_ascii=False)}"
    left = episode.observation()["turns_left"]
    return f"left before the end, with {left} turns to go: no score"


def _shown(turn: Any, step: "RlveStep") -> Iterator[str]:
    yield f"agent> {turn if isinstance(turn, str) else json.dumps(turn, ensure_ascii=False)}"
    if "fault" in step.info:
        yield f"refused: {step.info['fault']['message']}"
        if not step.done:
            return
    for result in step.observation["tool_results"]:
        text = json.dumps(result["result"], ensure_ascii=False)
        yield f"  {result['name']}: {text if len(text) <= _SHOWN else text[:_SHOWN] + ' ...'}"
    if step.observation["conversation"][-1]["role"] == "user":
        yield _said(step.observation)
    if step.done:
        yield f"ended: {step.info['reason']}"
        yield f"score: {json.dumps(step.info['reward'])}"


def _said(seen: dict[str, Any]) -> str:
    return f"customer> {seen['conversation'][-1]['content']}"


def _report(episode: "TracedEpisode", steps: "list[RlveStep]") -> dict[str, Any]:
    return {
        "key": episode.key.as_dict(),
        "observation": episode.observation(),
        "done": episode.done,
        "info": steps[-1].info if steps else {},
        "goal": episode.goal() if episode.done else None,
    }
