"""`shopsim rlve`: the group of commands about RLVE. Each command is a module of its own."""

from typing import Any

from shopsim_env.rlve.difficulty_command import add_difficulty
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.play_command import add_oracle, add_play
from shopsim_env.rlve.schedule_command import add_schedule
from shopsim_env.rlve.selfcheck_command import add_selfcheck


def register(subparsers: Any) -> None:
    """Adds the group and its commands."""
    parser = subparsers.add_parser("rlve", help="tasks whose difficulty is one number")
    commands = parser.add_subparsers(dest="rlve_command", metavar="COMMAND", required=True)
    add_difficulty(commands)
    add_schedule(commands, tuple(ENVIRONMENTS))
    add_selfcheck(commands)
    add_play(commands)
    add_oracle(commands)
