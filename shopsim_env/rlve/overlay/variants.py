"""Variants of a product in one episode: made from the category's most natural attribute family.

Belongs here: the value, its two distractors, prices, stock and opaque ids. Which products have variants, and
which one the customer wants, is decided by generators.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Facts, Family
from shopsim_env.rlve.facts import World

VARIANTS: Final = 3
# Hundredths of the price; none is 100, because the price of the product's card would point at the target.
_PRICE_SHARES: Final = (90, 92, 94, 95, 96, 98, 102, 104, 105, 106, 108, 110)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several forms of a product.

    Args:
        id: Opaque and of this episode.
        family: Attribute family in which the variants differ.
        value: Number of the value in the family; thousandths of the unit for numbers.
        name: Name of the value.
        price: Hundredths of the currency; None for a product without a price.
        stock: Units at the start, at least 1.
    """

    id: str
    family: str
    value: int
    name: str
    price: int | None
    stock: int


class Variants:
    """Variants by product number. Planned ones are made when somebody asks: most visited products are never opened."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Variant, ...]] = {}
        self._planned: dict[int, Callable[[], tuple[Variant, ...]]] = {}

    def plan(self, number: int, make: Callable[[], tuple[Variant, ...]]) -> None:
        """Says how the variants of a product are made; must give the same whenever it is called."""
        self._planned[number] = make

    def get(self, number: int, default: tuple[Variant, ...] = ()) -> tuple[Variant, ...]:
        """The variants of a product; `default` for one without."""
        if number in self._planned:
            self._made[number] = self._planned.pop(number)()
        return self._made.get(number, default)

    def __setitem__(self, number: int, variants: tuple[Variant, ...]) -> None:
        self._made[number] = variants

    def __getitem__(self, number: int) -> tuple[Variant, ...]:
        found = self.get(number)
        if not found:
            raise KeyError(number)
        return found


def synthesize(
    facts: Facts, families: Sequence[str], draws: Draws, world: World, *, least_stock: int = 1
) -> tuple[tuple[Variant, ...], int]:
    """Three variants of a product and the place of the target among them.

    The first family that has enough values decides, as the category orders them. The target has the
    product's own value, if it names one, else a drawn one. The order is drawn.

    Args:
        facts: The product.
        families: `Category.families` of its category.
        draws: Draws of this episode.
        world: Where the families are.
        least_stock: Units that each variant has at least.

    Raises:
        UsageError: No family has three values (code `no_variants`).

    Source: the published text (three variants, one target, a list of attributes per category).
    """
    family = next((world.families[name] for name in families if _has_room(world.families[name])), None)
    if family is None:
        raise UsageError(
            f"variants: expected a family with at least {VARIANTS} values among {list(families)}, found none",
            code="no_variants",
        )
    own = facts.values(family.name)
    target = draws.pick(own) if own else draws.pick(family.pool).value
    others = [item.value for item in family.pool if item.value not in own and item.value != target]
    if len(others) < VARIANTS - 1:
        # A product that names nearly all values: its other own values are as plausible.
        others = [item.value for item in family.pool if item.value != target]
    values = draws.shuffled([target, *draws.sample(others, VARIANTS - 1)])
    shares = draws.sample(_PRICE_SHARES, VARIANTS)
    made = [
        Variant(
            id=_id(draws, facts.number, value),
            family=family.name,
            value=value,
            name=family.word(value),
            price=None if facts.price_low is None else max(1, facts.price_low * share // 100),
            stock=max(least_stock, facts.stock),
        )
        for value, share in zip(values, shares, strict=True)
    ]
    return tuple(made), values.index(target)


def _has_room(family: Family) -> bool:
    return len(family.pool) >= VARIANTS


def _id(draws: Draws, number: int, value: int) -> str:
    return f"v_{draws.code('variant', number, value) >> 16:012x}"
