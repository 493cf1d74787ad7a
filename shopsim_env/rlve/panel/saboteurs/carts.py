"""Saboteurs of carts: the right cart, but for a variant, a product or the units.

Belongs here: what is put into the cart in the place of what is wanted.
"""

from shopsim_env.rlve.oracles.base import Request
from shopsim_env.rlve.oracles.cart import CartOracle
from shopsim_env.rlve.sight import Sight


class OtherVariant(CartOracle):
    """CART: wherever a variant is wanted, another one; nothing at all where none is."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        if not any(id_.endswith(".variant") for id_ in sight.needs):
            return []
        calls = super()._add(sight, at)
        if f"i{at}.variant" not in sight.needs:
            return calls
        others: list[Request] = [
            (name, {**args, "variant_id": row["variant_id"]})
            for name, args in calls
            for row in self._variants[args["product_id"]]
            if row["variant_id"] != args["variant_id"] and row["stock_qty"] >= args.get("quantity", 1)
        ]
        return others[:1]


class OtherProduct(CartOracle):
    """CART: the first product that was visited and is not meant, in the place of the first item."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        calls = super()._add(sight, at)
        if at:
            return calls
        items = range(len(sight.request["items"]))
        meant = {name for place in items for name in self._fitting(sight, place)}
        visited = [card["product_id"] for card in self._cards or () if card["stock_qty"]]
        others = [name for name in visited if name not in meant]
        quantity = calls[0][1].get("quantity", 1) if calls else 1
        return [("cart.add", {"product_id": name, "quantity": quantity}) for name in others[:1]]


class OtherUnits(CartOracle):
    """CART: one unit of the first item too many."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        calls = super()._add(sight, at)
        if at:
            return calls
        return [(name, {**args, "quantity": args.get("quantity", 1) + 1}) for name, args in calls]
