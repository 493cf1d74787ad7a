"""The adaptive scheduler: which difficulty an episode gets, and what its result does to the window.

Belongs here: one window of levels per environment and its moves. Writing the state to disk is in
`scheduler_state`. Source: published rule (block 32, 0.9, at most five levels); no demotion, no decay.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from shopsim_env.errors import UsageError
from shopsim_env.locks import fork_safe_lock
from shopsim_env.rlve.collections import collection
from shopsim_env.rlve.difficulty import check_level
from shopsim_env.rlve.scheduler_state import Rules, Window, load_state, save_state

PLATEAU_BLOCKS = 3


@dataclass(frozen=True, slots=True)
class Report:
    """Where one environment stands.

    Attributes:
        env_id: The environment.
        window: Its window and counters.
        plateau: Whether the last `PLATEAU_BLOCKS` blocks or more failed at the frontier.
    """

    env_id: str
    window: Window
    plateau: bool


class Scheduler:
    """Windows of difficulty that follow the success at their upper end. Threads may share one.

    Args:
        environments: A collection's name or a list of environment ids.
        rules: The published rules by default.
        path: File that holds the state after every counted result, before `record` returns; an existing one
            is continued. One process writes it: the one that hands out episodes.

    Raises:
        UsageError: an unknown collection or environment.
        SchedulerStateError: the file is not a state of this version, these rules and these environments.
    """

    def __init__(
        self,
        environments: str | Sequence[str] = "C8",
        *,
        rules: Rules | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self._path = None if path is None else Path(path)
        self._lock = fork_safe_lock()
        self._frozen = False
        self._windows = {env_id: Window() for env_id in collection(environments)}
        if self._path is not None and self._path.exists():
            self._windows = load_state(self._path, self.rules, tuple(self._windows))

    def window(self, env_id: str) -> Window:
        """The window of an environment.

        Raises:
            UsageError: the scheduler does not have it (code `unknown_environment`).
        """
        if env_id not in self._windows:
            raise UsageError(
                f"environment: expected one of {list(self._windows)}, found {env_id!r}",
                code="unknown_environment",
            )
        return self._windows[env_id]

    def windows(self) -> Mapping[str, Window]:
        """A copy of all windows."""
        return dict(self._windows)

    def sample(self, env_id: str, generator: random.Random) -> int:
        """A level of the window, each with the same probability; changes nothing but `generator`.

        Raises:
            UsageError: the scheduler does not have the environment (code `unknown_environment`).
        """
        window = self.window(env_id)
        return generator.randint(window.low, window.high)

    def record(self, env_id: str, d: int, successes: Sequence[bool]) -> bool:
        """Counts the result of one prompt.

        Only results of the frontier count: `d` is the level that the episode was played at, so a late result
        of a level that has been passed changes nothing, and neither does a forced level above.

        Args:
            env_id: The environment.
            d: Level of the episode.
            successes: Success flags of the prompt's rollouts, one or more. A group counts as one prompt with
                the share of its successes.

        Returns:
            Whether the result was counted; never while frozen.

        Raises:
            UsageError: unknown environment, no level, or no rollout (code `bad_group`).
        """
        check_level(d)
        if not successes or not all(isinstance(flag, bool) for flag in successes):
            raise UsageError(
                f"successes: expected one or more booleans, found {list(successes)}", code="bad_group"
            )
        with self._lock:
            window = self.window(env_id)
            if self._frozen or d != window.high:
                return False
            moved = _moved(window, Fraction(sum(successes), len(successes)), self.rules)
            changed = {**self._windows, env_id: moved}
            if self._path is not None:
                save_state(self._path, self.rules, changed)
            self._windows = changed  # after the disk: a failed write counts nothing
        return True

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While this is open, results change nothing: for evaluations."""
        before, self._frozen = self._frozen, True
        try:
            yield
        finally:
            self._frozen = before

    def report(self) -> list[Report]:
        """Where every environment stands."""
        return [
            Report(env_id, window, plateau=window.failed_blocks >= PLATEAU_BLOCKS)
            for env_id, window in self._windows.items()
        ]


def _moved(window: Window, share: Fraction, rules: Rules) -> Window:
    """`window` after one more prompt at its frontier."""
    counted = replace(window, correct=window.correct + share, total=window.total + 1)
    if counted.total < rules.block:
        return counted
    if counted.correct / counted.total < rules.threshold:
        return replace(counted, correct=Fraction(0), total=0, failed_blocks=window.failed_blocks + 1)
    high = window.high + 1
    return Window(low=max(window.low, high - rules.levels + 1), high=high)
