"""How commands print: one JSON document with `--json`, plain text without. The only module that prints."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shopsim_env.errors import UsageError
from shopsim_env.release import Release
from shopsim_env.reward.option import OPTION_RULES
from shopsim_env.tasks.persona import PERSONA_VIEWS


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every runtime command has."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_release(parser: argparse.ArgumentParser) -> None:
    """Adds `--release`."""
    parser.add_argument("--release", metavar="DIR", help="release folder (default: the sample release)")


def add_episode_options(parser: argparse.ArgumentParser) -> None:
    """Adds what every player may choose: `--option-match` and `--persona-view`."""
    parser.add_argument("--option-match", choices=OPTION_RULES, default="anchored")
    parser.add_argument(
        "--persona-view",
        choices=PERSONA_VIEWS,
        default="default",
        help="personas as published (default) or without recent searches",
    )


def require_tasks(release: Release) -> None:
    """Refuses a release without any task, as one of a product file is.

    Raises:
        UsageError: code `no_tasks`.
    """
    if not len(release.tasks):
        raise UsageError(
            "expected a release with tasks, found a catalogue without any: it can be searched "
            "(shopsim search QUERY --release DIR), and its products are a world for RLVE",
            code="no_tasks",
        )


def program() -> str:
    """How to call this command: its name where the shell finds it, else the path that was called."""
    called, found = Path(sys.argv[0]), shutil.which("shopsim")
    if called.name != "shopsim" or (found is not None and called.exists() and called.samefile(found)):
        return "shopsim"
    below = called.absolute().is_relative_to(Path.cwd())
    return os.path.relpath(called) if below else str(called.absolute())


def callable_commands(text: str) -> str:
    """`text` with the commands of ours in it, which stand between backticks, as they can be called."""
    return text.replace("`shopsim ", f"`{program()} ")


def show_json(value: Any) -> None:
    """Prints `value` as one JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def show(lines: Iterable[str]) -> None:
    """Prints text lines."""
    for line in lines:
        sys.stdout.write(callable_commands(line) + "\n")
    sys.stdout.flush()
