"""Option axes of the sample products: values as shops write them, prices, and SKU rows copied across axes.

An axis is drafted with prices for every value; `raw_options` turns the drafts into the raw schema, where one
SKU's id and price stand in one entry of every axis, as in the real archive.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.stages.sample.vocabulary import AxisWords, Kind
from shopsim_env.catalog.product import option_key

IMAGE_HOST = "https://img.example.invalid"
# Values per axis: median 5, mean about 7, a tail up to 64.
MOST_VALUES = 64
_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 30, 42, MOST_VALUES)
_COUNT_WEIGHTS = (16, 9, 9, 11, 10, 9, 6, 6, 5, 4, 6, 4, 3, 4, 2.5, 1.5, 0.8, 0.6)
_JOINS = (
    ("{f}{v}", 20),
    ("{f} {v}", 22),
    ("{f}-{v}", 16),
    ("{f}【{v}】", 14),
    ("【{v}】{f}", 9),
    ("{f}({v})", 6),
    ("{f}（{v}）", 4),
    ("{v}/{f}", 6),
    ("{f}  {v}", 3),
    ("[{v}]{f}", 0.5),
)


@dataclass(frozen=True, slots=True)
class Value:
    """One option value: its raw text, how a shopper says its parts, and whether it is goods at all."""

    raw: str
    says: tuple[tuple[str, str], ...]
    goods: bool = True


@dataclass(frozen=True, slots=True)
class AxisDraft:
    """One axis before its SKU rows exist.

    `prices` holds a price per value for a price-varying axis; None means that the axis does not move the
    price. `wanted` is what the task asks for where that is not the value at `gold` (planted faults).
    """

    name: str
    values: tuple[Value, ...]
    gold: int
    prices: tuple[int, ...] | None = None
    wanted: Value | None = None

    @property
    def target(self) -> Value:
        """The value that the task asks for."""
        return self.wanted or self.values[self.gold]


@dataclass(frozen=True, slots=True)
class OptionsDraft:
    """All axes of one product in source order, the price without a varying axis and the anchor SKU.

    `anchor` holds one value index per axis: the SKU that is copied into the entries of the other axes.
    `usual_price` is what such goods cost, also where the recorded price is a placeholder.
    """

    axes: tuple[AxisDraft, ...]
    base_price: int
    usual_price: int
    anchor: tuple[int, ...]
    first_sku: int
    unpriced: bool = False
    listing: tuple[float, ...] = field(default=())

    def price(self, picks: Sequence[int]) -> int:
        """Price of one SKU in yuan: what the varying axes make of the base price."""
        moved = [axis.prices[pick] for axis, pick in zip(self.axes, picks, strict=True) if axis.prices]
        if not moved:
            return self.base_price
        return moved[0] + sum(price - self.base_price for price in moved[1:])

    @property
    def gold_price(self) -> int:
        """Price of the combination that the task asks for (not resolvable with two varying axes)."""
        return self.price([axis.gold for axis in self.axes])


def value_count(rng: random.Random, at_least: int = 1) -> int:
    """How many values an axis gets, by the real distribution, but no fewer than `at_least`."""
    start = sum(count < at_least for count in _COUNTS)
    return rng.choices(_COUNTS[start:], _COUNT_WEIGHTS[start:])[0]


def retail(rng: random.Random, price: float) -> int:
    """`price` as a shop would set it: whole yuan, mostly ending in 8, 9, 5 or 0."""
    whole = max(1, round(price))
    if whole < 20:
        return whole
    if whole < 1000:
        return whole // 10 * 10 + rng.choices((0, 5, 8, 9), (2, 2, 4, 4))[0]
    return whole // 100 * 100 + rng.choices((0, 80, 88, 99), (3, 3, 1, 3))[0]


def goods_values(rng: random.Random, kind: Kind, count: int, gifts: Sequence[str]) -> tuple[Value, ...]:
    """`count` different values of the main axis, made of the kind's two word lists.

    A list that is too short for `count` is combined with the other one; where even all pairs are too few,
    give-aways make the rest, as shops do.
    """
    style = rng.choices(("first", "variant", "both"), (30, 14, 56))[0]
    if count > len(kind.first if style == "first" else kind.variants):
        style = "both"
    if style == "both":
        return _pairs(rng, kind, count, gifts)
    words, word_class = (
        (kind.first, kind.first_class) if style == "first" else (kind.variants, kind.variant_class)
    )
    return tuple(Value(word, ((word_class, word),)) for word in rng.sample(words, count))


def _pairs(rng: random.Random, kind: Kind, count: int, gifts: Sequence[str]) -> tuple[Value, ...]:
    form = rng.choices([form for form, _ in _JOINS], [weight for _, weight in _JOINS])[0]
    rows = min(len(kind.variants), max(1, rng.randint(1, 3), -(-count // len(kind.first))))
    firsts = rng.sample(kind.first, min(len(kind.first), -(-count // rows)))
    values = [
        Value(form.format(f=first, v=variant), ((kind.first_class, first), (kind.variant_class, variant)))
        for variant in rng.sample(kind.variants, rows)
        for first in firsts
    ]
    if rng.random() < 0.2:
        # The plain word beside the compound one: one value is then a part of another.
        values.insert(rng.randint(0, 2), Value(firsts[0], ((kind.first_class, firsts[0]),)))
    if count > len(values):
        values += [Value(f"{value.raw}【{gift}】", value.says) for gift in gifts for value in values]
    if rng.random() < 0.07:
        code = f"{rng.choice('ABDFHKMT')}{rng.randint(1, 9)}"
        values = [
            Value(f"{code}{number:02d} {value.raw}", value.says)
            for number, value in enumerate(values, start=1)
        ]
    return tuple(values[:count])


def decorate(rng: random.Random, values: tuple[Value, ...], words: Mapping[str, Any]) -> tuple[Value, ...]:
    """Adds what shops put around option names: gifts in brackets, now and then an emoji."""
    out = []
    for value in values:
        roll = rng.random()
        if roll < 0.04:
            value = replace(value, raw=f"{value.raw}【{rng.choice(words['gifts'])}】")
        elif roll < 0.05:
            value = replace(value, raw=f"{rng.choice(words['emoji'])}{value.raw}")
        out.append(value)
    return tuple(out)


def plain_axis(rng: random.Random, words: AxisWords, count: int) -> tuple[Value, ...]:
    """A second axis: a run of neighbouring values of its list."""
    size = min(count, len(words.values))
    start = rng.randint(0, len(words.values) - size)
    return tuple(
        Value(text, ((f"{words.value_class}:{words.name}", text),))
        for text in words.values[start : start + size]
    )


def unique_values(values: Sequence[Value]) -> tuple[Value, ...]:
    """`values` without those that a buyer could not tell apart."""
    seen: dict[str, Value] = {}
    for value in values:
        seen.setdefault(option_key(value.raw), value)
    return tuple(seen.values())


def varying_prices(rng: random.Random, values: Sequence[Value], base: int) -> tuple[int, ...]:
    """One price per value, at least two different ones; the cheapest is near `base`.

    Values that share their last part (the version of the goods) cost about the same.
    """
    factor: dict[str, float] = {}
    prices = []
    for value in values:
        key = value.says[-1][1] if value.says else value.raw
        factor.setdefault(key, 1.0 + len(factor) * rng.uniform(0.08, 0.45))
        prices.append(retail(rng, base * factor[key]))
    if len(set(prices)) < 2:
        prices[-1] += rng.randint(1, max(2, base // 5))
    return tuple(prices)


def raw_options(draft: OptionsDraft) -> dict[str, list[dict[str, Any]]]:
    """`customization_options` of the raw schema: axis name to option objects, in source order."""
    return {
        axis.name: [_entry(draft, place, pick, value) for pick, value in enumerate(axis.values)]
        for place, axis in enumerate(draft.axes)
    }


def listing(draft: OptionsDraft) -> list[float]:
    """`pricing`: lowest and highest price of all entries, one number when they agree."""
    if draft.listing:
        return list(draft.listing)
    prices = {
        float(draft.price(_picks(draft, place, pick)))
        for place, axis in enumerate(draft.axes)
        for pick in range(len(axis.values))
    }
    return sorted({min(prices), max(prices)})


def _picks(draft: OptionsDraft, place: int, pick: int) -> tuple[int, ...]:
    return (*draft.anchor[:place], pick, *draft.anchor[place + 1 :])


def _entry(draft: OptionsDraft, place: int, pick: int, value: Value) -> dict[str, Any]:
    picks = _picks(draft, place, pick)
    number = 0
    for index in picks:
        number = number * 64 + index
    sku = str(draft.first_sku + number)
    price = None if draft.unpriced else draft.price(picks)
    # Real option objects have an image on most values of the first axis and null elsewhere.
    image = f"{IMAGE_HOST}/sku/{sku}.png" if place == 0 and number % 9 else None
    return {
        "asin": sku,
        "image": image,
        "is_available": True,
        "is_selected": True,
        "price": price,
        "price_string": None if price is None else str(price),
        "url": None,
        "value": value.raw,
    }
