"""Texts that are nearly the same: shared triples of characters, exact and without chance.

Belongs here: the triples of a text, how alike two sets of them are, and an index that finds every pair above
a threshold. A pair cannot reach the threshold without sharing one of its rarest triples, so only those are
indexed and nothing is missed. Who is compared with whom is the business of the callers.
"""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import Generic, TypeAlias, TypeVar

from shopsim_env.text.normalize import fold

LENGTH = 3
_SIGNS = re.compile(r"[\W_]+")
# Shares are fractions of small integers; this keeps 0.7 * 10 from being 7.000000000000001.
_EPSILON = 1e-9

K = TypeVar("K", bound=Hashable)
Text: TypeAlias = str | Sequence[str]


def squeezed(text: str) -> str:
    """`text` folded, without blanks, punctuation and symbols."""
    return _SIGNS.sub("", fold(text))


def triples(text: str) -> frozenset[str]:
    """Distinct runs of three characters of the squeezed text; the text itself when it is shorter."""
    plain = squeezed(text)
    if len(plain) <= LENGTH:
        return frozenset([plain]) if plain else frozenset()
    return frozenset(plain[at : at + LENGTH] for at in range(len(plain) - LENGTH + 1))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared triples over all triples of both (Jaccard), 0..1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


class NearIndex(Generic[K]):
    """Texts by key, to be compared with each other or with other texts.

    Args:
        texts: Key to a text, or to parts whose triples count together; blank texts are never near anything.
        threshold: Share of triples from which two texts are near, in (0, 1].
    """

    def __init__(self, texts: Mapping[K, Text], threshold: float) -> None:
        found = {key: _triples_of(text) for key, text in texts.items()}
        self._triples = {key: items for key, items in found.items() if items}
        self._place = {key: number for number, key in enumerate(self._triples)}
        self._threshold = threshold
        self._frequency = Counter(item for items in self._triples.values() for item in items)

    def size(self, key: K) -> int:
        """Number of distinct triples of a text, 0 for a blank one."""
        return len(self._triples.get(key, ()))

    def pairs(self) -> list[tuple[K, K, float]]:
        """Every pair of texts with a likeness of at least the threshold, in the order of the keys given."""
        index: dict[str, list[K]] = {}
        found: list[tuple[K, K, float]] = []
        # Shorter texts first: an indexed text is never longer than the one that looks for it.
        for key in sorted(self._triples, key=lambda item: (len(self._triples[item]), self._place[item])):
            rare = self._rarest(self._triples[key])
            for other in {other for item in rare for other in index.get(item, ())}:
                share = self._near(key, other)
                if share:
                    first, second = sorted((key, other), key=self._place.__getitem__)
                    found.append((first, second, share))
            for item in rare:
                index.setdefault(item, []).append(key)
        # Keys need not be comparable, and the order in sets must not show.
        return sorted(found, key=lambda pair: (self._place[pair[0]], self._place[pair[1]]))

    def contained_in(self, text: str) -> list[tuple[K, float]]:
        """Keys of which at least the threshold's share of triples is in `text`, with that share, in order.

        Unlike `pairs` this is not symmetric: `text` may be much longer.
        """
        items = triples(text)
        candidates = {key for item in items for key in self._by_rare.get(item, ())}
        shares = [
            (key, len(self._triples[key] & items) / len(self._triples[key]))
            for key in sorted(candidates, key=self._place.__getitem__)
        ]
        return [(key, share) for key, share in shares if share + _EPSILON >= self._threshold]

    def _near(self, key: K, other: K) -> float:
        """Likeness where it reaches the threshold, else 0."""
        items, others = self._triples[key], self._triples[other]
        if len(others) + _EPSILON < self._threshold * len(items):
            return 0.0
        share = likeness(items, others)
        return share if share + _EPSILON >= self._threshold else 0.0

    @cached_property
    def _by_rare(self) -> dict[str, list[K]]:
        index: dict[str, list[K]] = {}
        for key, items in self._triples.items():
            for item in self._rarest(items):
                index.setdefault(item, []).append(key)
        return index

    def _rarest(self, items: frozenset[str]) -> list[str]:
        """So many of the rarest triples that a near text must share one of them."""
        needed = ceil(self._threshold * len(items) - _EPSILON)
        ordered = sorted(items, key=lambda item: (self._frequency[item], item))
        return ordered[: len(items) - needed + 1]


def _triples_of(text: Text) -> frozenset[str]:
    parts = [text] if isinstance(text, str) else text
    return frozenset().union(*map(triples, parts))
