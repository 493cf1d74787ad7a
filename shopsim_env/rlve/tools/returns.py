"""Handlers of `return.*`: eligibility, return, exchange."""

from shopsim_env.rlve.overlay.orders import OrderLine
from shopsim_env.rlve.overlay.overlay import Overlay, eligibility
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.overlay.returns import (
    ALREADY_RETURNED,
    EXCHANGE,
    FEES,
    REASONS,
    Eligibility,
    Exchange,
    Return,
)
from shopsim_env.rlve.shelf import units
from shopsim_env.rlve.tools.arguments import ExchangeStart, OrderLineRef, ReturnStart
from shopsim_env.rlve.tools.showing import Result, chosen_variant, known_line, known_product

_WHY = {
    "already_returned": "a return of this line was started already",
    "cancelled": "the order was cancelled",
    "not_delivered": "the order is not delivered yet",
    "not_returnable": "goods of this kind cannot be returned",
    "window_closed": "the return window is over",
}


def check_eligibility(overlay: Overlay, args: OrderLineRef) -> Result:
    """Whether a line may go back, with the ways and their fees, or the reason why not."""
    line = known_line(overlay, args.order_id, args.line_id)
    found = eligibility(overlay, args.order_id, args.line_id)
    overlay.checked.add((args.order_id, args.line_id))
    result: Result = {
        "order_id": args.order_id,
        "line_id": args.line_id,
        "product_title": line.title,
        "eligible": found.eligible,
        "window_days": found.window_days,
        "days_since_purchase": found.days_since,
    }
    if found.reason is not None:
        return {**result, "reason_code": found.reason, "reason": _WHY[found.reason]}
    fees = {method: units(fee) for method, fee in FEES.items()}
    return {**result, "reason_codes": list(REASONS), "methods": fees, "currency": overlay.currency}


def initiate(overlay: Overlay, args: ReturnStart) -> Result:
    """The return that was started."""
    known_line(overlay, args.order_id, args.line_id)
    if args.reason_code not in REASONS:
        raise RefusalError(
            f"expected a reason of {', '.join(REASONS)}, found {args.reason_code!r}", code="unknown_reason"
        )
    if args.method not in FEES:
        raise RefusalError(
            f"expected a method of {', '.join(FEES)}, found {args.method!r}", code="unknown_method"
        )
    _refuse(eligibility(overlay, args.order_id, args.line_id))
    started = _start(overlay, args, args.reason_code, args.method)
    result: Result = {
        "return_id": started.id,
        "order_id": started.order_id,
        "line_id": started.line_id,
        "reason_code": started.reason,
        "method": started.method,
        "status": "INITIATED",
        "fee": units(started.fee),
        "currency": overlay.currency,
    }
    if started.method == "mail":
        result["label_url"] = f"shop://labels/{started.id}"
    return result


def exchange(overlay: Overlay, args: ExchangeStart) -> Result:
    """The exchange that was started, on a line that may go back or whose return was started before."""
    overlay.exchanged.setdefault(args.new_product_id)
    line = known_line(overlay, args.order_id, args.line_id)
    found = eligibility(overlay, args.order_id, args.line_id)
    if found.reason != ALREADY_RETURNED or _is_exchanged(overlay, args):
        _refuse(found)
    number = known_product(overlay, args.new_product_id)
    variant = chosen_variant(overlay, number, args.new_variant_id)
    left = overlay.stock.units(number)
    if min(left, left if variant is None else overlay.stock.variant_units(variant)) < line.quantity:
        raise RefusalError(
            f"insufficient stock: the line has {line.quantity}, the new product {left}",
            code="insufficient_stock",
        )
    returned = next((item for item in overlay.returns if _is_line(item, args)), None)
    if returned is None:
        returned = _start(overlay, args, EXCHANGE, EXCHANGE)
    overlay.stock.sell(number, variant, line.quantity)
    made = Exchange(
        f"exc_{len(overlay.exchanges) + 1:03d}",
        *(returned.id, args.order_id, args.line_id),
        *(line.number, number, variant.id if variant else None),
    )
    overlay.exchanges.append(made)
    return _exchanged(overlay, made, line)


def _exchanged(overlay: Overlay, made: Exchange, line: OrderLine) -> Result:
    return {
        "exchange_id": made.id,
        "return_id": made.return_id,
        "order_id": made.order_id,
        "line_id": made.line_id,
        "old_product_id": overlay.show(line.number, "orders"),
        "old_product_title": line.title,
        "new_product_id": overlay.ids.product_id(made.new),
        "new_product_title": overlay.shelf.item(made.new).title,
        "new_variant_id": made.variant_id,
        "status": "EXCHANGE_INITIATED",
    }


def _start(overlay: Overlay, args: OrderLineRef, reason: str, method: str) -> Return:
    made = Return(
        f"ret_{len(overlay.returns) + 1:03d}",
        args.order_id,
        args.line_id,
        reason,
        method,
        FEES.get(method, 0),
    )
    overlay.returns.append(made)
    return made


def _refuse(found: Eligibility) -> None:
    if found.reason is not None:
        raise RefusalError(
            f"this line cannot be returned: {_WHY[found.reason]} (window {found.window_days} days, "
            f"{found.days_since} days since purchase)",
            code=found.reason,
        )


def _is_exchanged(overlay: Overlay, args: OrderLineRef) -> bool:
    return any(_is_line(item, args) for item in overlay.exchanges)


def _is_line(item: Return | Exchange, args: OrderLineRef) -> bool:
    return (item.order_id, item.line_id) == (args.order_id, args.line_id)
