"""Attribute families: which ones a category has, and what a product's own texts say of them.

Belongs here: reading option values, attributes and titles with the lexicon. A value that no text names is not
invented. Does not belong here: the words (`rlve_lexicon`), the file (`rlve_world`).
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from pipelines.stages.rlve_lexicon import AXES, CATEGORIES, NAMES, NUMBERS, OTHER_CATEGORIES, WORDS
from shopsim_env.catalog.product import Product
from shopsim_env.rlve.schema import NUMBER, ORIGINS, WORD, number_name
from shopsim_env.text.normalize import fold

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
# On an option, "荧光黄 宽楦款" is yellow: a colour's one character that no other character follows.
_SHORT_COLORS = {
    **{"黑": "black", "白": "white", "灰": "gray", "红": "red", "蓝": "blue", "绿": "green"},
    **{"黄": "yellow", "粉": "pink", "紫": "purple", "棕": "brown", "橙": "orange"},
}
# "原木色" and "玫瑰金" are colours, no wood and no rose.
_NO_COLOR = "(?![色金红绿])"
_LARGEST = 10**12

FAMILY_IDS = {name: number for number, name in enumerate(NAMES, 1)}
Row = tuple[int | str, ...]


def families_of(path: str) -> tuple[str, ...]:
    """Families of a category, the most natural for variants first.

    Args:
        path: Category path, levels joined by `›`.
    """
    folded = fold(path)
    for words, families in CATEGORIES:
        if _category_pattern(words).search(folded):
            return tuple(families.split())
    return tuple(OTHER_CATEGORIES.split())


@cache
def _category_pattern(words: str) -> re.Pattern[str]:
    """Chinese words anywhere, English ones as whole words or their plurals: a chair is no hair."""
    plural = "(?<![a-z]){}(?:e?s)?(?![a-z])"
    spelled = (_spelling(word) for word in words.split())
    return re.compile("|".join(plural.format(word) if word.isascii() else word for word in spelled))


def attributes_of(product: Product, families: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """What the product's texts name: (family, value, origin), each family and value once.

    The first origin in the order of `ORIGINS` counts. Values are numbers of `value_rows`, or thousandths of
    the unit of the family.
    """
    texts = _texts(product)
    for family in families:
        found: dict[int, str] = {}
        for origin, (text, options) in texts.items():
            if family in AXES:
                text = "\n".join(value for axis, value in options if _named(axis, AXES[family]))
            for value in _read(family, text, origin):
                found.setdefault(value, origin)
        yield from ((family, value, found[value]) for value in sorted(found))


def family_rows() -> list[Row]:
    """Rows of the table `family`."""
    return [
        (
            FAMILY_IDS[name],
            name,
            NUMBER if name in NUMBERS else WORD,
            zh,
            en,
            *NUMBERS.get(name, ("", ""))[:2],
        )
        for name, (zh, en) in NAMES.items()
    ]


def value_rows() -> list[Row]:
    """Rows of the table `family_value`: every word, and the numbers that variants choose from."""
    rows: list[Row] = []
    for family, number in FAMILY_IDS.items():
        for value, (name, zh, en, _) in enumerate(_words(family), 1):
            rows.append((number, value, name, zh, en))
        unit_zh, unit_en, pool, _ = NUMBERS.get(family, ("", "", (), {}))
        for value in pool:
            name = number_name(value)
            rows.append((number, value, name, f"{name}{unit_zh}", f"{name} {unit_en}"))
    return rows


def _texts(product: Product) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Origin to its folded text, one line each, and for options the pairs of axis and value."""
    pairs = [(fold(axis.name), fold(value.raw)) for axis in product.axes for value in axis.values]
    lines = ([value for _, value in pairs], map(fold, product.attributes), [fold(product.title)])
    return {
        origin: ("\n".join(text), pairs if origin == ORIGINS[0] else [])
        for origin, text in zip(ORIGINS, lines, strict=True)
    }


def _named(axis: str, words: tuple[str, ...]) -> bool:
    return any(word in axis for word in words)


def _read(family: str, text: str, origin: str) -> Iterator[int]:
    if family in NUMBERS:
        scales = NUMBERS[family][3]
        for match in _number_pattern(family).finditer(text):
            whole, fraction = match[1], (match[2] or "")[:3].ljust(3, "0")
            value = (int(whole) * 1000 + int(fraction)) * scales[match[3]] // 1000
            if 0 < value <= _LARGEST:
                yield value
        return
    values = _spellings(family)
    for match in _word_pattern(family).finditer(text):
        yield values[match[0]]
    if family == "color" and origin == ORIGINS[0]:
        for match in _SHORT_COLOR.finditer(text):
            yield values[_SHORT_COLORS[match[0]]]


_SHORT_COLOR = re.compile(f"[{''.join(_SHORT_COLORS)}](?![{_HAN}])")


@cache
def _words(family: str) -> list[tuple[str, str, str, tuple[str, ...]]]:
    rows = (line.split(" / ") for line in WORDS.get(family, "").strip().splitlines())
    return [(name, zh, en, tuple(map(_spelling, words.split()))) for name, zh, en, words in rows]


def _spelling(word: str) -> str:
    return word.replace("_", " ")


@cache
def _spellings(family: str) -> dict[str, int]:
    return {word: value for value, (*_, words) in enumerate(_words(family), 1) for word in words}


@cache
def _word_pattern(family: str) -> re.Pattern[str]:
    """Spellings, the longest first; what starts or ends with a letter or digit is a whole word there."""
    words = sorted(_spellings(family), key=lambda word: (-len(word), word))
    end = "" if family == "color" else _NO_COLOR
    # One look at the first letter instead of one at every spelling: this is where the time of the stage goes.
    first = "".join(map(re.escape, sorted({word[0] for word in words})))
    return re.compile(f"(?=[{first}])(?:{'|'.join(_bounded(word, end) for word in words)})")


def _bounded(word: str, end: str) -> str:
    before = "(?<![a-z0-9.])" if word[0].isascii() else ""
    after = "(?![a-z0-9]|[.][0-9])" if word[-1].isascii() else end
    return before + re.escape(word) + after


@cache
def _number_pattern(family: str) -> re.Pattern[str]:
    units = sorted(NUMBERS[family][3], key=lambda unit: (-len(unit), unit))
    ends = "|".join(unit + ("(?![a-z0-9])" if unit.isascii() else "") for unit in units)
    # Twelve digits at most: a longer run is a code, no measure.
    return re.compile(rf"(?<![\d.])(\d{{1,12}})(?:\.(\d+))?\s?({ends})")
