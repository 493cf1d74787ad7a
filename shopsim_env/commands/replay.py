"""`shopsim replay`: play recorded episodes again and compare every byte."""

import argparse
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.release import load_release
from shopsim_env.replay import Verification, verify_file

_LISTED = 20


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("replay", help="play a trace again and compare every byte")
    parser.add_argument(
        "--verify",
        metavar="FILE",
        required=True,
        help="trace file: of shopsim play, of RLVE, or traces.jsonl of a run",
    )
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Verifies a file; exit code 1 when an episode differs, or the file holds no episode."""
    with load_release(arguments.release) as release:
        result = verify_file(arguments.verify, release)
    if arguments.json:
        show_json(_report(arguments.verify, result))
    else:
        show(_lines(arguments.verify, result))
    return 0 if result.ok else 1


def _report(path: str, result: Verification) -> dict[str, Any]:
    differences = [
        {
            "episode": found.episode,
            "step": found.step,
            "field": found.field,
            "recorded": found.expected,
            "played": found.found,
        }
        for found in result.differences
    ]
    return {
        "trace": path,
        "ok": result.ok,
        "episodes": result.episodes,
        "actions": result.steps,
        "torn_bytes": result.torn,
        "left_out": result.left_out,
        "differences": differences,
    }


def _lines(path: str, result: Verification) -> list[str]:
    lines = [str(found) for found in result.differences[:_LISTED]]
    if len(result.differences) > _LISTED:
        lines.append(f"... and {len(result.differences) - _LISTED} more episodes")
    if result.torn:
        lines.append(f"the last line is unfinished ({result.torn} bytes) and was not compared")
    if result.left_out:
        lines.append(f"{result.left_out} failed episodes have no result and were not compared")
    different = len(result.differences)
    verdict = "ok" if result.ok else "nothing to compare" if not result.episodes else f"{different} differ"
    return [*lines, f"{verdict}  {result.episodes} episodes, {result.steps} actions, {path}"]
