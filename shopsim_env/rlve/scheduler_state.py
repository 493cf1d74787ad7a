"""The scheduler's state: its rules and windows, and the file that holds them.

Belongs here: the format, reading with every check, and a write that a kill leaves either undone or whole.
When windows move is in `scheduler`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from shopsim_env.canonical import pretty_json
from shopsim_env.errors import SchedulerStateError, UsageError

SCHEDULER_VERSION = "shopsim-rlve-scheduler-v1"


@dataclass(frozen=True, slots=True)
class Rules:
    """When a window moves.

    Attributes:
        block: Prompts at the frontier that are judged together, 1 or more.
        threshold: Share of successes that passes, above 0 and at most 1.
        levels: Most levels in a window, 1 or more. The published code says 4 for the distance between its
            ends, which are five levels.
    """

    block: int = 32
    threshold: Fraction = Fraction(9, 10)
    levels: int = 5

    def __post_init__(self) -> None:
        if self.block < 1 or self.levels < 1 or not 0 < self.threshold <= 1:
            raise UsageError(
                f"scheduler rules: expected block >= 1, threshold in (0, 1] and levels >= 1, found {self}",
                code="bad_rules",
            )


@dataclass(frozen=True, slots=True)
class Window:
    """The levels of one environment and what was counted at the frontier.

    Attributes:
        low: Lowest level.
        high: Highest level, the frontier.
        correct: Successes of the running block; a group adds its share.
        total: Prompts of the running block.
        failed_blocks: Blocks that did not pass since the frontier was reached.
    """

    low: int = 0
    high: int = 0
    correct: Fraction = Fraction(0)
    total: int = 0
    failed_blocks: int = 0


def save_state(path: Path, rules: Rules, windows: Mapping[str, Window]) -> None:
    """Replaces the file at once: new bytes are on the disk before they get the name."""
    state = {
        "version": SCHEDULER_VERSION,
        "rules": _plain(rules),
        "windows": {env_id: _plain(window) for env_id, window in windows.items()},
    }
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w", encoding="utf-8") as stream:
        stream.write(pretty_json(state))
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load_state(path: Path, rules: Rules, environments: tuple[str, ...]) -> dict[str, Window]:
    """The windows of a file that `save_state` wrote, in the order of `environments`.

    Raises:
        SchedulerStateError: not such a file (code `unreadable_state`), another version (`state_version`), or
            other rules or environments (`other_scheduler`). The file is left alone.
    """
    state = _parsed(path)
    if state["version"] != SCHEDULER_VERSION:
        raise SchedulerStateError(
            f"{path}: expected version {SCHEDULER_VERSION}, found {state['version']!r}; continue it with the "
            "release of shopsim that wrote it, or begin with a new file",
            code="state_version",
        )
    try:
        windows = {env_id: _window(plain) for env_id, plain in state["windows"].items()}
        found = state["rules"]
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise _unreadable(path, f"a field that does not fit ({error!r})") from error
    if found != _plain(rules) or set(windows) != set(environments):
        raise SchedulerStateError(
            f"{path}: expected rules {_plain(rules)} and environments {sorted(environments)}, found {found} "
            f"and {sorted(windows)}; use those, or begin with a new file",
            code="other_scheduler",
        )
    return {env_id: windows[env_id] for env_id in environments}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(state, dict) or "version" not in state:
        raise _unreadable(path, "other JSON")
    return state


def _unreadable(path: Path, found: str) -> SchedulerStateError:
    return SchedulerStateError(
        f"{path}: expected the state of a scheduler, found {found}; give the path of another file",
        code="unreadable_state",
    )


def _plain(value: Rules | Window) -> dict[str, Any]:
    return {key: str(item) if isinstance(item, Fraction) else item for key, item in asdict(value).items()}


def _window(plain: Mapping[str, Any]) -> Window:
    counts = {key: plain[key] for key in ("low", "high", "total", "failed_blocks")}
    if any(type(count) is not int or count < 0 for count in counts.values()):
        raise ValueError(f"counts {counts}")
    return Window(correct=Fraction(plain["correct"]), **counts)
