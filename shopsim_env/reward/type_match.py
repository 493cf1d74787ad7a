"""Type reward: is the bought product the kind of thing that was asked for.

Belongs here: category overlap and title term overlap. Nouns are made in the pipeline, here they are read.
Source: seed "论文奖励 pipeline", R_type; separators: contract 7.4.
"""

import re
from dataclasses import dataclass

from shopsim_env.catalog.product import Product
from shopsim_env.text.nouns import literal_terms

# Level names of the data contain `/`, so only the paper mode splits there.
_LEVELS = re.compile(r"[›>]")
_PAPER_LEVELS = re.compile(r"[›>/\\]")
SHARED_LEVELS = 2
"""So many level names must be shared for two categories to match."""
_CLOSE_TITLE = 0.2
_FAR_TITLE = 0.1


@dataclass(frozen=True, slots=True)
class TypeMatch:
    """`r_type` is 0, 0.1, 0.5 or 1; `title_score` the share of the goal's title terms found, 0..1."""

    r_type: float
    category_match: bool
    title_score: float


def match_type(bought: Product, gold: Product, *, option_match: str = "anchored") -> TypeMatch:
    """Compares kinds: two shared category levels or more than a fifth of the gold title terms give 1."""
    shared = category_levels(bought.category, option_match) & category_levels(gold.category, option_match)
    category_match = len(shared) >= SHARED_LEVELS
    title_score = title_overlap(*title_terms(bought, gold))
    return TypeMatch(type_reward(category_match, title_score), category_match, title_score)


def category_levels(category: str, option_match: str = "anchored") -> frozenset[str]:
    """Level names of a category path, case folded, split as the option rule wants it."""
    pattern = _PAPER_LEVELS if option_match == "paper" else _LEVELS
    return frozenset({node.strip().casefold() for node in pattern.split(category)} - {""})


def type_reward(category_match: bool, title_score: float) -> float:
    """The steps of the seed: exactly 0.2 is not enough for 1, exactly 0.1 is enough for 0.5."""
    if category_match or title_score > _CLOSE_TITLE:
        return 1.0
    if title_score == 0:
        return 0.0
    return 0.1 if title_score < _FAR_TITLE else 0.5


def title_overlap(bought: frozenset[str], gold: frozenset[str]) -> float:
    """Share of the distinct gold terms that the bought title has; 0.2 when the gold title has no term."""
    return len(bought & gold) / len(gold) if gold else _CLOSE_TITLE


def title_terms(bought: Product, gold: Product) -> tuple[frozenset[str], frozenset[str]]:
    """The terms of both titles that are compared: nouns of the release, else literal terms of both."""
    if bought.title_nouns is None or gold.title_nouns is None:
        return frozenset(literal_terms(bought.title)), frozenset(literal_terms(gold.title))
    return frozenset(bought.title_nouns), frozenset(gold.title_nouns)
