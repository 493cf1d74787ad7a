"""The English sample: products of sixteen kinds with variants, and a few planted faults, each counted.

Belongs here: what a product is. Files and their shapes are in `english_writer`, words in `words/`.
The same (products, seed) gives the same rows in every process.
"""

import random
import tomllib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product as combinations
from pathlib import Path
from typing import Any, Final

from pipelines.stages.sample.chance import seeded
from shopsim_env.errors import UsageError

CURRENCY: Final = "USD"
_WORDS = Path(__file__).parent / "words" / "english.toml"
# A prime: multiples of another number below it are all different.
_IDS = 10_000_019

# One product in so many has the fault. Primes, so that two faults seldom meet; then the first one counts.
PRODUCT_FAULTS: Final[Mapping[str, int]] = {
    "price_missing": 47,
    "price_zero": 149,
    "price_unreadable": 151,
    "price_other_currency": 163,
    "price_by_combination": 31,
    "rating_missing": 37,
    "brand_missing": 71,
    "description_missing": 43,
    "title_repeated": 89,
}
# Rows that are no products, one in so many, each after the product whose turn it is.
ROW_FAULTS: Final[Mapping[str, int]] = {"duplicate_id": 199, "missing_title": 293, "missing_id": 397}
_UNREADABLE = "See price in cart"


@dataclass(frozen=True, slots=True)
class EnglishRow:
    """One row: columns of the plain product file, the planted fault ("" for none), if it is a product."""

    columns: dict[str, Any]
    fault: str
    is_product: bool = True


@dataclass(frozen=True, slots=True)
class _Kind:
    path: tuple[str, ...]
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    brands: tuple[str, ...]
    price: tuple[int, int]
    axes: dict[str, tuple[str, ...]]
    deciding: str
    details: dict[str, tuple[str, ...]]
    features: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Words:
    kinds: tuple[_Kind, ...]
    guarantees: tuple[str, ...]
    stores: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    """A product in the making: its kind, its chance, and the price of each combination."""

    kind: _Kind
    rng: random.Random
    fault: str
    base: int
    prices: dict[tuple[str, ...], float] = field(default_factory=dict)


def generate_english(products: int, seed: int) -> Iterator[EnglishRow]:
    """Rows of an English product file in order; categories take turns, so that each has an equal share.

    Args:
        products: Number of products, at least 1; rows that are none come on top.
        seed: Any integer.

    Raises:
        UsageError: `products` is not from 1 to 10,000,018.
    """
    if not 1 <= products < _IDS:
        raise UsageError(f"expected 1 to {_IDS - 1} products, found {products}")
    words = _load_words()
    # The last one of each kind, so that a repeated title is of the same kind.
    previous: deque[str] = deque(maxlen=len(words.kinds))
    for number in range(products):
        columns, fault = _product(number, seed, words, previous)
        yield EnglishRow(columns, fault)
        yield from _extra_rows(number, columns)
        previous.append(columns["title"])


def _product(number: int, seed: int, words: _Words, previous: Sequence[str]) -> tuple[dict[str, Any], str]:
    rng, fault = seeded(f"english:{seed}:{number}"), _planted(number, PRODUCT_FAULTS)
    kind = words.kinds[number % len(words.kinds)]
    draft = _Draft(kind, rng, fault, rng.randint(*kind.price))
    columns = _columns(number, draft, words)
    if fault == "title_repeated":
        columns["title"] = previous[0]
    for gap, names in _GAPS.items():
        if fault == gap:
            columns |= dict.fromkeys(names)
    return columns, fault


_GAPS = {
    "rating_missing": ("rating", "rating_count"),
    "brand_missing": ("brand", "store"),
    "description_missing": ("description",),
}


def _planted(number: int, shares: Mapping[str, int]) -> str:
    # The last of each turn, so that a fault never falls on the first product and seldom on two kinds at once.
    return next((fault for fault, share in shares.items() if number % share == share - 1), "")


def _extra_rows(number: int, columns: Mapping[str, Any]) -> Iterator[EnglishRow]:
    fault = _planted(number, ROW_FAULTS)
    changes: dict[str, dict[str, Any]] = {
        "duplicate_id": {},
        "missing_title": {"id": f"{columns['id']}X", "title": "  "},
        "missing_id": {"id": None},
    }
    if fault:
        yield EnglishRow({**columns, **changes[fault]}, fault, is_product=False)


def _columns(number: int, draft: _Draft, words: _Words) -> dict[str, Any]:
    kind, rng = draft.kind, draft.rng
    brand, adjective, noun = (rng.choice(pool) for pool in (kind.brands, kind.adjectives, kind.nouns))
    details = {name: rng.choice(values) for name, values in kind.details.items()}
    features = rng.sample(kind.features, rng.randint(2, 3))
    variants = _variants(draft)
    material = next(iter(details.values()))
    return {
        "id": f"EN{(number + 1) * 7919 % _IDS:08d}",
        "title": f"{brand} {adjective} {noun}, {material}, model {number + 100}",
        "main_category": kind.path[0],
        "category": list(kind.path),
        "brand": brand,
        "store": rng.choice(words.stores),
        "description": f"{kind.text} With {' and '.join(features)}; {rng.choice(words.guarantees)}.",
        "features": features,
        "attributes": details,
        "currency": "GBP" if draft.fault == "price_other_currency" else CURRENCY,
        "price": _listed(draft),
        "rating": round(min(5.0, max(1.0, rng.gauss(4.1, 0.5))), 1),
        "rating_count": int(rng.expovariate(1 / 150)),
        "stock": rng.randint(0, 60) if rng.random() > 0.1 else 0,
        "variants": variants,
    }


def _listed(draft: _Draft) -> Any:
    """The price column: a number, or what the fault leaves of it."""
    if draft.fault == "price_unreadable":
        return _UNREADABLE
    if draft.fault == "price_missing":
        return None
    return 0.0 if draft.fault == "price_zero" else min(draft.prices.values(), default=draft.base + 0.99)


def _variants(draft: _Draft) -> list[dict[str, Any]]:
    """Combinations of two to four values of each axis; the deciding axis alone changes the price.

    One product in eight has none, and so has one whose price column is faulty.
    """
    rng, fault = draft.rng, draft.fault
    if fault in ("price_zero", "price_unreadable") or (
        fault != "price_by_combination" and rng.random() < 1 / 8
    ):
        return []
    axes = _two_axes(draft)
    found = []
    for place, values in enumerate(combinations(*axes.values())):
        price = _price(draft, axes, values, place)
        if price is not None:
            draft.prices[values] = price
        stock = rng.randint(0, 20) if rng.random() > 0.1 else 0
        found.append({"options": dict(zip(axes, values, strict=True)), "price": price, "stock": stock})
    return found


def _two_axes(draft: _Draft) -> dict[str, list[str]]:
    kind, rng = draft.kind, draft.rng
    chosen = {}
    for name, values in kind.axes.items():
        count = rng.randint(2, min(4, len(values)))
        chosen[name] = [values[place] for place in sorted(rng.sample(range(len(values)), count))]
    if draft.fault == "price_by_combination" and len(chosen) == 1:
        chosen["Pack"] = ["1 piece", "2 pieces"]
    return chosen


def _price(draft: _Draft, axes: Mapping[str, list[str]], values: tuple[str, ...], place: int) -> float | None:
    if draft.fault == "price_missing":
        return None
    if draft.fault == "price_by_combination":
        # Another step for every combination: no axis alone gives the price.
        return round(draft.base + 0.99 + 1.5 * place, 2)
    step = 0
    for (name, choices), value in zip(axes.items(), values, strict=True):
        step = choices.index(value) if name == draft.kind.deciding else step
    return round((draft.base + 0.99) * (1 + 0.2 * step), 2)


@lru_cache
def _load_words() -> _Words:
    document = tomllib.loads(_WORDS.read_text(encoding="utf-8"))
    shared = document["shared"]
    kinds = tuple(_kind(entry, shared) for entry in document["kind"])
    return _Words(kinds, tuple(shared["guarantees"]), tuple(shared["stores"]))


def _kind(entry: Mapping[str, Any], shared: Mapping[str, Any]) -> _Kind:
    axes = {
        name: tuple(shared[values] if isinstance(values, str) else values)
        for name, values in entry["axes"].items()
    }
    return _Kind(
        **{name: tuple(entry[name]) for name in ("path", "nouns", "adjectives", "brands", "features")},
        price=(entry["price"][0], entry["price"][1]),
        axes=axes,
        deciding=entry["deciding"],
        details={name: tuple(values) for name, values in entry["details"].items()},
        text=entry["text"],
    )
