"""`shopsim export`: task files for trainers, and training data from recorded runs.

Belongs here: arguments, and what is printed. Rows are made in `shopsim_env.exports`, which is loaded when a
command runs.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from shopsim_env.canonical import sha256_file
from shopsim_env.commands.output import (
    add_common,
    add_episode_options,
    add_release,
    require_tasks,
    show,
    show_json,
)
from shopsim_env.contamination import HELD_OUT
from shopsim_env.errors import RunError, UsageError
from shopsim_env.release import Release, load_release
from shopsim_env.runner.prompts import PROMPTS
from shopsim_env.runs.rows import COMPONENTS
from shopsim_env.shop.options import INTERACTION_MODES, TASK_MODES
from shopsim_env.shop.styles import RENDERERS

_SHOWN = 10
_SUFFIXES = (".parquet", ".jsonl")


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("export", help="task files for trainers, training data from runs")
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    _add_tasks(kinds)
    _add_sft(kinds)
    _add_groups(kinds)
    _add_preferences(kinds)
    _add_lengths(kinds)


def _add_tasks(kinds: Any) -> None:
    parser = kinds.add_parser("tasks", help="one row per task: first messages, tools, what starts it")
    parser.add_argument(
        "--split", action="append", required=True, metavar="NAME", help="tasks of this split; repeatable"
    )
    parser.add_argument("--prompt", choices=sorted(PROMPTS), default="zh-v1", help="system prompt")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the episodes (default 0)")
    parser.add_argument("--agent-name", default="shop_agent", metavar="NAME", help="name of the agent loop")
    parser.add_argument("--mode", choices=TASK_MODES, default="persona", help="task mode (default persona)")
    parser.add_argument("--interaction-mode", choices=INTERACTION_MODES, default="single_turn")
    parser.add_argument("--observation-style", choices=tuple(RENDERERS), default="full")
    parser.add_argument("--page-size", type=int, metavar="N", help="products on a results page")
    parser.add_argument("--max-actions", type=int, metavar="N", help="limit of actions")
    parser.add_argument("--max-invalid", type=int, metavar="N", help="refused actions in a row that end it")
    add_episode_options(parser)
    _add_out(parser, "file; .parquet needs the extra `export`, .jsonl does not")
    parser.set_defaults(handler=run_tasks)


def _add_sft(kinds: Any) -> None:
    parser = kinds.add_parser("sft", help="messages with a mark on every answer to learn")
    _add_runs(parser)
    parser.add_argument(
        "--min-reward", type=float, default=0.0, metavar="X", help="lowest reward (default 0)"
    )
    parser.add_argument("--bad", choices=("mask", "drop"), default="mask", help="what happens to bad answers")
    _add_reasoning(parser)
    parser.add_argument(
        "--rows", choices=("episode", "turn"), default="episode", help="a row per episode, or per answer"
    )
    parser.set_defaults(handler=partial(_run_guarded, _sft))


def _add_groups(kinds: Any) -> None:
    parser = kinds.add_parser("groups", help="groups of one start with advantages")
    _add_runs(parser)
    parser.add_argument("--scale", action="store_true", help="divide advantages by the standard deviation")
    parser.set_defaults(handler=partial(_run_guarded, _groups))


def _add_preferences(kinds: Any) -> None:
    parser = kinds.add_parser("preferences", help="pairs of a better and a worse episode of one start")
    _add_runs(parser)
    parser.add_argument(
        "--margin", type=float, default=0.1, metavar="X", help="least difference (default 0.1)"
    )
    parser.add_argument("--pairs", type=int, default=1, metavar="N", help="most pairs of a start (default 1)")
    _add_reasoning(parser)
    parser.set_defaults(handler=partial(_run_guarded, _preferences))


def _add_lengths(kinds: Any) -> None:
    parser = kinds.add_parser("lengths", help="token lengths of pages, answers and episodes")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder or trace file")
    parser.add_argument(
        "--tokenizer",
        default="chars",
        metavar="WHAT",
        help="chars (default), utf8-bytes, or a tokenizer.json or its folder (extra `export`)",
    )
    add_common(parser)
    parser.set_defaults(handler=run_lengths)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder or trace file")
    parser.add_argument(
        "--split", action="append", metavar="NAME", help="only tasks of this split; repeatable (default: all)"
    )
    parser.add_argument(
        "--held-out",
        action="append",
        metavar="NAME",
        help=f"split that must not get in unless --split names it (default: {', '.join(HELD_OUT)})",
    )
    parser.add_argument("--reward", choices=("reward", *COMPONENTS), default="reward", help="which reward")
    _add_out(parser, "JSON Lines file")


def _add_reasoning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reasoning", choices=("keep", "drop"), default="drop", help="reasoning of the model"
    )


def _add_out(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=what)
    parser.add_argument("--force", action="store_true", help="replace the file when it exists")
    add_release(parser)
    add_common(parser)


def run_tasks(arguments: argparse.Namespace) -> int:
    """Writes a task file."""
    from shopsim_env.exports.parquet import import_pyarrow, write_parquet
    from shopsim_env.exports.progress import Progress
    from shopsim_env.exports.tasks import chosen_tasks, task_rows
    from shopsim_env.exports.writing import export_rows, write_lines

    if arguments.out.suffix not in _SUFFIXES:
        raise UsageError(f"--out: expected a name that ends in {_SUFFIXES}, found {arguments.out.name!r}")
    as_parquet = arguments.out.suffix == ".parquet"
    if as_parquet:
        import_pyarrow()
    with load_release(arguments.release) as release:
        require_tasks(release)
        chosen = chosen_tasks(release, arguments.split)
        rows = task_rows(
            release,
            Progress(quiet=arguments.json).over("tasks", chosen, len(chosen), "tasks"),
            prompt=arguments.prompt,
            seed=arguments.seed,
            agent=arguments.agent_name,
            **_environment(arguments),
        )
        export_rows(
            arguments.out, rows, force=arguments.force, sink=write_parquet if as_parquet else write_lines
        )
        _report(arguments, {"release": release.id, "splits": arguments.split}, {"rows": len(chosen)})
    return 0


def _environment(arguments: argparse.Namespace) -> dict[str, Any]:
    asked = {
        "task_mode": arguments.mode,
        "interaction_mode": arguments.interaction_mode,
        "option_match": arguments.option_match,
        "persona_view": arguments.persona_view,
        "observation_style": arguments.observation_style,
        "page_size": arguments.page_size,
        "max_actions": arguments.max_actions,
        "max_invalid": arguments.max_invalid,
    }
    return {name: value for name, value in asked.items() if value is not None}


Maker = Callable[[argparse.Namespace, Any, list[Any]], Iterable[Mapping[str, Any]]]


def _run_guarded(make: Maker, arguments: argparse.Namespace) -> int:
    """Writes rows of the episodes that may be exported; exit code 1 when a held-out task is among them."""
    from shopsim_env.exports.held_out import Guard
    from shopsim_env.exports.progress import Progress
    from shopsim_env.exports.recorded import Recording
    from shopsim_env.exports.writing import check_target, export_rows

    check_target(arguments.out, arguments.force)
    with load_release(arguments.release) as release:
        guard = _guard(Guard, release, arguments)
        recording = Recording(arguments.runs, Progress(quiet=arguments.json))
        places = guard.allowed(recording.places(), recording.counts)
        near = guard.near_tasks(places)
        rows = export_rows(arguments.out, make(arguments, recording, places), force=arguments.force)
        head = {"release": release.id, "runs": recording.names}
    _report(arguments, head, {**recording.counts, "rows": rows}, near)
    return 0


def _guard(kind: Any, release: Release, arguments: argparse.Namespace) -> Any:
    held_out = arguments.held_out or [name for name in HELD_OUT if name in release.splits]
    return kind(release, tuple(arguments.split or ()), tuple(held_out))


def _sft(arguments: argparse.Namespace, recording: Any, places: list[Any]) -> Iterable[Mapping[str, Any]]:
    from shopsim_env.exports.sft import SftOptions, sft_rows

    options = SftOptions(
        arguments.bad, arguments.reasoning, arguments.rows, arguments.min_reward, arguments.reward
    )
    return sft_rows(recording.episodes(places, "sft"), options, recording.counts)


def _groups(arguments: argparse.Namespace, recording: Any, places: list[Any]) -> Iterable[Mapping[str, Any]]:
    from shopsim_env.exports.groups import group_rows

    return group_rows(
        recording.episodes(places, "groups"),
        places,
        counts=recording.counts,
        reward=arguments.reward,
        scale=arguments.scale,
    )


def _preferences(
    arguments: argparse.Namespace, recording: Any, places: list[Any]
) -> Iterable[Mapping[str, Any]]:
    from shopsim_env.exports.preferences import PairOptions, preference_rows

    keep = arguments.reasoning == "keep"
    options = PairOptions(arguments.margin, arguments.pairs, arguments.reward, keep)
    return preference_rows(recording, recording.episodes(places, "preferences"), options, recording.counts)


def run_lengths(arguments: argparse.Namespace) -> int:
    """Prints the table of lengths."""
    from shopsim_env.exports.lengths import counting, profile
    from shopsim_env.exports.progress import Progress
    from shopsim_env.exports.recorded import Recording

    count = counting(arguments.tokenizer)
    recording = Recording(arguments.runs, Progress(quiet=arguments.json))
    found = profile(recording.episodes(recording.places(), "lengths"), count)
    if not found:
        raise RunError("expected completed episodes with messages, found none", code="nothing_to_export")
    if arguments.json:
        head = {"ok": True, "tokenizer": arguments.tokenizer, "runs": recording.names}
        show_json({**head, "counts": dict(recording.counts), "lengths": found})
        return 0
    show([f"{'in ' + arguments.tokenizer:<28}  number      mean   p50   p90   p99    max"])
    show(
        f"{name:<28}  {one['count']:6,}  {one['mean']:8,.1f}  {one['p50']:4,}  {one['p90']:4,}  "
        f"{one['p99']:4,}  {one['max']:5,}"
        for name, one in found.items()
    )
    show(_counted(recording.counts))
    return 0


def _report(
    arguments: argparse.Namespace,
    head: Mapping[str, Any],
    counts: Mapping[str, int],
    near: Iterable[int] = (),
) -> None:
    near = list(near)
    if arguments.json:
        file = {"out": str(arguments.out), "sha256": sha256_file(arguments.out)}
        show_json({"ok": True, **file, **head, "counts": dict(counts), "near_held_out": near})
        return
    show([f"{arguments.out}: {counts['rows']:,} rows", *_counted(counts)])
    if near:
        show(
            [
                f"{len(near)} tasks repeat a request or persona of a held-out task, such as {near[:_SHOWN]}: "
                "see `shopsim contamination`, or take a _clean split"
            ]
        )


def _counted(counts: Mapping[str, int]) -> list[str]:
    """Counts that are not zero, on one line."""
    found = Counter(counts)
    return [", ".join(f"{name} {value:,}" for name, value in sorted(found.items()) if value)]
