"""`Sketch`: constraints drawn one after the other, each of which leaves its share of the products.

Belongs here: the bound or value of one constraint, and what must remain for those to come. Which kinds are
tried, and whether the result binds, is in `choice`.
"""

from dataclasses import dataclass, field
from typing import Final

from shopsim_env.rlve.choosing.column import Band
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.wishes import BOUNDS

# A constraint leaves at most this share, so that it keeps something out; the others can rely on that.
_LEAVES: Final = 0.8


@dataclass(slots=True)
class Sketch:
    """Constraints in the making.

    Args:
        pool: The category's products.
        draws: What is drawn from.
        wanted: How many constraints.
        goal: About how many products shall meet all of them.
        slack: Largest share by which a bound is rounded away from a product's value.
        rest: The products that meet all constraints so far.
    """

    pool: Pool
    draws: Draws
    wanted: int
    goal: int
    slack: float
    rest: int
    chosen: list[Constraint] = field(default_factory=list)
    bands: dict[str, Band] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether it has all constraints."""
        return len(self.chosen) == self.wanted

    def add(self, kind: str) -> None:
        """Adds a constraint of a kind (a bound, `brand`, or a family's name) unless none binds as wanted."""
        left = self.wanted - len(self.chosen)
        count = self.rest.bit_count()
        # Enough must remain for the constraints that are still to come; the last one meets the goal.
        fewest = self.goal / _LEAVES ** (left - 1)
        if kind in BOUNDS:
            uneven = 1.0 if left == 1 else (70 + self.draws.below(61)) / 100
            share = max(fewest / count, (self.goal / count) ** (uneven / left))
            drawn = self._bound(kind, min(_LEAVES, share))
        else:
            drawn = self._named(kind, int(fewest), int(count * _LEAVES))
        if drawn is None:
            return
        constraint, bits = drawn
        kept = (self.rest & bits).bit_count()
        if self.goal / 2 <= kept < count:
            self.chosen.append(constraint)
            self.rest &= bits
            self._narrow(constraint)

    def _bound(self, kind: str, share: float) -> tuple[Constraint, int] | None:
        fact, least = BOUNDS[kind]
        column = self.pool.column(fact)
        band = self.bands.get(fact, column.whole)
        value = column.bound(band, share, least, self.slack)
        if value is None:
            return None
        constraint = Constraint(kind, value)
        return constraint, self.pool.meeting(constraint)

    def _narrow(self, constraint: Constraint) -> None:
        if constraint.kind in BOUNDS:
            fact, least = BOUNDS[constraint.kind]
            column = self.pool.column(fact)
            band = self.bands.get(fact, column.whole)
            self.bands[fact] = column.narrowed(band, int(constraint.value), least)

    def _named(self, kind: str, fewest: int, most: int) -> tuple[Constraint, int] | None:
        fits: list[tuple[int | str, int]] = []
        for value, bits in self.pool.common[kind]:
            if fewest <= (self.rest & bits).bit_count() <= most:
                fits.append((value, bits))
        if not fits:
            return None
        value, bits = self.draws.pick(fits)
        if kind == "brand":
            return Constraint("brand", value), bits
        return Constraint("value", value, kind), bits
