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


class _Strange(CartOracle):
    """Knows a visited product that is not meant, and looks up its variants too."""

    def _lookups(self, sight: Sight) -> list[Request]:
        calls = super()._lookups(sight)
        if calls or sight.open_needs:
            return calls
        return [
            ("catalog.get_variants", {"product_id": name})
            for name in self._others(sight)
            if name not in self._variants
        ]

    def _others(self, sight: Sight) -> list[str]:
        """The first one, if there is any."""
        items = range(len(sight.request["items"]))
        meant = {name for at in items for name in self._fitting(sight, at)}
        stocked = [card["product_id"] for card in self._cards or () if card["stock_qty"]]
        return [name for name in stocked if name not in meant][:1]

    def _strange(self, sight: Sight, quantity: int) -> list[Request]:
        """The call that adds it; none where it does not come in so many units."""
        for name in self._others(sight):
            args = {"product_id": name, "quantity": quantity}
            rows = self._variants[name]
            fits = [row["variant_id"] for row in rows if row["stock_qty"] >= quantity]
            if fits or not rows:
                return [("cart.add", {**args, "variant_id": fits[0]} if fits else args)]
        return []


class OtherProduct(_Strange):
    """CART: a visited product that is not meant, in the place of the first item."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        calls = super()._add(sight, at)
        if at:
            return calls
        return self._strange(sight, calls[0][1].get("quantity", 1) if calls else 1)


class OneProductMore(_Strange):
    """CART: the right cart and a visited product that is not meant; nothing where there is none."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        others = self._strange(sight, 1)
        if not others:
            return []
        return super()._add(sight, at) if at else [*others, *super()._add(sight, at)]


class OtherUnits(CartOracle):
    """CART: one unit of the first item too many."""

    def _add(self, sight: Sight, at: int) -> list[Request]:
        calls = super()._add(sight, at)
        if at:
            return calls
        return [(name, {**args, "quantity": args.get("quantity", 1) + 1}) for name, args in calls]
