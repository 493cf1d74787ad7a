"""`Constraint`: one requirement on a product, its test, its filter and its words.

Belongs here: the closed list of kinds and what each means in the search tool, in Chinese and in English. Not
here: which constraints a goal has (`choice`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shopsim_env.rlve.fact_model import Facts, Family
from shopsim_env.rlve.wishes import BOUNDS, Wishes

KINDS: Final = (*BOUNDS, "brand", "value")
_WORDS: Final = {
    "zh": {
        "price_max": "价格不超过{}元",
        "price_min": "价格不低于{}元",
        "rating_min": "评分不低于{}分",
        "rating_count_min": "至少有{}条评价",
        "rating_count_max": "评价不超过{}条",
        "ship_days_max": "{}天内发货",
        "ship_days_min": "{}天后或更晚发货",
        "stock_min": "库存至少{}件",
        "brand": "品牌是{}",
        "value": "{}是{}",
    },
    "en": {
        "price_max": "a price of at most {}",
        "price_min": "a price of at least {}",
        "rating_min": "a rating of at least {}",
        "rating_count_min": "at least {} reviews",
        "rating_count_max": "at most {} reviews",
        "ship_days_max": "shipping within {} days",
        "ship_days_min": "shipping after {} days or later",
        "stock_min": "at least {} pieces in stock",
        "brand": "the brand {}",
        "value": "{}: {}",
    },
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A requirement. `value` is a bound in the unit of the fact, a brand, or a value of an attribute family.

    Args:
        kind: One of `KINDS`.
        value: Bound or value.
        family: Attribute family of a `value`, else "".
    """

    kind: str
    value: int | str
    family: str = ""

    @property
    def topic(self) -> str:
        """What a question must be about to get this requirement: the family, or the fact."""
        return self.family or self.kind.removesuffix("_max").removesuffix("_min")

    def met(self, facts: Facts) -> bool:
        """Whether a product meets it; one without the fact does not."""
        if self.kind == "brand":
            return facts.brand == self.value
        if self.kind == "value":
            return self.value in facts.values(self.family)
        name, least = BOUNDS[self.kind]
        found = getattr(facts, name)
        if found is None:
            return False
        return bool(found >= self.value if least else found <= self.value)

    def amount(self) -> str:
        """The bound as it is said: money and ratings in units, without idle zeros."""
        hundredths = self.kind in ("price_max", "price_min", "rating_min")
        return decimal_text(int(self.value)) if hundredths else str(self.value)

    def filters(self, families: Mapping[str, Family]) -> dict[str, Any]:
        """Arguments of the search tool's filter that ask for it: JSON values in whole units."""
        if self.kind == "brand":
            return {"brand": self.value}
        if self.kind == "value":
            return {"attributes": {self.family: families[self.family].word(int(self.value))}}
        return {self.kind: float(self.amount()) if "." in self.amount() else int(self.amount())}

    def text(self, language: str, families: Mapping[str, Family]) -> str:
        """The requirement as a phrase of the customer."""
        words = _WORDS[language][self.kind]
        if self.kind == "brand":
            return words.format(self.value)
        if self.kind == "value":
            return words.format(*value_words(families[self.family], int(self.value), language))
        return words.format(self.amount())


def decimal_text(hundredths: int) -> str:
    """Hundredths as the shortest decimal text: 12950 is `129.5`, 300 is `3`."""
    whole, rest = divmod(hundredths, 100)
    return f"{whole}.{rest:02d}".rstrip("0").rstrip(".")


def value_words(family: Family, value: int, language: str) -> tuple[str, str]:
    """Name of a family and of one of its values, with its unit, in a language."""
    chinese = language == "zh"
    name = family.zh if chinese else family.en
    if family.kind == "word":
        word = next(item for item in family.pool if item.value == value)
        return name, word.zh if chinese else word.en
    unit = family.unit_zh if chinese else family.unit_en
    return name, f"{family.word(value)}{unit}"


def merge_filters(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One filter that asks for all of them."""
    merged: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            merged[name] = {**merged.get(name, {}), **value} if isinstance(value, dict) else value
    return merged


def as_wishes(category: int, constraints: Iterable[Constraint], *, in_stock: bool = False) -> Wishes:
    """The wishes of the catalogue's facts that stand for these constraints."""
    wishes = Wishes(category=category, in_stock=in_stock)
    for item in constraints:
        if item.kind == "value":
            wishes = replace(wishes, values=(*wishes.values, (item.family, int(item.value))))
        else:
            bound: dict[str, Any] = {item.kind: item.value}
            wishes = replace(wishes, **bound)
    return wishes
