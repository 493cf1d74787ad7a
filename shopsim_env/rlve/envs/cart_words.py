"""What the customer says of carts, in Chinese and English.

Belongs here: the words alone, and how an item is named when there are several. What is said when is in `cart`.
"""

from collections.abc import Sequence
from typing import Final

from shopsim_env.rlve.choosing.constraint import decimal_text

_WORDS: Final = {
    "zh": {
        "one": "请把我浏览过的一款商品放进购物车，没有说数量就要1件。品类：{categories}",
        "several": "请把我浏览过的{n}款商品放进购物车，没有说数量的各要1件。{categories}",
        "category": "第{at}款的品类：{category}",
        "and": "；",
        "of": "第{at}款：",
        "the": "第{at}款",
        "it": "这款商品",
        "variant wish": "要{name}为{value}的规格",
        "units wish": "要{units}件",
        "variant": "{the}的规格不对，这是{found}的",
        "wanted": "，我要的是{wanted}的",
        "fewer": "{the}的数量少了",
        "more": "{the}的数量多了",
        "units": "，我要{units}件",
        "surplus": "购物车里有一件我没有要的商品，就是{price}元的那件",
        "unpriced": "购物车里有一件我没有要的商品",
        "whole": "购物车里的东西都对",
    },
    "en": {
        "one": "please put one of the products that I looked at into the cart, one unit unless I say otherwise. "
        "Category: {categories}",
        "several": "please put {n} of the products that I looked at into the cart, one unit each unless I say otherwise. "
        "{categories}",
        "category": "Category of item {at}: {category}",
        "and": "; ",
        "of": "item {at}: ",
        "the": "item {at}",
        "it": "the product",
        "variant wish": "the variant with {name}: {value}",
        "units wish": "{units} units",
        "variant": "{the} is the wrong variant, this is the {found} one",
        "wanted": ", I want the {wanted} one",
        "fewer": "there are too few of {the}",
        "more": "there are too many of {the}",
        "units": ", I want {units}",
        "surplus": "there is a product in the cart that I did not ask for, the one for {price}",
        "unpriced": "there is a product in the cart that I did not ask for",
        "whole": "everything in the cart is right",
    },
}


class CartWords:
    """Words for a cart of so many items; items are counted from 0 and named from 1."""

    def __init__(self, language: str, items: int) -> None:
        self._words = _WORDS[language]
        self._items = items

    def request(self, categories: Sequence[str]) -> str:
        """What the customer wants, with the category of each item."""
        if self._items == 1:
            return self._words["one"].format(categories=categories[0])
        listed = [
            self._words["category"].format(at=at, category=name) for at, name in enumerate(categories, 1)
        ]
        return self._words["several"].format(n=self._items, categories=self._words["and"].join(listed))

    def of(self, at: int) -> str:
        """What goes before a wish about an item; nothing when there is one item."""
        return "" if self._items == 1 else self._words["of"].format(at=at + 1)

    def variant_wish(self, name: str, value: str) -> str:
        """The variant that is wanted."""
        return self._words["variant wish"].format(name=name, value=value)

    def units_wish(self, units: int) -> str:
        """How many are wanted."""
        return self._words["units wish"].format(units=units)

    def variant(self, at: int, found: str, wanted: str) -> str:
        """A wrong variant; the wanted one if it may be named, else ""."""
        text = self._words["variant"].format(the=self._the(at), found=found)
        return text + (self._words["wanted"].format(wanted=wanted) if wanted else "")

    def units(self, at: int, fewer: bool, wanted: int | None) -> str:
        """Too few or too many; how many are wanted if it may be said."""
        text = self._words["fewer" if fewer else "more"].format(the=self._the(at))
        return text + (self._words["units"].format(units=wanted) if wanted else "")

    def surplus(self, price: int | None) -> str:
        """A product that should not be there, by its price in hundredths."""
        if price is None:
            return self._words["unpriced"]
        return self._words["surplus"].format(price=decimal_text(price))

    def whole(self) -> str:
        """All is right."""
        return self._words["whole"]

    def _the(self, at: int) -> str:
        return self._words["it"] if self._items == 1 else self._words["the"].format(at=at + 1)
