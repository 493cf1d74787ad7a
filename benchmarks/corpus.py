"""A Chinese shop catalogue of any size: product number i is a pure function of (seed, i).

So two million products stream without being held. Words follow power laws: every leaf category has its own
vocabulary, brands a long tail, and most products carry the colour axis, so that a few pairs of characters hit
most of the catalogue, as in real data. About 84 postings per product. Every text is made up here.
"""

import random
import tomllib
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from typing import Any

_WORDS = {
    name: text.split()
    for name, text in tomllib.loads(Path(__file__).with_name("corpus_words.toml").read_text("utf-8")).items()
}
MODIFIERS, NOUNS, DEPARTMENTS = (_WORDS[name] for name in ("modifiers", "nouns", "departments"))
COLOURS, AXES, ATTRIBUTES = (_WORDS[name] for name in ("colours", "axes", "attributes"))
SIZES, LATIN = _WORDS["sizes"], _WORDS["latin"]
CHARACTERS = "".join(dict.fromkeys("".join([*MODIFIERS, *NOUNS, *DEPARTMENTS, *COLOURS, *ATTRIBUTES])))
SHOPS = ("旗舰店", "官方旗舰店", "专营店", "专卖店", "家居", "优品店")


class PowerLaw:
    """Draws positions below `size` with weight `(position + 1 + shift) ** -slope`."""

    def __init__(self, size: int, slope: float, shift: float) -> None:
        self._sums = list(accumulate((rank + shift) ** -slope for rank in range(1, size + 1)))

    def draw(self, chance: random.Random) -> int:
        """One position."""
        return bisect_left(self._sums, chance.random() * self._sums[-1])


class Catalogue:
    """The whole catalogue as a function."""

    def __init__(self, seed: int = 20240607) -> None:
        self._seed = seed
        chance = random.Random(seed)  # noqa: S311
        characters = list(CHARACTERS)
        chance.shuffle(characters)
        common = PowerLaw(len(characters), 0.75, 10)

        def word(length: int) -> str:
            return "".join(characters[common.draw(chance)] for _ in range(length))

        self._brands = [word(chance.choice((2, 2, 3, 3, 4))) for _ in range(6_000)]
        self._brand = PowerLaw(len(self._brands), 0.9, 3)
        rare = [word(chance.choice((2, 2, 2, 3))) for _ in range(12_000)]
        self._leaves = [
            self._leaf(chance, place, variant, rare, word)
            for place in range(len(NOUNS))
            for variant in range(3)
        ]
        chance.shuffle(self._leaves)
        self._leaf_of = PowerLaw(len(self._leaves), 0.6, 20)
        self._topic = PowerLaw(135, 0.9, 4)

    @staticmethod
    def _leaf(chance: random.Random, place: int, variant: int, rare: list[str], word: Any) -> dict[str, Any]:
        noun = NOUNS[place]
        topic = chance.sample(MODIFIERS, 45) + chance.sample(rare, 90)
        chance.shuffle(topic)
        axes = [AXES[0]] if chance.random() < 0.8 else [chance.choice(AXES[1:])]
        if chance.random() < 0.55:
            axes.append(chance.choice([axis for axis in AXES[1:] if axis not in axes]))
        keys = chance.sample(ATTRIBUTES, 12)
        return {
            "noun": noun,
            "path": f"{DEPARTMENTS[place * len(DEPARTMENTS) // len(NOUNS)]}>{noun}>"
            + (noun if variant == 0 else word(2) + noun),
            "topic": topic,
            "attributes": [
                (key, [chance.choice(topic) for _ in range(chance.randint(3, 12))]) for key in keys
            ],
            "axes": axes,
            "synonyms": [noun, chance.choice(NOUNS), word(2) + noun[-1:]],
        }

    def product(self, number: int) -> dict[str, Any]:
        """A record in the raw schema."""
        chance = random.Random(self._seed * 1_000_003 + number)  # noqa: S311
        leaf = self._leaves[self._leaf_of.draw(chance)]
        brand = self._brands[self._brand.draw(chance)]
        listed = chance.sample(leaf["attributes"], chance.randint(5, 12))
        record = {
            "asin": f"{(number * 2654435761 + 12345) % 10**12:012d}",
            "title": self._title(chance, leaf, brand),
            "shop_name": brand + chance.choice(SHOPS),
            "category": leaf["path"],
            "attribute": [f"{key}:{chance.choice(values)}" for key, values in listed],
            "customization_options": {axis: self._values(chance, leaf, axis) for axis in leaf["axes"]},
            "pricing": [round(chance.lognormvariate(4, 1), 2)],
        }
        if chance.random() < 0.15:
            lines = range(chance.randint(1, 3))
            record["small_description"] = ["".join(self._words(chance, leaf, 4)) for _ in lines]
        return record

    def _words(self, chance: random.Random, leaf: dict[str, Any], count: int) -> list[str]:
        return [leaf["topic"][self._topic.draw(chance)] for _ in range(count)]

    def _title(self, chance: random.Random, leaf: dict[str, Any], brand: str) -> str:
        target, noun_at = chance.randint(25, 40), chance.randint(1, 4)
        parts, length = [brand], len(brand)
        while length < target:
            part = leaf["noun"] if len(parts) == noun_at else self._title_part(chance, leaf)
            parts.append(part)
            length += len(part)
        if chance.random() < 0.25:
            letters = "abcdefghkmstxz"
            parts.append(chance.choice(letters) + chance.choice(letters) + str(chance.randint(1, 9_999)))
        return "".join(parts)

    def _title_part(self, chance: random.Random, leaf: dict[str, Any]) -> str:
        kind = chance.random()
        if kind < 0.86:
            return self._words(chance, leaf, 1)[0]
        if kind < 0.944:
            return str(chance.choice(leaf["synonyms"]))
        if kind < 0.966:
            return chance.choice(LATIN)
        return f"{chance.randint(1, 99)}{chance.choice(('cm', 'ml', 'w', '片', '支', '件', 'l', 'kg'))}"

    def _values(self, chance: random.Random, leaf: dict[str, Any], axis: str) -> list[dict[str, Any]]:
        count = min(1 + int(chance.expovariate(1 / 6)), 40)
        if axis in ("颜色分类", "款式"):
            values = [self._colour(chance, leaf) for _ in range(count)]
        elif axis in ("尺码", "鞋码"):
            values = chance.sample(SIZES, min(count, 12))
        else:
            units = ("件套", "盒", "ml", "米", "g", "片装")
            values = [
                f"{self._words(chance, leaf, 1)[0]}{chance.randint(1, 20)}{chance.choice(units)}"
                for _ in range(count)
            ]
        price = round(chance.lognormvariate(4, 1), 2)
        return [{"value": value, "price": price} for value in dict.fromkeys(values)]

    def _colour(self, chance: random.Random, leaf: dict[str, Any]) -> str:
        extra = self._words(chance, leaf, 1)[0] if chance.random() < 0.6 else ""
        note = f"【{self._words(chance, leaf, 1)[0]}】" if chance.random() < 0.25 else ""
        return chance.choice(COLOURS) + extra + note

    def queries(self, products: int, count: int, seed: int = 7) -> list[tuple[str, str]]:
        """Pairs of a simple text (about 15 characters) and a full one (80 to 120) for drawn products."""
        chance = random.Random(seed)  # noqa: S311
        return [_query_pair(chance, self.product(chance.randrange(products))) for _ in range(count)]


def _query_pair(chance: random.Random, product: dict[str, Any]) -> tuple[str, str]:
    title, noun = product["title"], product["category"].split(">")[1]
    near = [word for word in MODIFIERS if word in title] or MODIFIERS
    piece = title[chance.randrange(2, 8) :][: chance.randint(3, 5)]
    opening = chance.choice(("想买", "帮我找", "我要一款", "推荐个", "需要"))
    simple = (
        f"{opening}{chance.choice(near)}{chance.choice(('', chance.choice(MODIFIERS[:12])))}{piece}的{noun}"
    )
    options = [
        f"{axis}要{chance.choice(values)['value']}"
        for axis, values in product["customization_options"].items()
    ]
    attributes = chance.sample(product["attribute"], min(len(product["attribute"]), 4))
    wishes = [text.replace(":", "最好是") for text in attributes]
    full = "，".join(
        [
            f"我想找一款适合{chance.choice(('自己', '妈妈', '朋友', '家里'))}使用的"
            f"{title[: chance.randint(12, 18)]}{noun}",
            *options,
            *wishes,
            f"希望{chance.choice(('质量好', '做工精致', '性价比高'))}，价格不超过{chance.randint(20, 900)}元",
        ]
    )[:120]
    while len(full) < 80:
        full += "，" + chance.choice(attributes).split(":")[1] + "风格的也可以考虑"
    return simple[:20], full[:120]
