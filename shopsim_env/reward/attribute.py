"""Attribute reward: how many target attributes the bought product shows.

Belongs here: the comparison of one target with a product's attributes and texts. Options and category are not
searched. Source: seed "论文奖励 pipeline", R_attribute; number guard: contract 7.4.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from shopsim_env.catalog.product import Product
from shopsim_env.reward.fuzzy import MATCH_ABOVE, token_set_ratio


class Place(NamedTuple):
    """A text of a product: `kind` is attribute, title, bullet or description; `number` counts from 0."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}" if self.kind in ("attribute", "bullet") else self.kind


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def count_attributes(targets: Sequence[str], product: Product, *, option_match: str = "anchored") -> int:
    """Number of targets that an attribute matches (score above 85) or a text of the product contains.

    The default mode asks for the same numbers too: each number of the target must stand in the attribute, or
    whole in the text (14kg is not in 114kg). `paper` compares as published.
    """
    guarded = option_match != "paper"
    texts = [text.casefold() for text in (product.title, *product.bullets, product.description)]
    return sum(
        any(_is_alike(target, attribute, guarded) for attribute in product.attributes)
        or any(_contains(text, target.casefold(), guarded) for text in texts)
        for target in targets
    )


def attribute_witnesses(
    target: str, product: Product, *, option_match: str = "anchored"
) -> tuple[Place, ...]:
    """Every place of the product that meets `target`; `count_attributes` counts targets that have one."""
    guarded = option_match != "paper"
    alike = [
        Place("attribute", number)
        for number, attribute in enumerate(product.attributes)
        if _is_alike(target, attribute, guarded)
    ]
    named = [
        Place("title", 0),
        *(Place("bullet", number) for number in range(len(product.bullets))),
        Place("description", 0),
    ]
    texts = (product.title, *product.bullets, product.description)
    folded = target.casefold()
    return (
        *alike,
        *(
            place
            for place, text in zip(named, texts, strict=True)
            if _contains(text.casefold(), folded, guarded)
        ),
    )


def closest_attribute(target: str, product: Product) -> tuple[int, int] | None:
    """Position and score of the attribute with the best score, None without attributes."""
    scores = [token_set_ratio(attribute, target) for attribute in product.attributes]
    return (scores.index(max(scores)), max(scores)) if scores else None


# Rollouts of one task compare the same few texts again and again.
@lru_cache(maxsize=16_384)
def _is_alike(target: str, attribute: str, guarded: bool) -> bool:
    if guarded and not _numbers(target) <= _numbers(attribute):
        return False
    return token_set_ratio(attribute, target) > MATCH_ABOVE


def _contains(text: str, target: str, guarded: bool) -> bool:
    if target not in text:
        return False
    if not guarded:
        return True
    before = r"(?<![0-9])(?<![0-9]\.)" if target[:1].isdecimal() else ""
    after = r"(?!\.?[0-9])" if target[-1:].isdecimal() else ""
    return re.search(before + re.escape(target) + after, text) is not None


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", text)))
