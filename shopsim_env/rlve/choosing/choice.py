"""`choose`: constraints of which every one binds.

Belongs here: how many products stay feasible, which ones miss by one constraint, and the draw of kinds and
bounds. An agent that ignores a constraint, or lists whatever the filter left out, must fail: so dropping any
constraint lets other products in, at every difficulty. Stock-outs of an episode come in as a test.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pool, Pools
from shopsim_env.rlve.choosing.sketch import Sketch
from shopsim_env.rlve.difficulty import MOST_CONSTRAINTS, MOST_LISTED
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.wishes import BOUNDS

FEWEST_FEASIBLE, MOST_FEASIBLE = 3, MOST_LISTED
FEWEST_MISSES: Final = 3
# Of tries at most, with all wanted constraints, and with each smaller number of them.
_TRIES, _ENOUGH, _EACH = 160, 12, 4
# Products that a category must have for so many constraints to bind: measured, nine of ten draws then fit.
_ROOM, _GROWTH = 10, 1.6
# Products that a constraint should keep out by itself, so that some of them are in stock almost surely.
_KEPT_OUT: Final = 6
_FIRST: Final = "price_max"
_USUAL: Final = ("price_min", "rating_min", "rating_count_min", "ship_days_max", "stock_min")
_RARE: Final = ("ship_days_min", "rating_count_max")
InStock = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """Constraints on the products of a category, and who meets them.

    Args:
        pool: The category's products.
        constraints: Requirements, the first one about the price when `choose` drew them.
        feasible: Products that meet all of them and are in stock, in order of their numbers.
        misses: Products in stock that violate exactly one, per constraint.
    """

    pool: Pool
    constraints: tuple[Constraint, ...]
    feasible: tuple[Good, ...]
    misses: tuple[tuple[int, ...], ...]

    def ordered(self, places: Sequence[int]) -> "Choice":
        """The same with its constraints in another order."""
        constraints = tuple(self.constraints[place] for place in places)
        return replace(self, constraints=constraints, misses=tuple(self.misses[place] for place in places))

    def near(self) -> list[list[Good]]:
        """For each constraint all products that violate it and no other, in stock in this episode or not."""
        return [list(self.pool.members(bits)) for bits in self.near_sets(self.pool.offered)]

    def near_sets(self, start: int) -> list[int]:
        """For each constraint those of a set of products that violate it and no other."""
        return _near(start, [self.pool.meeting(item) for item in self.constraints])[1]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a choice must look like.

    Args:
        constraints: How many are wanted; fewer where the products do not offer so many that bind.
        slack: Largest share by which a bound is rounded away from a product's value.
        available: Expected share of the products that are in stock in this episode, above 0.
        fewest, most: Feasible products.
        misses: Products that miss by one constraint, in all; each constraint has at least one.
        kinds: Kinds that may be drawn, None for all.
    """

    constraints: int
    slack: float
    available: float = 1.0
    fewest: int = FEWEST_FEASIBLE
    most: int = MOST_FEASIBLE
    misses: int = FEWEST_MISSES
    kinds: frozenset[str] | None = None


def choose(pools: Pools, draws: Draws, limits: Limits, in_stock: InStock) -> Choice:
    """Draws a category and constraints that bind.

    Categories are tried as drawn; when the first ones do not offer so many constraints, fewer are wanted.

    Raises:
        UsageError: no category of this catalogue gives such a choice (code `no_choice`).
    """
    limits = replace(limits, constraints=min(limits.constraints, MOST_CONSTRAINTS))
    offering = pools.with_room(int(_ROOM * _GROWTH**limits.constraints / limits.available))
    enough = _ENOUGH if limits.constraints <= len(BOUNDS) else _EACH
    for attempt in range(_TRIES):
        # Fewer constraints where the catalogue does not offer so many that bind.
        fewer = max(0, attempt - enough) // _EACH
        wanted = replace(limits, constraints=max(1, limits.constraints - fewer))
        found = choose_in(pools.pool(draws.pick(offering)), draws, wanted, in_stock)
        if found:
            return found
    raise no_choice(limits)


def no_choice(limits: Limits) -> UsageError:
    """The error for a catalogue in which nothing fits."""
    return UsageError(
        f"expected a category in which {limits.constraints} constraints leave {limits.fewest} to "
        f"{limits.most} products, found none; the catalogue is too small or its products are too much alike",
        code="no_choice",
    )


def choose_in(pool: Pool, draws: Draws, limits: Limits, in_stock: InStock) -> Choice | None:
    """One attempt in one category; None when the drawn constraints do not fit the limits."""
    if pool.offered.bit_count() < limits.fewest + limits.constraints:
        return None
    goal = _goal(pool.offered.bit_count(), limits, draws)
    sketch = Sketch(pool, draws, limits.constraints, goal, limits.slack, pool.offered)
    for kind in _order(pool, draws, limits):
        sketch.add(kind)
        if sketch.is_whole:
            break
    else:
        return None
    return complete(pool, sketch.chosen, limits, in_stock)


def complete(
    pool: Pool, constraints: Sequence[Constraint], limits: Limits, in_stock: InStock
) -> Choice | None:
    """The choice of these constraints with an episode's stock, None when it is outside the limits."""
    if not constraints:
        return None
    sets = [pool.meeting(item) for item in constraints]
    everyone, near = _near(pool.offered, sets)
    if not (limits.fewest <= everyone.bit_count() <= 2 * limits.most / limits.available and all(near)):
        return None
    feasible = tuple(good for good in pool.members(everyone) if in_stock(good.number))
    if not limits.fewest <= len(feasible) <= limits.most:
        return None
    each = -(-limits.misses // len(near))
    misses = tuple(_first_misses(pool, bits, each, in_stock) for bits in near)
    if not all(misses) or sum(map(len, misses)) < limits.misses:
        return None
    return Choice(pool, tuple(constraints), feasible, misses)


def _goal(count: int, limits: Limits, draws: Draws) -> int:
    """How many products shall meet all constraints, stock-outs of the episode included.

    With many constraints and few products each constraint keeps little out unless many products meet all.
    """
    here = count * limits.available
    high = max(limits.fewest + 1, min(limits.most * 2 // 3, int(here) // 2))
    low = limits.fewest + 1
    while low < high and low * ((here / low) ** (1 / limits.constraints) - 1) < _KEPT_OUT:
        low += 1
    return max(1, round(draws.between(low, high) / limits.available))


def _order(pool: Pool, draws: Draws, limits: Limits) -> Iterator[str]:
    """Kinds in the order in which they are tried: the price first, as published, the less usual ones last."""
    if _allows(limits, _FIRST):
        yield _FIRST
    # Made only when one is asked for: where the price is the only constraint, no values are read.
    usual = [*_USUAL, *pool.common]
    for kinds in (usual, list(_RARE)):
        yield from draws.shuffled([kind for kind in kinds if _allows(limits, kind)])


def _allows(limits: Limits, kind: str) -> bool:
    return limits.kinds is None or (kind if kind in BOUNDS or kind == "brand" else "value") in limits.kinds


def _near(start: int, sets: Sequence[int]) -> tuple[int, list[int]]:
    """The products that meet all, and for each constraint those that violate it and no other."""
    before = [start]
    for bits in sets:
        before.append(before[-1] & bits)
    after = start
    near: list[int] = []
    for place in range(len(sets) - 1, -1, -1):
        near.append(before[place] & after & ~sets[place])
        after &= sets[place]
    return before[-1], near[::-1]


def _first_misses(pool: Pool, bits: int, count: int, in_stock: InStock) -> tuple[int, ...]:
    found: list[int] = []
    for good in pool.members(bits):
        if in_stock(good.number):
            found.append(good.number)
            if len(found) == count:
                break
    return tuple(found)
