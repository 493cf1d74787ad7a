"""Word lists of the sample generator: reads `words/*.toml` into typed values.

The lists are data (nine domains with their kinds of goods, axes, personas, decoration); how words become
titles, options and sentences is the business of the other modules.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "words"
# Order as in the published description of the archive; the file name is the short name in lower case.
_DOMAIN_FILES = (
    "home",
    "appliances",
    "beauty",
    "kids",
    "clothing",
    "food",
    "leisure",
    "supplies",
    "sports",
)


@dataclass(frozen=True, slots=True)
class AxisWords:
    """A second axis: its name, how a shopper says its values, and the values."""

    name: str
    value_class: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of goods: noun, measure word, category path, tag words, price span and option words."""

    noun: str
    alias: tuple[str, ...]
    unit: str
    use: str
    category: str
    traits: tuple[str, ...]
    stuff: tuple[str, ...]
    stuff_class: str
    scenes: tuple[str, ...]
    people: tuple[str, ...]
    price: tuple[int, int]
    first: tuple[str, ...]
    first_class: str
    variants: tuple[str, ...]
    variant_class: str
    second: AxisWords
    main_names: tuple[str, ...]
    has_model: bool


@dataclass(frozen=True, slots=True)
class Domain:
    """One of the nine domains with its kinds."""

    zh: str
    short: str
    long: str
    weight: int
    interest: tuple[str, ...]
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything that the generator may say."""

    domains: tuple[Domain, ...]
    axes: Mapping[str, AxisWords]
    common: Mapping[str, Any]
    persona: Mapping[str, Any]


@lru_cache(maxsize=1)
def load_vocabulary() -> Vocabulary:
    """Reads the word lists once per process."""
    common = _read("common")
    axes = {
        name: AxisWords(name, entry["class"], tuple(entry["values"]))
        for name, entry in common["axes"].items()
    }
    domains = tuple(_domain(_read(name), axes, common["colours"]) for name in _DOMAIN_FILES)
    return Vocabulary(domains, axes, common, _read("persona"))


def _read(name: str) -> dict[str, Any]:
    with (_FOLDER / f"{name}.toml").open("rb") as stream:
        return tomllib.load(stream)


def _domain(data: dict[str, Any], axes: Mapping[str, AxisWords], colours: Mapping[str, Any]) -> Domain:
    names = tuple(data.get("main_names", ("颜色分类",)))
    return Domain(
        zh=data["zh"],
        short=data["short"],
        long=data["long"],
        weight=data["weight"],
        interest=tuple(data["interest"]),
        kinds=tuple(_kind(entry, names, axes, colours) for entry in data["kind"]),
    )


def _kind(
    entry: dict[str, Any],
    main_names: tuple[str, ...],
    axes: Mapping[str, AxisWords],
    colours: Mapping[str, Any],
) -> Kind:
    first = entry["first"]
    second = entry["second"]
    return Kind(
        noun=entry["noun"],
        alias=tuple(entry["alias"]),
        unit=entry["unit"],
        use=entry.get("use", "用"),
        category=entry["category"],
        traits=tuple(entry["traits"]),
        stuff=tuple(entry["stuff"]),
        stuff_class=entry.get("stuff_class", "material"),
        scenes=tuple(entry["scenes"]),
        people=tuple(entry["people"]),
        price=(entry["price"][0], entry["price"][1]),
        first=tuple(colours[first[1:]]) if isinstance(first, str) else tuple(first),
        first_class=entry.get("first_class", "colour"),
        variants=tuple(entry["variants"]),
        variant_class=entry.get("variant_class", "variant"),
        second=axes[second]
        if isinstance(second, str)
        else AxisWords(second["name"], second["class"], tuple(second["values"])),
        main_names=main_names,
        has_model=bool(entry.get("model", False)),
    )
