"""`shopsim evaluate` and `shopsim compare`: their arguments.

What they do is in `shopsim_env.evaluation.command`, which is loaded when one of them runs.
"""

import argparse
from typing import Any

from shopsim_env.commands.output import add_common, add_release
from shopsim_env.evaluation.statistics import RESAMPLES
from shopsim_env.evaluation.words import LANGUAGES

_STRATA = ("public", "private")


def register(subparsers: Any) -> None:
    """Adds both commands."""
    parser = subparsers.add_parser(
        "evaluate",
        help="metrics of a recorded run, with intervals",
        description="Metrics of a run folder or trace file, of the Shop or of RLVE (docs/evaluation.md).",
    )
    parser.add_argument("run", metavar="RUN", help="run folder, or file of traces")
    parser.add_argument("--card", metavar="FILE.md", help="write the result card, and beside it FILE.json")
    parser.add_argument(
        "--k", type=int, action="append", metavar="K", help="size of pass@k and pass^k; repeatable"
    )
    parser.add_argument(
        "--floors", action="store_true", help="play the agents without skill on the same tasks (Shop)"
    )
    _add_options(parser)
    parser.set_defaults(handler=run_evaluate)
    parser = subparsers.add_parser(
        "compare",
        help="two recorded runs of the same tasks, in pairs",
        description="Paired differences of two runs, B minus A. Runs under different rules are refused.",
    )
    parser.add_argument("first", metavar="A", help="run folder, or file of traces")
    parser.add_argument("second", metavar="B", help="the other one")
    _add_options(parser)
    parser.set_defaults(handler=run_compare)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", metavar="FILE", help="write a report with charts")
    parser.add_argument("--language", choices=LANGUAGES, default="en", help="of text, card and report")
    parser.add_argument(
        "--strata",
        choices=_STRATA,
        default=_STRATA[0],
        help="kinds of tasks from public labels (default), or from goals and witnesses, as classes",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap (default 0)")
    parser.add_argument(
        "--resamples",
        type=int,
        default=RESAMPLES,
        metavar="N",
        help=f"of the bootstrap (default {RESAMPLES})",
    )
    parser.add_argument("--force", action="store_true", help="allow to replace files")
    add_release(parser)
    add_common(parser)


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Measures one run."""
    from shopsim_env.evaluation.command import evaluate

    return evaluate(arguments)


def run_compare(arguments: argparse.Namespace) -> int:
    """Compares two runs."""
    from shopsim_env.evaluation.command import compare

    return compare(arguments)
