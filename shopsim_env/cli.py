"""The `shopsim` command: collects subcommands, prints errors, sets exit codes.

Exit codes: 0 ok, 1 the check failed, 2 wrong use. Runtime commands live in `shopsim_env.commands`, those
about RLVE in `shopsim_env.rlve.cli`. Pipeline commands come from a checkout through the entry-point group
`shopsim.commands`; elsewhere their names only say that they need one.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from io import TextIOWrapper
from pathlib import Path

from shopsim_env.commands import (
    bench,
    contamination,
    doctor,
    evaluate,
    export,
    floors,
    openenv,
    play,
    release,
    replay,
    run,
    search,
    serve,
    verify,
)
from shopsim_env.commands.output import callable_commands, show_json
from shopsim_env.errors import ShopSimError
from shopsim_env.rlve import cli as rlve
from shopsim_env.versions import __version__

_COMMANDS = (
    verify,
    release,
    search,
    play,
    run,
    replay,
    serve,
    openenv,
    floors,
    evaluate,
    contamination,
    export,
    rlve,
    doctor,
    bench,
)
_CHECKOUT_COMMANDS = ("build", "sample", "baseline", "published", "audit", "annotate")
_CHECKOUT = Path(__file__).resolve().parent.parent / "pipelines" / "cli.py"


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command that this installation offers."""
    parser = argparse.ArgumentParser(
        prog="shopsim",
        description="A Chinese shopping environment for agents. Commands read the sample release by default.",
    )
    parser.add_argument("--version", action="version", version=f"shopsim {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.register(subparsers)
    if _CHECKOUT.is_file():
        # Only our own checkout: an unrelated top-level package may be called `pipelines` too.
        for point in entry_points(group="shopsim.commands"):
            point.load()(subparsers)
    else:
        for name in _CHECKOUT_COMMANDS:
            subparsers.add_parser(name, help="needs a checkout of the project", add_help=False).set_defaults(
                handler=_needs_checkout
            )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Chinese on a terminal that cannot show it must not end the command.
            stream.reconfigure(errors="backslashreplace")
    parser = build_parser()
    arguments, rest = parser.parse_known_args(argv)
    handler = arguments.handler
    if rest and handler is not _needs_checkout:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return int(handler(arguments))
    except ShopSimError as error:
        if getattr(arguments, "json", False):
            show_json({"ok": False, "error": {"code": error.code, "message": str(error)}})
        print(f"shopsim: {error.code}: {callable_commands(str(error))}", file=sys.stderr)  # noqa: T201
        return 2 if error.wrong_use else 1
    except KeyboardInterrupt:
        print("\nshopsim: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:
        # The reader of our output is gone (`| head`): not an error of ours.
        sys.stderr.close()
        return 0


def _needs_checkout(arguments: argparse.Namespace) -> int:
    print(  # noqa: T201
        f"shopsim {arguments.command}: needs a checkout of the project (the installed package holds the "
        "runtime only).",
        file=sys.stderr,
    )
    return 2
