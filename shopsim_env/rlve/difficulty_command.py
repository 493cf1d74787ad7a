"""`shopsim rlve difficulty`: what each difficulty means, as a table. The formulas are in `difficulty`."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.rlve.difficulty import MAX_DIFFICULTY, axes, journey_turns, task_axes

_DEFAULT_TO = 12
_BLOCKS = "▁▂▃▄▅▆▇█"


def add_difficulty(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "difficulty",
        help="what each difficulty means",
        description="Print the axes of every difficulty from 0, then the functions of single environments, "
        "then the curve of each.",
    )
    parser.add_argument(
        "--to", type=int, default=_DEFAULT_TO, metavar="N", help=f"last difficulty (default {_DEFAULT_TO})"
    )
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints; exit code 0."""
    if not 0 <= arguments.to <= MAX_DIFFICULTY:
        raise UsageError(f"--to: expected 0 to {MAX_DIFFICULTY}, found {arguments.to}", code="bad_difficulty")
    levels = [_level(d) for d in range(arguments.to + 1)]
    if arguments.json:
        show_json({"levels": levels})
    else:
        show(_lines(levels))
    return 0


def _level(d: int) -> dict[str, Any]:
    shared, task = axes(d), task_axes(d)
    turns = journey_turns([shared] * task.journey_intents)
    return {"d": d, "axes": asdict(shared), "environments": {**asdict(task), "journey_turns": turns}}


def _lines(levels: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "All environments"
    yield from _table([{"d": level["d"], **level["axes"]} for level in levels])
    yield ""
    yield "Single environments"
    yield from _table([{"d": level["d"], **level["environments"]} for level in levels])
    yield ""
    yield f"Curves over d = 0 to {len(levels) - 1}"
    yield from _curves([{**level["axes"], **level["environments"]} for level in levels])


def _curves(rows: Sequence[dict[str, float]]) -> Iterator[str]:
    """One line per value: from its least to its largest in eight steps."""
    width = max(map(len, rows[0]))
    for name in rows[0]:
        values = [row[name] for row in rows]
        low, high = min(values), max(values)
        scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0
        bars = "".join(_BLOCKS[round((value - low) * scale)] for value in values)
        yield f"{name:<{width}}  {bars}  {_cell(low)} to {_cell(high)}"


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Columns are as wide as their names, or as four decimals."""
    widths = {name: max(len(name), 6) for name in rows[0]}
    yield "  ".join(f"{name:>{width}}" for name, width in widths.items())
    for row in rows:
        yield "  ".join(f"{_cell(row[name]):>{width}}" for name, width in widths.items())


def _cell(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"
