"""`shopsim contamination`: do a user's own training examples hold tasks of the held-out splits?"""

import argparse
from dataclasses import asdict
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.contamination import HELD_OUT, check_contamination
from shopsim_env.release import load_release

_SHOWN = 50


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("contamination", help="compare training examples with the held-out splits")
    parser.add_argument("file", metavar="FILE", help="training examples, JSON Lines (.gz too)")
    parser.add_argument(
        "--split",
        action="append",
        metavar="NAME",
        help=f"split that must stay unseen; repeatable (default: {', '.join(HELD_OUT)})",
    )
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Compares and reports; exit code 1 when something was found."""
    with load_release(arguments.release) as release:
        report = check_contamination(arguments.file, release, tuple(arguments.split or HELD_OUT))
    if arguments.json:
        hits = [{**asdict(hit), "explanation": hit.explanation} for hit in report.hits]
        show_json({**asdict(report), "hits": hits, "ok": report.ok})
        return 0 if report.ok else 1
    show(hit.explanation for hit in report.hits[:_SHOWN])
    if len(report.hits) > _SHOWN:
        show([f"... and {len(report.hits) - _SHOWN} more (--json lists all)"])
    if not report.full_texts:
        show(["a public copy: full texts of persona tasks and gold products were not compared"])
    compared = f"{report.rows:,} rows against {report.tasks:,} tasks of {', '.join(report.splits)}"
    show([f"{len(report.hits)} hits: {compared}"])
    return 0 if report.ok else 1
