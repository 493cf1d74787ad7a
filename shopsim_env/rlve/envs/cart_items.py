"""What a cart should hold, and the first thing that is wrong with what it holds.

Belongs here: the comparison alone. Words are in `cart_words`, scores in `scores.goods`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shopsim_env.rlve.envs.visits import Visited
from shopsim_env.rlve.overlay import Variant

# Units of a product that more than one is wanted of.
LEAST_UNITS, MOST_UNITS = 2, 4
# Units by product number and variant id.
Held = Mapping[tuple[int, str | None], int]


@dataclass(frozen=True, slots=True)
class Item:
    """One wanted product: the visited one, the required variant if any, units now and before a revision."""

    visited: Visited
    variant: Variant | None
    units: int
    units_before: int

    @property
    def number(self) -> int:
        """Its number."""
        return self.visited.good.number

    def wanted(self, revised: bool) -> int:
        """Units in force."""
        return self.units if revised else self.units_before

    def is_right(self, held: Held, revised: bool) -> bool:
        """Whether the cart has it in the right variant and quantity, and in no other variant."""
        units = _units(self.number, held)
        wanted = self.wanted(revised)
        return sum(units.values()) == wanted if self.variant is None else units == {self.variant.id: wanted}


@dataclass(frozen=True, slots=True)
class Issue:
    """A mistake in a cart: of the item at a place, in its variant or its units, or a product too many.

    Args:
        at: Place of the item.
        variant: Id of a wrong variant.
        fewer: Whether there are too few units, else too many.
        wanted: Units that are wanted.
        surplus: Number of a product that should not be there; the other fields mean nothing then.
    """

    at: int = 0
    variant: str | None = None
    fewer: bool = False
    wanted: int = 0
    surplus: int | None = None


def first_issue(items: Sequence[Item], held: Held, revised: bool) -> Issue | None:
    """The first thing that is wrong: a variant, too few, too many, a product that should not be there.

    A product of which nothing is in the cart is no mistake, it may still come.
    """
    present = [(at, item, _units(item.number, held)) for at, item in enumerate(items)]
    for at, item, units in present:
        wrong = [id_ for id_ in units if item.variant and id_ and id_ != item.variant.id]
        if wrong:
            return Issue(at, variant=wrong[0])
    for fewer in (True, False):
        for at, item, units in present:
            there, wanted = sum(units.values()), item.wanted(revised)
            if there and there != wanted and (there < wanted) == fewer:
                return Issue(at, fewer=fewer, wanted=wanted)
    known = {item.number for item in items}
    return next((Issue(surplus=number) for number, _ in held if number not in known), None)


def _units(number: int, held: Held) -> dict[str | None, int]:
    return {variant: units for (product, variant), units in held.items() if product == number}
