"""The cart of one episode: lines, their ids, and how many units of what it may hold.

Belongs here: stock of a product across its variants, and of each variant. Stock itself is in `stock`.
"""

from dataclasses import dataclass

from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.overlay.stock import Stock
from shopsim_env.rlve.overlay.variants import Variant

MOST_UNITS = 1_000


@dataclass(slots=True)
class CartLine:
    """Units of a product, or of one of its variants; the price is in hundredths."""

    id: str
    number: int
    variant: Variant | None
    quantity: int
    unit_price: int


class Cart:
    """Lines in the order in which they were added; ids are never used again.

    Args:
        stock: Stock of the episode.
    """

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._lines: dict[str, CartLine] = {}
        self._made = 0

    @property
    def lines(self) -> tuple[CartLine, ...]:
        """The lines, the oldest first."""
        return tuple(self._lines.values())

    def quantities(self) -> dict[tuple[int, str | None], int]:
        """Units by product number and variant id."""
        return {
            (line.number, line.variant.id if line.variant else None): line.quantity for line in self.lines
        }

    def units(self) -> int:
        """Units in the cart."""
        return sum(line.quantity for line in self._lines.values())

    def price(self) -> int:
        """Total in hundredths."""
        return sum(line.quantity * line.unit_price for line in self._lines.values())

    def add(self, number: int, variant: Variant | None, quantity: int, unit_price: int) -> CartLine:
        """Puts units in; the same product and variant share a line.

        Raises:
            RefusalError: Not so many in stock (`insufficient_stock`).
        """
        line = next((item for item in self.lines if (item.number, item.variant) == (number, variant)), None)
        self._check(number, variant, quantity, 0 if line is None else line.quantity)
        if line is None:
            self._made += 1
            line = CartLine(f"line_{self._made:03d}", number, variant, 0, unit_price)
            self._lines[line.id] = line
        line.quantity += quantity
        return line

    def set_quantity(self, line_id: str, quantity: int) -> None:
        """Sets the units of a line; 0 removes it.

        Raises:
            RefusalError: No such line (`unknown_line`), or not so many in stock (`insufficient_stock`).
        """
        line = self._line(line_id)
        if quantity == 0:
            del self._lines[line_id]
            return
        self._check(line.number, line.variant, quantity - line.quantity, line.quantity)
        line.quantity = quantity

    def remove(self, line_id: str) -> None:
        """Takes a line out.

        Raises:
            RefusalError: No such line (`unknown_line`).
        """
        del self._lines[self._line(line_id).id]

    def check_stock(self) -> None:
        """Refuses a cart that holds more than there is, because an exchange took units since.

        Raises:
            RefusalError: Not so many in stock (`insufficient_stock`).
        """
        for line in self.lines:
            held = sum(other.quantity for other in self.lines if other.number == line.number)
            short = held > self._stock.units(line.number)
            if line.variant is not None:
                short = short or line.quantity > self._stock.variant_units(line.variant)
            if short:
                raise RefusalError(
                    f"insufficient stock: not so many of {line.id} are left", code="insufficient_stock"
                )

    def clear(self) -> None:
        """Takes everything out."""
        self._lines.clear()

    def _line(self, line_id: str) -> CartLine:
        if line_id not in self._lines:
            held = ", ".join(self._lines) or "none: the cart is empty"
            raise RefusalError(
                f"expected a line of the cart ({held}), found {line_id!r}", code="unknown_line"
            )
        return self._lines[line_id]

    def _check(self, number: int, variant: Variant | None, more: int, line_has: int) -> None:
        """Refuses more units than there are: of the product in all its variants, and of the variant."""
        if more <= 0:
            return
        held = sum(line.quantity for line in self._lines.values() if line.number == number)
        left = self._stock.units(number) - held
        if variant is not None:
            left = min(left, self._stock.variant_units(variant) - line_has)
        left = min(left, MOST_UNITS - line_has)
        if more > left:
            raise RefusalError(
                f"insufficient stock: {max(0, left)} more can be added, asked for {more}",
                code="insufficient_stock",
            )
