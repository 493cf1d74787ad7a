"""`shopsim play`: an episode at the terminal, from a script, or by the agent that knows the goal.

What is printed is what an agent sees; the reward follows after the end. Only `--oracle` looks at the goal.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
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
from shopsim_env.recording import TracedEnv
from shopsim_env.release import Release, load_release
from shopsim_env.shop.env import Reset, ShopEnv, Step
from shopsim_env.shop.oracle import solve
from shopsim_env.trace import TraceWriter

_HELP = "type search[words] or click[value], the number behind an element, or Ctrl-D to leave"


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("play", help="play one episode", description=f"Play one episode: {_HELP}.")
    parser.add_argument(
        "--task", type=int, metavar="ID", help="task id (default: drawn from --split by --seed)"
    )
    parser.add_argument("--split", metavar="NAME", help="split to draw from, such as project/train")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (default 0)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--persona", action="store_true", help="persona mode: simple request and persona (default)"
    )
    mode.add_argument("--standard", action="store_true", help="standard mode: full request")
    parser.add_argument(
        "--multi-turn", action="store_true", help="vague request, and a shopper that answers ask_shopper[...]"
    )
    player = parser.add_mutually_exclusive_group()
    player.add_argument(
        "--script", metavar="FILE", help="read actions from FILE, one a line ('-': standard input)"
    )
    player.add_argument("--oracle", action="store_true", help="let the agent that knows the goal play")
    parser.add_argument("--brief", action="store_true", help="print actions and results, not whole pages")
    parser.add_argument("--trace", metavar="FILE", help="append the episode to FILE (shopsim-trace-v1)")
    add_episode_options(parser)
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Plays to the end; exit code 0 when the episode ended with r_success = 1, else 1."""
    lines = _lines(arguments.script)
    with load_release(arguments.release) as release, _trace(arguments.trace) as writer:
        require_tasks(release)
        env = TracedEnv(
            release,
            writer=writer,
            task_mode="standard" if arguments.standard else "persona",
            interaction_mode="multi_turn" if arguments.multi_turn else "single_turn",
            option_match=arguments.option_match,
            persona_view=arguments.persona_view,
            split=arguments.split,
        )
        start = env.reset(_task_id(release, arguments), seed=arguments.seed)
        say = _silent if arguments.json else show
        say(_introduction(start, brief=arguments.brief))
        steps = _play(release, env, start, arguments, say, lines)
        env.close()
    last = steps[-1][1] if steps else None
    if arguments.json:
        show_json(_report(release, start, steps))
    else:
        show(_ending(last))
    return 0 if last is not None and last.reward_detail and last.reward_detail["r_success"] == 1 else 1


def _trace(path: str | None) -> AbstractContextManager[TraceWriter | None]:
    """The writer of `--trace`; what an earlier run left unfinished there is cut off and reported."""
    if path is None:
        return nullcontext()
    writer = TraceWriter(path)
    if writer.dropped:
        report = f"shopsim: {path}: cut off an unfinished last line of {writer.dropped} bytes\n"
        sys.stderr.write(report)
    return writer


def _silent(_: object) -> None:
    """Takes lines and prints none: with `--json` standard output holds one document only."""


def _task_id(release: Release, arguments: argparse.Namespace) -> int | None:
    if arguments.task is not None or arguments.split is not None:
        return arguments.task  # type: ignore[no-any-return]
    wanted = "standard" if arguments.standard else "persona"
    task_id = next((task_id for task_id, task in release.tasks.items() if wanted in task.labels), None)
    if task_id is None:
        raise UsageError(f"this release has no {wanted} task; it has {len(release.tasks)} tasks in all")
    return task_id


def _play(
    release: Release,
    env: ShopEnv,
    start: Reset,
    arguments: argparse.Namespace,
    say: Any,
    lines: Iterator[str],
) -> list[tuple[str, Step]]:
    if arguments.oracle:
        result = solve(release, env, start.task_id)
        for action, step in result.steps:
            say([f"> {action}", *_page(step, arguments.brief)])
        return list(result.steps)
    steps: list[tuple[str, Step]] = []
    state = start.observation_state
    if arguments.script is None:
        say([f"({_HELP})"])
    for line in lines:
        action = _expand(line, state)
        step = env.step(action)
        steps.append((action, step))
        say([f"> {action}", *_page(step, arguments.brief)])
        say(_numbered(step, arguments))
        state = step.observation_state
        if step.done:
            break
    return steps


def _lines(script: str | None) -> Iterator[str]:
    """Action lines of the script or of standard input; a missing script is refused before anything runs."""
    if script is None or script == "-":
        return _typed()
    path = Path(script)
    if not path.is_file():
        raise UsageError(f"--script: expected a file of actions, found none at {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"--script: expected UTF-8 text in {path}, found other bytes") from error
    return (line.strip() for line in text.splitlines() if line.strip())


def _typed() -> Iterator[str]:
    for line in sys.stdin:
        if line.strip():
            yield line.strip()


def _expand(line: str, state: dict[str, Any]) -> str:
    """A bare number picks the n-th element of the page, unless the page shows that number itself."""
    actions = state["actions"]
    if line.isdecimal() and line not in actions and 1 <= int(line) <= len(actions):
        return f"click[{actions[int(line) - 1]}]"
    return line


def _page(step: Step, brief: bool) -> list[str]:
    if not brief:
        return ["", step.observation]
    state, feedback = step.observation_state, step.action_feedback or {}
    facts = [f"  {feedback.get('message', '')} · {state['page_type']}"]
    if "shopper" in state and feedback.get("action", "").startswith("ask_shopper"):
        facts[0] += f" · {state['shopper']['message']}"
    if "total_results" in state:
        facts[0] += f" · {state['total_results']} hits, page {state['page']}/{state['total_pages']}"
    if "product" in state:
        price = state.get("selected_price") or state["product"]["price"] or "?"
        facts[0] += f" · {state['product']['title']} · {price}"
    return facts


def _numbered(step: Step, arguments: argparse.Namespace) -> list[str]:
    """The numbers that `_expand` understands, for a person; an invalid action repeats the forms."""
    if arguments.script is not None or arguments.brief or step.done:
        return []
    feedback = step.action_feedback or {}
    hint = [] if feedback.get("valid", True) else [f"({_HELP})"]
    pairs = enumerate(step.observation_state["actions"], start=1)
    return [*hint, "  ".join(f"[{number}] {value}" for number, value in pairs)]


def _introduction(start: Reset, *, brief: bool) -> list[str]:
    persona = []
    if start.user_persona and not brief:
        persona = ["", "用户档案 persona:", json.dumps(start.user_persona, ensure_ascii=False, indent=1)]
    return [
        f"任务 task {start.task_id} · {start.task_mode} · {start.environment_version}",
        f"「{start.task_instruction}」",
        *persona,
        *([] if brief else ["", start.observation]),
    ]


def _ending(last: Step | None) -> list[str]:
    if last is None or not last.done:
        return ["the episode did not end: no reward"]
    detail = last.reward_detail or {}
    parts = "  ".join(f"{name} {detail[name]:g}" for name in ("r_type", "r_att", "r_option", "r_price"))
    totals = "  ".join(f"{name} {detail[name]:g}" for name in ("r_loose", "r_strict", "r_success"))
    return [f"ended: {last.termination_reason}   reward {last.reward:g}", f"  {totals}", f"  {parts}"]


def _report(release: Release, start: Reset, steps: list[tuple[str, Step]]) -> dict[str, Any]:
    last = steps[-1][1] if steps else None
    return {
        "release": release.id,
        "environment_version": start.environment_version,
        "task_id": start.task_id,
        "task_mode": start.task_mode,
        "task_instruction": start.task_instruction,
        "actions": [action for action, _ in steps],
        "done": bool(last and last.done),
        "termination_reason": last.termination_reason if last else None,
        "reward": last.reward if last else None,
        "reward_detail": last.reward_detail if last else None,
    }
