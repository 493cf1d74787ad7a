"""The self-check: plays the panel over environments, levels and seeds.

Belongs here: rows, and what is wrong with one of them. Verdicts over several rows are in `verdicts`, printing
is the command's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.panel.members import MEMBERS, agent, members_of
from shopsim_env.rlve.panel.playing import Played, play

ORACLE_SUCCESS: Final = Fraction(999, 1000)
BEST_MARGIN: Final = 0.02
CHANCE_MARGIN: Final = 0.02
# Hundreds of rows are judged at once: a cheater is accused of what would happen once in a thousand otherwise.
SIGNIFICANCE: Final = 0.001
_FEW: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One agent at one level of one environment.

    Args:
        agent: Name; `kind` is its kind (`members`).
        episodes, successes: Counts.
        total, best: Means of the total and of the best total that any play can reach.
        chance: Mean forced chance.
        failed: Seeds of episodes without success, the first few.
        unsaid: What the customer's words left out, the first few: id and seed.
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
    unsaid: tuple[str, ...] = ()

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
        allowed = self.chance + CHANCE_MARGIN
        counts = f"{self.agent} succeeds in {self.successes} of {self.episodes}"
        if self.kind in ("cheater", "shortcut") and self._beats(allowed):
            return f"{counts}, chance is {self.chance:.4f}"
        if self.kind == "saboteur" and self.successes:
            return f"{counts}, it makes one thing wrong every time: that is not graded"
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
            for name in members_of(env_id):
                if names is not None and name not in names:
                    continue
                played = [
                    play(market, EpisodeKey(env_id, level, seed, language), agent(env_id, name, seed))
                    for seed in seeds
                ]
                yield row(env_id, level, name, MEMBERS[name].kind, played)


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
        failed=tuple(one.key.seed for one in played if not one.success)[:_FEW],
        unsaid=tuple(f"{name} (seed {one.key.seed})" for one in played for name in one.unsaid)[:_FEW],
    )
