"""Stock of one episode: that of the world, less what is out of stock in this episode and what was sold in it.

Belongs here: units of products and variants. Whether a cart may hold so many is the cart's business.
"""

from collections.abc import Iterable

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay.variants import Variant
from shopsim_env.rlve.shelf import Shelf

_MASK = 2**64 - 1


class Stock:
    """Units in stock. Any product may be asked for; whether it is out of stock is drawn when it is.

    Args:
        shelf: The products.
        draws: The episode's draws; the outcome for a product does not depend on what else was asked.
        p_out: Chance, per product that the world has in stock, of being out of stock, 0 to 1.
    """

    def __init__(self, shelf: Shelf, draws: Draws, p_out: float) -> None:
        self._shelf = shelf
        self._key = draws.code("stock")
        self._threshold = int(p_out * 2**64)
        self._forced: dict[int, int] = {}
        self._sold: dict[int | str, int] = {}

    def force(self, number: int, units: int) -> None:
        """Sets the units of a product, for generators, before the episode starts.

        Raises:
            UsageError: Fewer than 0, or more than 0 of a product that the world has not in stock, which no
                filter would find (code `bad_stock`).
        """
        if units < 0 or (units > 0 and not self._shelf.item(number).facts.stock):
            raise UsageError(
                f"stock of product {number}: expected 0, or more for one that the world has, found {units}",
                code="bad_stock",
            )
        self._forced[number] = units

    def units(self, number: int) -> int:
        """Units of a product that can be bought now."""
        units = self._forced.get(number)
        if units is None:
            units = 0 if self._is_out(number) else self._shelf.item(number).facts.stock
        return units - self._sold.get(number, 0)

    def in_stock(self, number: int) -> bool:
        """Whether a product can be bought now."""
        return self.units(number) > 0

    def remains(self, number: int, least: int = 1) -> bool:
        """Whether so many can be bought now of a product of which the world has so many: reads no facts."""
        if number in self._forced or number in self._sold:
            return self.units(number) >= least
        return not self._is_out(number)

    def remaining(self, numbers: Iterable[int], least: int = 1) -> list[int]:
        """Those of which so many can be bought now, of products of which the world has so many."""
        touched = self._forced.keys() | self._sold.keys()
        if not touched and not self._threshold:
            return list(numbers)
        is_out = self._is_out
        if not touched:
            return [number for number in numbers if not is_out(number)]
        return [
            number
            for number in numbers
            if (self.units(number) >= least if number in touched else not is_out(number))
        ]

    def variant_units(self, variant: Variant) -> int:
        """Units of a variant that can be bought now."""
        return variant.stock - self._sold.get(variant.id, 0)

    def sell(self, number: int, variant: Variant | None, quantity: int) -> None:
        """Takes units away."""
        self._sold[number] = self._sold.get(number, 0) + quantity
        if variant is not None:
            self._sold[variant.id] = self._sold.get(variant.id, 0) + quantity

    def _is_out(self, number: int) -> bool:
        # A hash of the number under the episode's key: a filter asks for thousands. Two multiplications mix
        # enough to tell products apart, and the upper half decides.
        code = (number ^ self._key) * 0x9E3779B97F4A7C15 & _MASK
        code = (code ^ code >> 32) * 0xD6E8FEB86659FD93 & _MASK
        return (code ^ code >> 32) < self._threshold
