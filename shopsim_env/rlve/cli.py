"""`shopsim rlve`: the group of commands about RLVE. Each command is a module with `register` and `run`."""

from typing import Any

from shopsim_env.rlve import difficulty_command


def register(subparsers: Any) -> None:
    """Adds the group and its commands."""
    parser = subparsers.add_parser("rlve", help="tasks whose difficulty is one number")
    commands = parser.add_subparsers(dest="rlve_command", metavar="COMMAND", required=True)
    for module in (difficulty_command,):
        module.register(commands)
