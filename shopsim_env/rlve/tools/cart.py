"""Handlers of `cart.*`: view, add, remove, set the quantity."""

from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.tools.arguments import CartAdd, CartLineRef, CartQuantity, Nothing
from shopsim_env.rlve.tools.showing import Result, cart_view, chosen_variant, known_product


def view(overlay: Overlay, args: Nothing) -> Result:  # noqa: ARG001
    """The cart, and the customer's address and means of payment for checkout."""
    account = overlay.account
    return {
        **cart_view(overlay),
        "shipping_address_id": account.address_id,
        "payment_method_id": account.payment_id,
    }


def add(overlay: Overlay, args: CartAdd) -> Result:
    """The cart afterwards."""
    overlay.carted.setdefault(args.product_id)
    number = known_product(overlay, args.product_id)
    variant = chosen_variant(overlay, number, args.variant_id)
    price = variant.price if variant else overlay.shelf.item(number).facts.price_low
    if price is None:
        raise RefusalError("this product has no price and cannot be bought", code="no_price")
    overlay.cart.add(number, variant, args.quantity, price)
    return cart_view(overlay)


def remove(overlay: Overlay, args: CartLineRef) -> Result:
    """The cart afterwards."""
    overlay.cart.remove(args.line_id)
    return cart_view(overlay)


def set_quantity(overlay: Overlay, args: CartQuantity) -> Result:
    """The cart afterwards."""
    overlay.cart.set_quantity(args.line_id, args.quantity)
    return cart_view(overlay)
