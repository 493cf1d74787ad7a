"""Texts that are nearly the same: shared triples of characters, exact and without chance.

Belongs here: the triples of a text, how alike two sets of them are, and an index that finds every pair above
a threshold. A pair cannot reach the threshold without sharing one of its rarest triples, so only those are
indexed and nothing is missed. Who is compared with whom is the business of the callers.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from math import ceil
from typing import Generic, TypeVar

from shopsim_env.text.normalize import fold

_LENGTH = 3
_SIGNS = re.compile(r"[\W_]+")
# Shares are fractions of small integers; this keeps 0.7 * 10 from being 7.000000000000001.
_EPSILON = 1e-9

K = TypeVar("K", bound=Hashable)


def squeezed(text: str) -> str:
    """`text` folded, without blanks, punctuation and symbols."""
    return _SIGNS.sub("", fold(text))


def triples(text: str) -> frozenset[str]:
    """Distinct runs of three characters of the squeezed text; the text itself when it is shorter."""
    plain = squeezed(text)
    if len(plain) <= _LENGTH:
        return frozenset([plain]) if plain else frozenset()
    return frozenset(plain[at : at + _LENGTH] for at in range(len(plain) - _LENGTH + 1))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared triples over all triples of both (Jaccard), 0..1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


class NearIndex(Generic[K]):
    """Texts by key, to be compared with each other or with other texts.

    Args:
        texts: Key to text; blank texts are never near anything.
        threshold: Share of triples from which two texts are near, in (0, 1].
    """

    def __init__(self, texts: Mapping[K, str], threshold: float) -> None:
        found = {key: triples(text) for key, text in texts.items()}
        self._triples = {key: items for key, items in found.items() if items}
        self._threshold = threshold
        self._frequency = Counter(item for items in self._triples.values() for item in items)

    def pairs(self) -> Iterator[tuple[K, K, float]]:
        """Every pair of texts with a likeness of at least the threshold, in the order of the keys given."""
        place = {key: number for number, key in enumerate(self._triples)}
        index: dict[str, list[K]] = {}
        found = []
        for key in sorted(self._triples, key=lambda item: (len(self._triples[item]), place[item])):
            items = self._triples[key]
            rare = self._rarest(items)
            for other in {other for item in rare for other in index.get(item, ())}:
                if len(self._triples[other]) + _EPSILON >= self._threshold * len(items):
                    share = likeness(items, self._triples[other])
                    if share + _EPSILON >= self._threshold:
                        first, second = sorted((key, other), key=place.__getitem__)
                        found.append((place[first], place[second], first, second, share))
            for item in rare:
                index.setdefault(item, []).append(key)
        # By place: keys need not be comparable, and the order in sets must not show.
        yield from ((pair[2], pair[3], pair[4]) for pair in sorted(found, key=lambda pair: pair[:2]))

    def contained_in(self, text: str) -> list[tuple[K, float]]:
        """Keys whose text stands in `text` with at least the threshold's share of its triples, and the share.

        Unlike `pairs` this is not symmetric: `text` may be much longer.
        """
        items = triples(text)
        by_rare = self._by_rare()
        candidates = {key: None for item in items if item in by_rare for key in by_rare[item]}
        shares = {
            key: len(self._triples[key] & items) / len(self._triples[key])
            for key in self._triples
            if key in candidates
        }
        return [(key, share) for key, share in shares.items() if share + _EPSILON >= self._threshold]

    def _by_rare(self) -> dict[str, list[K]]:
        if not hasattr(self, "_rare_index"):
            self._rare_index: dict[str, list[K]] = {}
            for key, items in self._triples.items():
                for item in self._rarest(items):
                    self._rare_index.setdefault(item, []).append(key)
        return self._rare_index

    def _rarest(self, items: frozenset[str]) -> list[str]:
        """So many of the rarest triples that a near text must share one of them."""
        needed = ceil(self._threshold * len(items) - _EPSILON)
        ordered = sorted(items, key=lambda item: (self._frequency[item], item))
        return ordered[: len(items) - needed + 1]
