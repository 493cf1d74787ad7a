"""Products that the customer looked at: some it wants, and others of the same category that nearly fit.

Belongs here: which products stand in a visit history, and facts by which exactly one of them is meant.
Quantities, variants and the goal of a cart are in `cart`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pool, Pools
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Facts, Good
from shopsim_env.rlve.overlay import Stock
from shopsim_env.rlve.wishes import BOUNDS

# Products of the category that are looked at for one item: enough that two of them miss by one fact each.
_SAMPLE: Final = 10
# Histories that are tried, and items in each.
_ATTEMPTS, _TRIES = 12, 40
# Bounds that can be said of a product; the stock of an episode says nothing of it.
_BOUNDS: Final = ("price_max", "price_min", "rating_min", "rating_count_min", "ship_days_max")
_STEP: Final = {"price_low": 100, "rating": 10, "rating_count": 10, "ship_days": 1}


@dataclass(frozen=True, slots=True)
class Visited:
    """A wanted product: what is said of it, and the visited products that it could be taken for.

    Args:
        pool: Products of the category that the customer names.
        good: The product.
        facts: What the customer says of it besides the category.
        others: Products of the category, none of which all facts fit. With two facts at least one of them
            misses the first alone, and one the second alone.
    """

    pool: Pool
    good: Good
    facts: tuple[Constraint, ...]
    others: tuple[Good, ...]

    def fits(self, number: int) -> bool:
        """Whether what is said fits a product."""
        good = self.pool.find(number)
        return good is not None and not any(violates(self.pool, good, one) for one in self.facts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a history must hold: items, facts said of each, products beside them, largest slack of a bound."""

    items: int
    facts: int
    others: int
    slack: float


def choose_visits(pools: Pools, draws: Draws, wanted: Wanted, stock: Stock) -> list[Visited]:
    """Draws the items of a visit history. The cost does not depend on the size of the catalogue.

    Each description fits one product of the whole history.

    Raises:
        UsageError: the catalogue has no such products (code `no_choice`).
    """
    for attempt in range(_ATTEMPTS):
        # Later attempts are content with fewer facts: small categories may offer no two that tell apart.
        easier = replace(wanted, facts=wanted.facts if attempt < _ATTEMPTS // 2 else 1)
        found = _history(pools, draws, easier, stock)
        if found is not None:
            return found
    raise UsageError(
        f"expected {wanted.items} products in stock that a few facts tell from {wanted.others} others of "
        "their categories, found fewer; the catalogue is too small or its products are too much alike",
        code="no_choice",
    )


def _history(pools: Pools, draws: Draws, wanted: Wanted, stock: Stock) -> list[Visited] | None:
    """Items one after another; None when one of them leaves no room for the others."""
    found: list[Visited] = []
    for _ in range(_TRIES):
        pool = pools.pool(draws.pick(pools.categories))
        if not pool.category.levels and len(pools.categories) > 1:
            # "Any category" describes nothing, and its facts would have to keep out every other item.
            continue
        others = wanted.others // wanted.items + (len(found) < wanted.others % wanted.items)
        item = _item(pool, draws, wanted.facts, others, wanted.slack, stock)
        if item is not None and is_apart(item, found):
            found.append(item)
        if len(found) == wanted.items:
            return found
    return None


def is_apart(item: Visited, others: Sequence[Visited]) -> bool:
    """Whether an item shares no product with others, and no description fits a product of another item."""
    own = [good.number for good in (item.good, *item.others)]
    for other in others:
        numbers = [good.number for good in (other.good, *other.others)]
        if any(item.fits(number) for number in numbers) or any(other.fits(number) for number in own):
            return False
        if not set(own).isdisjoint(numbers):
            return False
    return True


def violates(pool: Pool, good: Good, fact: Constraint) -> bool:
    """Whether a product of the pool does not meet a fact."""
    if fact.kind == "brand":
        return good.brand != fact.value
    if fact.kind == "value":
        return not pool.meeting(fact) >> pool.place(good.number) & 1
    name, least = BOUNDS[fact.kind]
    found = getattr(good, name)
    return found is None or (found < fact.value if least else found > fact.value)


def _item(pool: Pool, draws: Draws, facts: int, others: int, slack: float, stock: Stock) -> Visited | None:
    """One item of a category, None when the drawn products do not differ enough."""
    sample = _sample(pool.goods, draws)
    good = next((one for one in sample if one.stock > 0 and stock.remains(one.number)), None)
    if good is None:
        return None
    # Only what can be bought: else stock would tell which one is meant.
    rest = [one for one in sample if one is not good and one.stock > 0]
    tried: list[tuple[Constraint, frozenset[int]]] = []
    for fact in said_of(good, _named(pool, good), pool.values, draws, slack):
        missing = _missing(pool, rest, fact)
        if not missing:
            continue
        for more in combinations(tried, facts - 1):
            beside = _beside([*(places for _, places in more), missing], others)
            if beside is not None:
                said = (*(one for one, _ in more), fact)
                return Visited(pool, good, said, tuple(rest[at] for at in beside))
        tried.append((fact, missing))
    return None


def _sample(goods: Sequence[Good], draws: Draws) -> list[Good]:
    picks = dict.fromkeys(draws.below(len(goods)) for _ in range(_SAMPLE))
    return [goods[at] for at in picks if goods[at].price_low is not None]


def _named(pool: Pool, good: Good) -> Callable[[str], int | None]:
    """Tells the first value of a family that a product of the pool names."""
    place = pool.place(good.number)

    def value_of(family: str) -> int | None:
        sets = pool.values.get(family, {})
        return next((value for value, bits in sets.items() if bits >> place & 1), None)

    return value_of


def _missing(pool: Pool, goods: Sequence[Good], fact: Constraint) -> frozenset[int]:
    """Places of the products that do not meet a fact."""
    if fact.kind in BOUNDS:
        name, least = BOUNDS[fact.kind]
        bound = int(fact.value)
        # Products without a price are not among them.
        values = map(attrgetter(name), goods)
        return frozenset(at for at, value in enumerate(values) if (value < bound if least else value > bound))
    return frozenset(place for place, good in enumerate(goods) if violates(pool, good, fact))


def _beside(missing: Sequence[frozenset[int]], count: int) -> list[int] | None:
    """Places of products that miss one fact each, then of others that miss any; None if there are too few."""
    chosen: dict[int, None] = {}
    for fact, places in enumerate(missing):
        near = places.difference(*(other for at, other in enumerate(missing) if at != fact))
        if not near:
            return None
        chosen[min(near)] = None
    for place in sorted(frozenset().union(*missing)):
        if len(chosen) < count:
            chosen.setdefault(place)
    return list(chosen) if len(chosen) == count else None


def said_of(
    good: Good | Facts,
    named: Callable[[str], int | None],
    families: Iterable[str],
    draws: Draws,
    slack: float,
) -> Iterator[Constraint]:
    """What can be said of a product, in a drawn order: brand, one value of each family that it names, bounds.

    Args:
        good: The product.
        named: The value of a family that it names, None when it names none.
        families: Those of its category.
        draws: Draws of the goal.
        slack: Largest share by which a bound is wider than the product's value.
    """
    kinds = [*_BOUNDS, "brand", *families]
    while kinds:
        # One after the other: two or three of them are asked for.
        kind = kinds.pop(draws.below(len(kinds)))
        if kind in BOUNDS:
            bound = _bound(good, kind, draws, slack)
            if bound > 0:
                yield Constraint(kind, bound)
        elif kind == "brand":
            if good.brand is not None:
                yield Constraint("brand", good.brand)
        elif (value := named(kind)) is not None:
            yield Constraint("value", value, kind)


def _bound(good: Good | Facts, kind: str, draws: Draws, slack: float) -> int:
    """A round bound that the product meets."""
    fact, least = BOUNDS[kind]
    own, step = int(getattr(good, fact)), _STEP[fact]
    shift = int(own * slack * draws.below(1001) / 1000)
    return (own - shift) // step * step if least else -(-(own + shift) // step) * step
