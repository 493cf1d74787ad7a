"""`Column`: the products of a pool in order of one fact, and bounds that leave a wanted share of them.

Belongs here: bit sets of prefixes, quantiles, and how a bound is rounded. What a bound is for is in `choice`.
"""

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

_STEPS: Final = 64


class Band(NamedTuple):
    """Places of a column's order, `last` excluded, that earlier bounds on the fact left over."""

    first: int
    last: int


class Column:
    """Products in order of one fact, with the bit sets of the lowest ones at every few places.

    Args:
        values: Value and bit place of each product that has the fact.
        step: Smallest difference of two bounds.
    """

    def __init__(self, values: list[tuple[int, int]], step: int) -> None:
        values.sort()
        self._values = [value for value, _ in values]
        self._places = [place for _, place in values]
        self._unit = step
        self._step = max(1, len(values) // _STEPS)
        self._prefix = [0]
        bits = 0
        for at, place in enumerate(self._places, 1):
            bits |= 1 << place
            if at % self._step == 0:
                self._prefix.append(bits)
        self._all = bits
        self._spread = self._values[len(values) * 9 // 10] - self._values[len(values) // 10] if values else 0

    @property
    def whole(self) -> Band:
        """All places."""
        return Band(0, len(self._values))

    def up_to(self, bound: int) -> int:
        """Products with at most this value."""
        return self._lowest(bisect_right(self._values, bound))

    def from_on(self, bound: int) -> int:
        """Products with at least this value."""
        return self._all & ~self._lowest(bisect_left(self._values, bound))

    def bound(self, band: Band, share: float, least: bool, slack: float) -> int | None:
        """A bound that about this share of a band's products meet, and some do not; None if there is none.

        Args:
            band: Places that other bounds leave.
            share: Wanted share.
            least: Whether it is a lower bound.
            slack: Most that it may be rounded away from a product's value, as a share of the value and of the
                column's spread.
        """
        count = round(share * (band.last - band.first))
        cut = self._cut(band, band.last - count if least else band.first + count)
        if cut is None:
            return None
        value = self._values[cut if least else cut - 1]
        rounded = self._rounded(value, slack)
        left = self.narrowed(band, rounded, least)
        return rounded if left.first < left.last and left != band else value

    def _cut(self, band: Band, wanted: int) -> int | None:
        """The place inside a band nearest to the wanted one at which the value changes."""
        if band.first >= band.last:
            return None
        value = self._values[min(wanted, band.last - 1)]
        sides = (bisect_left(self._values, value), bisect_right(self._values, value))
        inside = [place for place in sides if band.first < place < band.last]
        return min(inside, key=lambda place: abs(place - wanted)) if inside else None

    def _rounded(self, value: int, slack: float) -> int:
        room = int(slack * min(value, self._spread))
        step = self._unit
        while _wider(step, self._unit) <= room:
            step = _wider(step, self._unit)
        return max(step, (2 * value + step) // (2 * step) * step)

    def narrowed(self, band: Band, bound: int, least: bool) -> Band:
        """The part of a band that meets a bound."""
        if least:
            return Band(max(band.first, bisect_left(self._values, bound)), band.last)
        return Band(band.first, min(band.last, bisect_right(self._values, bound)))

    def _lowest(self, count: int) -> int:
        whole = count // self._step
        bits = self._prefix[whole]
        for place in self._places[whole * self._step : count]:
            bits |= 1 << place
        return bits


def _wider(step: int, unit: int) -> int:
    """The next rounder step: 1, 2, 5, 10, 20, 50 … units."""
    lead = step // unit
    while lead >= 10:
        lead //= 10
    return step * 5 // 2 if lead == 2 else step * 2
