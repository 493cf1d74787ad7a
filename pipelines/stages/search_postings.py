"""From document fields to postings: terms, rows, frequency classes, block by block.

Follows FTS5 to the letter: `usb-c` is stored as two words; as a query it is a phrase, which also matches
where `usb` and `c` are neighbours by chance. So every compound word of the corpus gets its own postings,
counted by adjacency.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shopsim_env.search.arrays import BLOCK, PIECE_MARK, vocabulary_key
from shopsim_env.search.schema import FIELD_WEIGHTS

Array = npt.NDArray[Any]
_COMPOUND = re.compile(r"[a-z0-9]+(?:[-._+/][a-z0-9]+)+")
_WEIGHTS = np.array(list(FIELD_WEIGHTS.values()), np.float64)
_FIELDS = len(_WEIGHTS)


@dataclass(frozen=True, slots=True)
class BlockPostings:
    """Postings of one block by term, then row. `lengths[i]` of them belong to `terms[i]`."""

    terms: Array
    lengths: Array
    docs: Array
    classes: Array


@dataclass(frozen=True, slots=True)
class Postings:
    """Everything that the arrays are laid out from; `weights[class]` is ascending."""

    asins: list[str]
    terms: list[str]
    weights: Array
    doc_tokens: Array
    blocks: list[BlockPostings]

    @property
    def count(self) -> int:
        """Number of postings."""
        return sum(len(block.docs) for block in self.blocks)

    @property
    def class_bytes(self) -> int:
        """Size of a frequency class in the file."""
        return class_bytes(self.weights)


def class_bytes(weights: Array) -> int:
    """One byte while it is enough, which is so for most catalogues."""
    return 1 if len(weights) <= 256 else 2


def compound_words(documents: Iterable[Sequence[str]]) -> set[str]:
    """Vocabulary keys of all tokens that FTS5 stores as several words."""
    found: set[str] = set()
    for fields in documents:
        found.update(_COMPOUND.findall(" ".join(fields)))
    return set(map(vocabulary_key, found))


@dataclass(slots=True)
class PostingsBuilder:
    """Takes documents in asin order; holds postings of finished blocks and instances of the open one."""

    compounds: set[str]
    _asins: list[str] = field(default_factory=list)
    _terms: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    _phrases: defaultdict[tuple[str, str], list[tuple[tuple[str, ...], str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _instances: "array[int]" = field(default_factory=lambda: array("I"))
    _field_sizes: "array[int]" = field(default_factory=lambda: array("I"))
    _doc_tokens: "array[int]" = field(default_factory=lambda: array("I"))
    _classes: dict[float, int] = field(default_factory=dict)
    _blocks: list[BlockPostings] = field(default_factory=list)

    def __post_init__(self) -> None:
        for compound in sorted(self.compounds):
            pieces = tuple(compound.split(PIECE_MARK))
            self._phrases[pieces[:2]].append((pieces, compound))  # type: ignore[index]
        # Reading must not grow it.
        self._phrases.default_factory = None

    def add(self, asin: str, fields: Sequence[str]) -> None:
        """Adds one document: its fields in the order of the weights, tokens joined by blanks."""
        self._asins.append(asin)
        instances, term_of, size = self._instances, self._terms.__getitem__, 0
        for text in fields:
            before = len(instances)
            words = text.split()
            if words and words[-1] < "\x80":
                words, extra = self._latin(words)
                instances.extend(map(term_of, words))
                size += len(words)
                instances.extend(map(term_of, extra))
            else:
                instances.extend(map(term_of, words))
                size += len(words)
            self._field_sizes.append(len(instances) - before)
        self._doc_tokens.append(size)
        if len(self._asins) % BLOCK == 0:
            self._close_block()

    def finish(self) -> Postings:
        """The postings of all documents; the builder is used up."""
        if len(self._field_sizes):
            self._close_block()
        weights = np.array(sorted(self._classes), np.float64)
        rank = np.zeros(max(len(self._classes), 1), np.int64)
        for position, weight in enumerate(weights):
            rank[self._classes[float(weight)]] = position
        kind = f"<u{class_bytes(weights)}"
        blocks = [
            BlockPostings(block.terms, block.lengths, block.docs, rank[block.classes].astype(kind))
            for block in self._blocks
        ]
        return Postings(self._asins, list(self._terms), weights, np.array(self._doc_tokens, np.int64), blocks)

    def _latin(self, words: list[str]) -> tuple[list[str], list[str]]:
        """All words as FTS5 splits them, and the compound words that match somewhere among them.

        Latin tokens end a field and Han tokens have no marks, so splitting all of them keeps neighbours.
        """
        pieces = vocabulary_key(" ".join(words)).replace(PIECE_MARK, " ").split()
        phrases, extra = self._phrases, []
        for at, pair in enumerate(pairwise(pieces)):
            if pair in phrases:
                extra += [
                    compound
                    for parts, compound in phrases[pair]
                    if len(parts) == 2 or tuple(pieces[at : at + len(parts)]) == parts
                ]
        return pieces, extra

    def _close_block(self) -> None:
        sizes = np.frombuffer(self._field_sizes, np.uint32)
        rows = np.repeat(np.arange(len(sizes)) // _FIELDS, sizes)
        columns = np.repeat(np.arange(len(sizes)) % _FIELDS, sizes)
        key = np.frombuffer(self._instances, np.uint32).astype(np.int64) * BLOCK + rows
        # Stable: the instances of a posting stay in column order, in which FTS5 adds their weights.
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        # bincount adds one by one, as FTS5 does; reduceat would add in pairs and round differently.
        group = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
        weights = np.bincount(group, _WEIGHTS[columns[order]], len(first))
        key = key[first]
        distinct, inverse = np.unique(weights, return_inverse=True)
        numbers = [self._classes.setdefault(float(weight), len(self._classes)) for weight in distinct]
        classes = np.array(numbers, np.uint32)[inverse] if numbers else np.zeros(0, np.uint32)
        terms = key // BLOCK
        at = np.flatnonzero(np.diff(terms, prepend=-1))
        lengths = np.diff(at, append=len(terms))
        self._blocks.append(BlockPostings(terms[at], lengths, (key % BLOCK).astype(np.uint16), classes))
        del sizes
        self._instances, self._field_sizes = array("I"), array("I")
