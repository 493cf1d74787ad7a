"""The self-check: oracles solve, cheaters do not, weaker agents do not gain from difficulty.

Belongs here: playing the panel over environments, levels and seeds, and the verdicts. Printing is the
command's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.oracles.journey import JourneyOracle
from shopsim_env.rlve.panel.cheaters import CHEATERS
from shopsim_env.rlve.panel.honest import HONEST
from shopsim_env.rlve.panel.playing import Played, play

ORACLE: Final = "oracle"
# Names of all agents.
PANEL: Final = (ORACLE, *CHEATERS, *HONEST)
ORACLE_SUCCESS: Final = Fraction(999, 1000)
BEST_MARGIN: Final = 0.02
CHANCE_MARGIN: Final = 0.02
# Hundreds of rows are judged at once: a cheater is accused of what would happen once in a thousand otherwise.
SIGNIFICANCE: Final = 0.001
# Searching once and taking what comes first is the task itself where nothing else is asked for.
HONEST_AT_ZERO: Final = frozenset({"first hit", "repeat best id"})
SEARCHING: Final = frozenset({"PD", "SUB"})


@dataclass(frozen=True, slots=True)
class Row:
    """One agent at one level of one environment.

    Args:
        agent: Name; `kind` is `oracle`, `cheater` or `honest`.
        episodes, successes: Counts.
        total, best: Means of the total and of the best total that any play can reach.
        chance: Mean forced chance.
        failed: Seeds of episodes without success, the first few.
    """

    env_id: str
    difficulty: int
    agent: str
    kind: str
    episodes: int
    successes: int
    total: float
    best: float
    chance: float
    failed: tuple[int, ...]

    @property
    def success(self) -> float:
        """Share of successes."""
        return self.successes / self.episodes

    @property
    def problem(self) -> str:
        """What is wrong with it, "" if nothing is."""
        if self.kind == "oracle":
            if Fraction(self.successes, self.episodes) < ORACLE_SUCCESS:
                return (
                    f"oracle succeeds in {self.successes} of {self.episodes}; seeds {list(self.failed)} fail"
                )
            if self.total < self.best - BEST_MARGIN:
                return f"oracle's mean total {self.total:.3f} is below the best possible {self.best:.3f}"
        at_home = self.difficulty == 0 and self.agent in HONEST_AT_ZERO and self.env_id in SEARCHING
        allowed = self.chance + CHANCE_MARGIN
        if self.kind == "cheater" and not at_home and self._beats(allowed):
            counts = f"{self.successes} of {self.episodes}"
            return f"{self.agent} succeeds in {counts}, chance is {self.chance:.4f}"
        return ""

    def _beats(self, chance: float) -> bool:
        return tail(self.successes, self.episodes, chance) < SIGNIFICANCE


def tail(successes: int, count: int, chance: float) -> float:
    """Probability of at least so many successes in `count` independent tries of this chance."""
    share = min(1.0, chance)
    return sum(
        comb(count, found) * share**found * (1 - share) ** (count - found)
        for found in range(successes, count + 1)
    )


def agent(env_id: str, name: str, seed: int) -> Agent:
    """A fresh agent of the panel for one episode; cheaters play each part of a journey by itself."""
    draws = Draws("panel", name, seed)
    if name in HONEST:
        return HONEST[name](env_id, draws)
    if name in CHEATERS:
        make = CHEATERS[name]
        parts = {part: lambda: make(draws) for part in ENVIRONMENTS}
        return JourneyOracle(parts) if env_id == "JOURNEY" else make(draws)
    return oracle(env_id)


def kind(name: str) -> str:
    """`oracle`, `cheater` or `honest`."""
    return "cheater" if name in CHEATERS else "honest" if name in HONEST else ORACLE


def check(
    market: Market,
    env_ids: Sequence[str],
    levels: Sequence[int],
    seeds: Sequence[int],
    *,
    language: str = "zh",
    names: Sequence[str] | None = None,
) -> Iterator[Row]:
    """Plays the panel; one row per environment, level and agent."""
    for env_id in env_ids:
        for level in levels:
            for name in names or PANEL:
                played = [
                    play(market, EpisodeKey(env_id, level, seed, language), agent(env_id, name, seed))
                    for seed in seeds
                ]
                yield row(env_id, level, name, kind(name), played)


def row(env_id: str, level: int, name: str, of_kind: str, played: Sequence[Played]) -> Row:
    """The row of these episodes."""
    count = len(played)
    return Row(
        env_id=env_id,
        difficulty=level,
        agent=name,
        kind=of_kind,
        episodes=count,
        successes=sum(one.success for one in played),
        total=sum(one.total for one in played) / count,
        best=sum(one.best for one in played) / count,
        chance=float(sum((one.chance for one in played), Fraction(0)) / count),
        failed=tuple(one.key.seed for one in played if not one.success)[:5],
    )
