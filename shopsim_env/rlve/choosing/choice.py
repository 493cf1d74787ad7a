"""`choose`: constraints of which every one binds, around a product that meets them all.

Belongs here: how many products stay feasible, which ones miss by one constraint, and the draw of bounds. An
agent that ignores a constraint, or lists whatever the filter left out, must fail: so dropping any constraint
lets other products in, at every difficulty. Stock-outs of an episode come in as a test.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.constraint import BOUNDS, Constraint
from shopsim_env.rlve.choosing.pool import Pool, Pools
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Good

FEWEST_FEASIBLE, MOST_FEASIBLE = 3, 30
FEWEST_MISSES: Final = 3
_TRIES: Final = 60
# A catalogue may offer fewer constraints that bind than are wanted: after so many tries the fullest choice is taken.
_ENOUGH: Final = 6
# Products that a category must have for so many constraints to bind: measured, more than half of the draws fit.
_ROOM, _GROWTH = 10, 1.6
_STEP: Final = {"price_low": 100, "rating": 10, "rating_count": 10, "ship_days": 1}
InStock = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """Constraints on the products of a category, and who meets them.

    Args:
        pool: The category's products.
        constraints: Requirements, the first always about the price when `choose` drew them.
        feasible: Products that meet all of them and are in stock, in order of their numbers.
        misses: Products in stock that violate exactly one, per constraint.
    """

    pool: Pool
    constraints: tuple[Constraint, ...]
    feasible: tuple[Good, ...]
    misses: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a choice must look like.

    Args:
        constraints: How many are wanted; fewer where the products do not offer so many that bind.
        slack: Largest share by which a bound is wider than a product's value.
        fewest, most: Feasible products.
        misses: Products that miss by one constraint, in all; each constraint has at least one.
        kinds: Kinds that may be drawn, None for all.
    """

    constraints: int
    slack: float
    fewest: int = FEWEST_FEASIBLE
    most: int = MOST_FEASIBLE
    misses: int = FEWEST_MISSES
    kinds: frozenset[str] | None = None


def choose(pools: Pools, draws: Draws, limits: Limits, in_stock: InStock) -> Choice:
    """Draws a category and constraints that bind.

    Categories are tried as drawn; when none of the first ones offers the wanted number of constraints, the
    fullest choice that was found is taken.

    Raises:
        UsageError: no category of this catalogue gives such a choice (code `no_choice`).
    """
    best: Choice | None = None
    offering = pools.with_room(int(_ROOM * _GROWTH**limits.constraints))
    for attempt in range(_TRIES):
        pool = pools.pool(draws.pick(offering))
        # A wide bound may let in more products than are allowed: later tries have narrower ones.
        narrower = replace(limits, slack=limits.slack * (1 - attempt / _TRIES))
        found = choose_in(pool, draws.fork("choice", attempt), narrower, in_stock)
        if found and (best is None or len(found.constraints) > len(best.constraints)):
            best = found
        if best and (len(best.constraints) >= limits.constraints or attempt >= _ENOUGH):
            return best
    if best is None:
        raise no_choice(limits)
    return best


def no_choice(limits: Limits) -> UsageError:
    """The error for a catalogue in which nothing fits."""
    return UsageError(
        f"expected a category in which {limits.constraints} constraints leave {limits.fewest} to {limits.most} "
        "products, found none; the catalogue is too small or its products are too much alike",
        code="no_choice",
    )


def choose_in(pool: Pool, draws: Draws, limits: Limits, in_stock: InStock) -> Choice | None:
    """One attempt in one category; None when the drawn constraints do not fit the limits."""
    start = pool.in_stock & pool.priced
    if start.bit_count() < limits.fewest + limits.constraints:
        return None
    members = pool.members(start)
    target = draws.pick(members)
    goal = draws.between(limits.fewest, min(limits.most, max(limits.fewest, len(members) // 2)))
    share = (goal / len(members)) ** (1 / limits.constraints)
    chosen: list[Constraint] = []
    sets: list[int] = []
    rest = start
    for kind in _order(pool, target, draws, limits):
        bound = _draw(pool, rest, target, kind, share, limits.slack, draws)
        if bound is None:
            continue
        bits = pool.meeting(bound)
        if _binds(start, [*sets, bits], limits.fewest):
            chosen.append(bound)
            sets.append(bits)
            rest &= bits
        if len(chosen) == limits.constraints:
            break
    return complete(pool, chosen, limits, in_stock)


def complete(
    pool: Pool, constraints: Sequence[Constraint], limits: Limits, in_stock: InStock
) -> Choice | None:
    """The choice of these constraints with an episode's stock, None when it is outside the limits."""
    if not constraints:
        return None
    sets = [pool.meeting(item) for item in constraints]
    start = pool.in_stock & pool.priced
    everyone = start
    for bits in sets:
        everyone &= bits
    if not limits.fewest <= everyone.bit_count() <= 2 * limits.most:
        return None
    feasible = tuple(good for good in pool.members(everyone) if in_stock(good.number))
    if not limits.fewest <= len(feasible) <= limits.most:
        return None
    misses = tuple(_first_misses(pool, bits, limits.misses, in_stock) for bits in _near(start, sets))
    if not all(misses) or sum(map(len, misses)) < limits.misses:
        return None
    return Choice(pool, tuple(constraints), feasible, misses)


def _order(pool: Pool, target: Good, draws: Draws, limits: Limits) -> Iterator[tuple[str, int | str, str]]:
    """Kinds in the order in which they are tried: the price first, as published, then as drawn."""
    kinds: list[tuple[str, int | str, str]] = [(name, 0, "") for name in BOUNDS if name != "price_max"]
    if target.brand is not None:
        kinds.append(("brand", target.brand, ""))
    families = dict.fromkeys(family for family, _ in pool.named(target.number))
    for family in families:
        values = [value for name, value in pool.named(target.number) if name == family]
        kinds.append(("value", draws.pick(values), family))
    yield from (
        item
        for item in [("price_max", 0, ""), *draws.shuffled(kinds)]
        if limits.kinds is None or item[0] in limits.kinds
    )


def _draw(
    pool: Pool, rest: int, target: Good, kind: tuple[str, int | str, str], share: float, slack: float, draws: Draws
) -> Constraint | None:
    """A constraint that the target meets and that leaves about this share of the products."""
    name, value, family = kind
    if name not in BOUNDS:
        return Constraint(name, value, family)
    fact, least = BOUNDS[name]
    own = getattr(target, fact)
    if own is None:
        return None
    values = sorted(getattr(good, fact) for good in pool.members(rest))
    place = int(share * (len(values) - 1))
    anchor = min(own, values[len(values) - 1 - place]) if least else max(own, values[place])
    shift = int(anchor * slack * draws.below(1001) / 1000)
    step = _STEP[fact]
    # Rounded away from the anchor, so that the target still meets it.
    bound = (anchor - shift) // step * step if least else -(-(anchor + shift) // step) * step
    return Constraint(name, bound) if bound > 0 else None


def _binds(start: int, sets: Sequence[int], fewest: int) -> bool:
    """Whether enough products meet all and each constraint keeps some product out by itself."""
    everyone = start
    for bits in sets:
        everyone &= bits
    return everyone.bit_count() >= fewest and all(_near(start, sets))


def _near(start: int, sets: Sequence[int]) -> Iterable[int]:
    """For each constraint the products that violate it and no other."""
    for number, bits in enumerate(sets):
        others = start & ~bits
        for other, more in enumerate(sets):
            if other != number:
                others &= more
        yield others


def _first_misses(pool: Pool, bits: int, count: int, in_stock: InStock) -> tuple[int, ...]:
    found: list[int] = []
    for good in pool.members(bits):
        if in_stock(good.number):
            found.append(good.number)
        if len(found) == count:
            break
    return tuple(found)
