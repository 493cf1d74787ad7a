"""What tools show: cards, cart, order lines, money; and finding what an id of the agent means.

Belongs here: forms that several tools share. Every id that goes out is shown through the overlay.
"""

from typing import Any

from shopsim_env.rlve.overlay.cart import CartLine
from shopsim_env.rlve.overlay.orders import Order, OrderLine
from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.overlay.variants import Variant
from shopsim_env.rlve.shelf import Item, units

Result = dict[str, Any]


def known_product(overlay: Overlay, product_id: str) -> int:
    """The product of an id that was shown.

    Raises:
        RefusalError: No product was shown under this id (`product_not_found`).
    """
    number = overlay.ids.number(product_id)
    if number is None:
        raise RefusalError(
            f"product {product_id!r} not found; ids come from search, visit history, orders or the customer",
            code="product_not_found",
        )
    return number


def card(overlay: Overlay, item: Item) -> Result:
    """The card of a product whose id was shown."""
    number = item.facts.number
    shown: Result = {"product_id": overlay.ids.product_id(number), **item.card}
    # The shelf's own lists must not leave it: who gets a result may change it.
    shown["key_attrs"] = {family: list(names) for family, names in item.card["key_attrs"].items()}
    shown["stock_qty"] = overlay.stock.units(number)
    return shown


def chosen_variant(overlay: Overlay, number: int, variant_id: str | None) -> Variant | None:
    """The variant that an id names.

    Raises:
        RefusalError: The product has variants and none is named (`variant_required`), or it has no such one
            (`variant_not_found`).
    """
    if variant_id is None:
        if overlay.variants.get(number):
            raise RefusalError(
                "this product has variants: choose one of catalog.get_variants and give its variant_id",
                code="variant_required",
            )
        return None
    variant = overlay.variant(number, variant_id)
    if variant is None:
        raise RefusalError(
            f"this product has no variant {variant_id!r}; see catalog.get_variants", code="variant_not_found"
        )
    return variant


def variant_row(overlay: Overlay, number: int, variant: Variant) -> Result:
    """A variant as the tools show it."""
    return {
        "variant_id": variant.id,
        "product_id": overlay.ids.product_id(number),
        "attribute": variant.family,
        "value": variant.name,
        "price": units(variant.price),
        "stock_qty": min(overlay.stock.units(number), overlay.stock.variant_units(variant)),
    }


def cart_view(overlay: Overlay) -> Result:
    """The cart as the tools show it."""
    return {
        "lines": [_cart_line(overlay, line) for line in overlay.cart.lines],
        "total_items": overlay.cart.units(),
        "total_price": units(overlay.cart.price()),
        "currency": overlay.currency,
    }


def order_line(overlay: Overlay, line: OrderLine) -> Result:
    """A line of an order; its product is shown by this."""
    return {
        "line_id": line.id,
        "product_id": overlay.show(line.number, "orders"),
        "title": line.title,
        "variant": line.variant,
        "quantity": line.quantity,
        "unit_price": units(line.unit_price),
    }


def known_order(overlay: Overlay, order_id: str) -> Order:
    """An order of the customer.

    Raises:
        RefusalError: No such order (`order_not_found`).
    """
    order = overlay.book.order(order_id)
    if order is None:
        raise RefusalError(f"order {order_id!r} not found; see order.list", code="order_not_found")
    return order


def known_line(overlay: Overlay, order_id: str, line_id: str) -> OrderLine:
    """A line of an order of the customer.

    Raises:
        RefusalError: No such order (`order_not_found`) or line (`line_not_found`).
    """
    line = known_order(overlay, order_id).line(line_id)
    if line is None:
        raise RefusalError(
            f"order {order_id} has no line {line_id!r}; see order.get_status", code="line_not_found"
        )
    return line


def _cart_line(overlay: Overlay, line: CartLine) -> Result:
    return {
        "line_id": line.id,
        "product_id": overlay.ids.product_id(line.number),
        "title": overlay.shelf.item(line.number).title,
        "variant_id": line.variant.id if line.variant else None,
        "variant": line.variant.name if line.variant else None,
        "quantity": line.quantity,
        "unit_price": units(line.unit_price),
    }
