"""Handlers of `order.*`: list, status, checkout."""

from datetime import timedelta

from shopsim_env.rlve.overlay.orders import CONFIRMED, Order, OrderLine, expected
from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.tools.arguments import Checkout, OrderList, OrderRef
from shopsim_env.rlve.tools.showing import Result, known_order, order_line


def list_orders(overlay: Overlay, args: OrderList) -> Result:
    """Orders of the last days, the newest first; products in them become known."""
    first = overlay.today - timedelta(days=args.days)
    return {"orders": [_summary(overlay, order) for order in overlay.book.orders if order.date >= first]}


def get_status(overlay: Overlay, args: OrderRef) -> Result:
    """The whole order."""
    order = known_order(overlay, args.order_id)
    return {
        **_head(order),
        "eta_date": order.eta.isoformat() if order.eta else None,
        "tracking_number": order.tracking,
        "shipping_address_id": order.address_id,
        "payment_method_id": order.payment_id,
        "currency": overlay.currency,
        "lines": [order_line(overlay, line) for line in order.lines],
    }


def checkout(overlay: Overlay, args: Checkout) -> Result:
    """The order that the cart became; the cart is empty then."""
    account = overlay.account
    if not overlay.cart.lines:
        raise RefusalError("the cart is empty", code="cart_empty")
    if args.shipping_address_id != account.address_id:
        raise RefusalError(
            f"the customer has no address {args.shipping_address_id!r}", code="unknown_address"
        )
    if args.payment_method_id != account.payment_id:
        raise RefusalError(
            f"the customer has no means of payment {args.payment_method_id!r}", code="unknown_payment_method"
        )
    overlay.cart.check_stock()
    order = _placed(overlay)
    for line in overlay.cart.lines:
        overlay.stock.sell(line.number, line.variant, line.quantity)
    overlay.cart.clear()
    overlay.book.place(order)
    overlay.checkout.append(order)
    return {**_head(order), "lines": [order_line(overlay, line) for line in order.lines]}


def _placed(overlay: Overlay) -> Order:
    name = overlay.book.next_id()
    lines = tuple(
        OrderLine(
            f"{name}_line_{place:02d}",
            line.number,
            overlay.shelf.item(line.number).title,
            line.variant.name if line.variant else None,
            line.quantity,
            line.unit_price,
        )
        for place, line in enumerate(overlay.cart.lines, 1)
    )
    eta = expected(overlay.draws.fork("checkout", name), CONFIRMED, overlay.today, overlay.today)
    account = overlay.account
    return Order(name, overlay.today, CONFIRMED, eta, None, lines, account.address_id, account.payment_id)


def _head(order: Order) -> Result:
    return {"order_id": order.id, "status": order.status, "order_date": order.date.isoformat()}


def _summary(overlay: Overlay, order: Order) -> Result:
    items = [
        {
            "product_id": overlay.show(line.number, "orders"),
            "title": line.title,
            "quantity": line.quantity,
        }
        for line in order.lines
    ]
    return {**_head(order), "item_count": sum(line.quantity for line in order.lines), "items": items}
