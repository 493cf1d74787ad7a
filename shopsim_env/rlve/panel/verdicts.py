"""Verdicts of the self-check over the rows of several agents and levels.

Belongs here: what is wrong with an environment, which no row shows by itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from math import comb
from typing import Final

from shopsim_env.rlve.panel.check import SIGNIFICANCE, Row

# Largest forced chance that is accepted below d = 3 and from there on: measured, with room for a mean of ten
# episodes. Cheaters are measured against the forced chance: one that is too high would hide them.
HARDER: Final = 3
CAPS: Final[Mapping[str, tuple[float, float]]] = {
    "PD": (0.01, 0.01),
    "SUB": (0.15, 0.02),
    "CART": (0.30, 0.15),
    "RETURN": (0.25, 0.15),
    "STATUS": (0.26, 0.21),
    "POLICY": (0.12, 0.07),
    "BUNDLE": (0.08, 0.02),
    "JOURNEY": (0.04, 0.01),
}
# The mean of fewer episodes says little: single ones are easy to guess.
FEWEST_FOR_CAP: Final = 10


def problems(rows: Iterable[Row]) -> list[str]:
    """All that is wrong: with single rows, with the forced chance, the customer's words, honest agents."""
    found = sorted(rows, key=lambda row: (row.env_id, row.difficulty))
    wrong = [f"{row.env_id} d={row.difficulty}: {row.problem}" for row in found if row.problem]
    for _, level in groupby(found, key=lambda row: (row.env_id, row.difficulty)):
        wrong += _of_level(list(level))
    honest = sorted((row for row in found if row.kind == "honest"), key=lambda row: (row.env_id, row.agent))
    for _, same in groupby(honest, key=lambda row: (row.env_id, row.agent)):
        wrong += _rises(list(same))
    return wrong


def cap(env_id: str, difficulty: int) -> float:
    """The largest forced chance that is accepted."""
    return CAPS[env_id][difficulty >= HARDER]


def chance_of_rise(low: Row, high: Row) -> float:
    """Probability of at least so many of the successes at the higher level if both levels were as hard.

    Fisher's exact test, one-sided: all successes of the two levels are dealt to their episodes at random.
    """
    together, most = low.successes + high.successes, min(high.episodes, low.successes + high.successes)
    ways = sum(
        comb(high.episodes, got) * comb(low.episodes, together - got)
        for got in range(high.successes, most + 1)
    )
    return ways / comb(low.episodes + high.episodes, together)


def _of_level(rows: Sequence[Row]) -> Iterator[str]:
    first = rows[0]
    name, most = f"{first.env_id} d={first.difficulty}", cap(first.env_id, first.difficulty)
    if first.episodes >= FEWEST_FOR_CAP and first.chance > most:
        yield f"{name}: forced chance {first.chance:.4f} is above {most}, it would hide cheaters"
    unsaid = next((row.unsaid for row in rows if row.unsaid), ())
    if unsaid:
        yield f"{name}: told as values, and not in the customer's words: {', '.join(unsaid)}"


def _rises(rows: Sequence[Row]) -> Iterator[str]:
    for low, high in combinations(sorted(rows, key=lambda row: row.difficulty), 2):
        if chance_of_rise(low, high) < SIGNIFICANCE:
            yield (
                f"{low.env_id}: {low.agent} gains from difficulty, {low.successes} of {low.episodes} at "
                f"d={low.difficulty} and {high.successes} of {high.episodes} at d={high.difficulty}"
            )
