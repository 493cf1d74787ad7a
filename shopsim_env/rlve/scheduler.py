"""Adaptive windows of difficulty: which levels an environment is played at, and when its frontier moves.

Belongs here: the immutable state, a draw, what one result changes, the plateau report. The published rule:
a window `low..high` for each environment, only results at `high` count, after a block of them the frontier
moves up or stays, and at most five levels are open. Where the state is kept: `schedule_file`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from shopsim_env.errors import UsageError
from shopsim_env.intervals import wilson

Taken = Literal["counted", "off_frontier", "repeated", "frozen"]
_NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a schedule is run with; the defaults are the published values.

    Args:
        seed: Of the draws.
        block: Counted prompts after which the frontier is decided on.
        accuracy: Least share of successes in a block that moves the frontier; exact.
        levels: Most levels that are open at once (the published span `high - low <= 4`).

    Raises:
        UsageError: code `bad_settings`.
    """

    seed: int = 0
    block: int = 32
    accuracy: Fraction = Fraction(9, 10)
    levels: int = 5

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("block", 1), ("levels", 1)):
            _at_least(name, getattr(self, name), least, "bad_settings")
        if not isinstance(self.accuracy, Fraction) or not 0 < self.accuracy <= 1:
            raise UsageError(
                f"accuracy: expected a Fraction above 0 and at most 1, found {self.accuracy!r}",
                code="bad_settings",
            )


@dataclass(frozen=True, slots=True)
class Window:
    """One environment: the open levels `low..high`, the running block, and how long `high` has stood.

    `correct` and `total` are of the running block; `failed_blocks` and `failed_correct` of the blocks that
    ended at this `high` without moving it; `waited` counts results of any level since it moved.
    """

    low: int = 0
    high: int = 0
    correct: Fraction = _NONE
    total: int = 0
    failed_blocks: int = 0
    failed_correct: Fraction = _NONE
    waited: int = 0

    def after(self, d: int, share: Fraction, settings: Settings) -> "Window":
        """The window after one prompt at level `d`, `share` of whose rollouts succeeded."""
        waiting = replace(self, waited=self.waited + 1)
        if d != self.high:
            return waiting
        correct, total = self.correct + share, self.total + 1
        if total < settings.block:
            return replace(waiting, correct=correct, total=total)
        if correct >= settings.accuracy * total:
            high = self.high + 1
            return Window(low=max(self.low, high - settings.levels + 1), high=high)
        return replace(
            waiting,
            correct=_NONE,
            total=0,
            failed_blocks=self.failed_blocks + 1,
            failed_correct=self.failed_correct + correct,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one prompt: the whole group of its rollouts, which counts once.

    Args:
        prompt: The number that the prompt was drawn with; no two prompts of a schedule share one.
        environment: Its environment.
        d: The level that it was played at, whatever the window is by now.
        successes: Rollouts whose success flag holds; the reward plays no part.
        rollouts: Size of the group.

    Raises:
        UsageError: code `bad_result`.
    """

    prompt: int
    environment: str
    d: int
    successes: int
    rollouts: int = 1

    def __post_init__(self) -> None:
        for name, least in (("prompt", 0), ("d", 0), ("successes", 0), ("rollouts", 1)):
            _at_least(name, getattr(self, name), least, "bad_result")
        if self.successes > self.rollouts:
            raise UsageError(
                f"successes: expected at most {self.rollouts} (the rollouts), found {self.successes}",
                code="bad_result",
            )


@dataclass(frozen=True, slots=True)
class Plateau:
    """How an environment's frontier stands.

    `success` is the share at the frontier since it moved there, over `prompts` (None without any), with its
    95 % Wilson interval; `stalled` says that even the upper end is below the accuracy that is asked for.
    """

    environment: str
    low: int
    high: int
    waited: int
    failed_blocks: int
    prompts: int
    success: float | None
    success_low: float | None
    success_high: float | None
    stalled: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """The windows of all environments and the prompts that were taken; every change gives a new one.

    Args:
        settings: See there.
        windows: By environment.
        taken: Numbers of the prompts whose results are in, as ascending half-open runs `(first, end)`.
        frozen: No result changes anything, as during an evaluation.
    """

    settings: Settings
    windows: Mapping[str, Window]
    taken: tuple[tuple[int, int], ...] = ()
    frozen: bool = False

    def window(self, environment: str) -> Window:
        """The window of an environment.

        Raises:
            UsageError: code `unknown_environment`.
        """
        if environment not in self.windows:
            raise UsageError(
                f"environment: expected one of {sorted(self.windows)}, found {environment!r}",
                code="unknown_environment",
            )
        return self.windows[environment]

    def draw(self, environment: str, prompt: int) -> int:
        """A level of the window, uniform over prompts; a function of seed, environment, prompt and window.

        Raises:
            UsageError: an unknown environment, or a prompt number that is none (`bad_result`).
        """
        window = self.window(environment)
        _at_least("prompt", prompt, 0, "bad_result")
        number = random_number(f"{self.settings.seed}|{environment}|{prompt}")
        return window.low + number % (window.high - window.low + 1)

    def after(self, result: Result) -> tuple["Schedule", Taken]:
        """The schedule with one result, and what became of it.

        `counted` at the frontier, `off_frontier` at any other level, `repeated` for a prompt that is in
        already, `frozen`; the last two change nothing.

        Raises:
            UsageError: code `unknown_environment`.
        """
        window = self.window(result.environment)
        if self.frozen:
            return self, "frozen"
        taken = _joined(self.taken, result.prompt)
        if taken is None:
            return self, "repeated"
        share = Fraction(result.successes, result.rollouts)
        changed = window.after(result.d, share, self.settings)
        windows = MappingProxyType({**self.windows, result.environment: changed})
        return (
            replace(self, windows=windows, taken=taken),
            "counted" if result.d == window.high else "off_frontier",
        )

    def plateaus(self) -> list[Plateau]:
        """The report of every environment, in the schedule's order."""
        return [_plateau(name, window, self.settings) for name, window in self.windows.items()]


def new_schedule(environments: Iterable[str], settings: Settings | None = None) -> Schedule:
    """A schedule in which every environment starts at level 0 alone.

    Raises:
        UsageError: no environment, or one twice (`bad_settings`).
    """
    names = tuple(environments)
    if not names or len(set(names)) != len(names):
        raise UsageError(
            f"environments: expected at least one and none twice, found {list(names)}", code="bad_settings"
        )
    return Schedule(settings or Settings(), MappingProxyType({name: Window() for name in names}))


def random_number(key: str) -> int:
    """A number below 2**256 that depends on `key` alone: the same in every process and on every machine."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest(), "big")


def _plateau(name: str, window: Window, settings: Settings) -> Plateau:
    prompts = window.failed_blocks * settings.block + window.total
    successes = window.failed_correct + window.correct
    low, high = wilson(float(successes), prompts) if prompts else (None, None)
    return Plateau(
        environment=name,
        low=window.low,
        high=window.high,
        waited=window.waited,
        failed_blocks=window.failed_blocks,
        prompts=prompts,
        success=float(successes / prompts) if prompts else None,
        success_low=low,
        success_high=high,
        stalled=high is not None and high < settings.accuracy,
    )


def _joined(runs: tuple[tuple[int, int], ...], number: int) -> tuple[tuple[int, int], ...] | None:
    """`runs` with `number`, or None if it is in one."""
    # From the end: prompts come in nearly in order, so that the place is among the last runs.
    at = len(runs)
    while at and runs[at - 1][0] > number:
        at -= 1
    first, end = number, number + 1
    before, behind = runs[:at], runs[at:]
    if before and number < before[-1][1]:
        return None
    if before and before[-1][1] == number:
        first, before = before[-1][0], before[:-1]
    if behind and behind[0][0] == end:
        end, behind = behind[0][1], behind[1:]
    return (*before, (first, end), *behind)


def _at_least(name: str, value: object, least: int, code: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}: expected a whole number of at least {least}, found {value!r}", code=code)
