"""The price of what was selected, or the reason why nobody can know it.

Belongs here: the decision of contract 7.2 (`variant-price-v3`). A price is never invented and never taken
from another value that could cost something else. Does not belong here: budgets and the price reward.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from shopsim_env.catalog.price_axes import recorded_prices, varying_axes
from shopsim_env.catalog.product import Axis, Product, as_product, option_key
from shopsim_env.versions import VARIANT_PRICE_VERSION

SELECTED_PRICE_AXIS: Final = "selected_price_axis"
CONSTANT_OPTION_PRICE: Final = "constant_option_price"
CHOSEN_OPTION_PRICE: Final = "chosen_option_price"
SINGLE_LISTING_PRICE: Final = "single_listing_price"
UNRESOLVED: Final = "unresolved"

INVALID_SELECTED_OPTIONS: Final = "invalid_selected_options"
MULTIPLE_PRICE_AFFECTING_AXES: Final = "multiple_price_affecting_axes"
PRICE_AXIS_UNSELECTED: Final = "price_axis_unselected"
SELECTED_PRICE_MISSING: Final = "selected_price_missing"
PLACEHOLDER_PRICE: Final = "placeholder_price"
PRICE_NOT_DETERMINISTIC: Final = "price_not_deterministic"


@dataclass(frozen=True, slots=True)
class PriceResolution:
    """Result of `resolve_price`.

    `status` is "pass" with `price` > 0 in yuan, or "unverifiable" with price None and a `reason` code.
    `method` says which rule gave the price; it is "unresolved" when none did.
    """

    status: str
    price: Decimal | None
    method: str
    reason: str | None

    def as_dict(self) -> dict[str, Any]:
        """JSON form; the price is a number there."""
        return {
            "status": self.status,
            "price": None if self.price is None else float(self.price),
            "method": self.method,
            "reason": self.reason,
            "version": VARIANT_PRICE_VERSION,
        }


def resolve_price(product: Product | Mapping[str, Any], selected: Mapping[str, str]) -> PriceResolution:
    """Price of the selection (contract 7.2).

    Args:
        product: A raw record or a product of a release.
        selected: Axis name (exact) to value, in raw or public spelling; axes may be missing.

    Returns:
        In this order: one varying axis gives its chosen value's own price, whatever other axes carry; without
        one, the only option price if it holds for every value or the listing confirms it; else the chosen
        values' own price if no other axis records another one; else the only listing price. A recorded 0 is a
        placeholder and never a price.
    """
    if not _is_selection(selected):
        return _unverifiable(INVALID_SELECTED_OPTIONS)
    item = as_product(product)
    varying = varying_axes(item)
    if len(varying) > 1:
        return _unverifiable(MULTIPLE_PRICE_AFFECTING_AXES)
    if varying:
        return _from_varying_axis(varying[0], selected)
    return _from_constant_axes(item, selected)


def _from_varying_axis(axis: Axis, selected: Mapping[str, str]) -> PriceResolution:
    if axis.name not in selected:
        return _unverifiable(PRICE_AXIS_UNSELECTED)
    price = _chosen_price(axis, selected)
    if price is None:
        return _unverifiable(SELECTED_PRICE_MISSING)
    if price == 0:
        return _unverifiable(PLACEHOLDER_PRICE)
    return _passed(price, SELECTED_PRICE_AXIS)


def _from_constant_axes(product: Product, selected: Mapping[str, str]) -> PriceResolution:
    option_prices = {price for axis in product.axes for price in _known(axis)}
    chosen = {_chosen_price(axis, selected) for axis in product.axes}
    listing = set(product.listing)
    if len(option_prices) == 1:  # more than one: the axes contradict each other, none of them is believed
        if _holds_for_every_value(product.axes, option_prices, listing):
            return _passed(option_prices.pop(), CONSTANT_OPTION_PRICE)
        if chosen & option_prices:
            return _passed(option_prices.pop(), CHOSEN_OPTION_PRICE)
    if len(listing) == 1 and 0 not in listing:
        return _passed(listing.pop(), SINGLE_LISTING_PRICE)
    only_placeholders = 0 in chosen or listing == {0}
    return _unverifiable(PLACEHOLDER_PRICE if only_placeholders else PRICE_NOT_DETERMINISTIC)


def _holds_for_every_value(
    axes: tuple[Axis, ...], option_prices: set[Decimal], listing: set[Decimal]
) -> bool:
    """Whether the only option price is everybody's: the listing says so, or no value is without it.

    One axis that is priced throughout is enough, because a buyer has to choose one of its values.
    """
    if listing - {Decimal(0)}:  # a listing of 0 is a placeholder and says nothing
        return listing == option_prices
    return any(_priced_throughout(axis) for axis in axes)


def _known(axis: Axis) -> set[Decimal]:
    """Distinct prices of an axis without placeholders."""
    return {price for price in recorded_prices(axis).values() if price}


def _priced_throughout(axis: Axis) -> bool:
    """Whether every value has a price; a buyer must choose one of them, so that price then is the buyer's."""
    prices = recorded_prices(axis)
    return bool(prices) and all(prices.values())


def _chosen_price(axis: Axis, selected: Mapping[str, str]) -> Decimal | None:
    if axis.name not in selected:
        return None
    return recorded_prices(axis).get(option_key(selected[axis.name]))


def _is_selection(selected: Any) -> bool:
    return isinstance(selected, Mapping) and all(
        isinstance(part, str) for pair in selected.items() for part in pair
    )


def _passed(price: Decimal, method: str) -> PriceResolution:
    return PriceResolution("pass", price, method, None)


def _unverifiable(reason: str) -> PriceResolution:
    return PriceResolution("unverifiable", None, UNRESOLVED, reason)
