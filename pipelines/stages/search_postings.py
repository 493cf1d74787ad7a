"""From document fields to postings: terms, rows, frequency classes, block by block.

Follows FTS5 to the letter: `usb-c` is stored as two words; as a query it is a phrase, which also matches
where `usb` and `c` are neighbours by chance. So every compound word of the corpus gets its own postings,
counted by adjacency. A block knows only its own documents, so that several processes can make blocks; terms
are numbered by first occurrence when the blocks are joined in order.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
class BlockDocuments:
    """One block by itself: `terms` by first occurrence, the postings of each by row, distinct `weights`.

    `lengths[i]` postings belong to `terms[i]`; `classes` are positions in `weights`.
    """

    asins: list[str]
    doc_tokens: Array
    terms: list[str]
    lengths: Array
    docs: Array
    weights: Array
    classes: Array


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


Phrases = Mapping[tuple[str, str], list[tuple[tuple[str, ...], str]]]
"""First two pieces to all compound words that begin so: their pieces, and the word."""


def phrases_of(compounds: Iterable[str]) -> Phrases:
    """Compound words by their first two pieces, for finding them among neighbours."""
    phrases: defaultdict[tuple[str, str], list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for compound in sorted(compounds):
        pieces = tuple(compound.split(PIECE_MARK))
        phrases[pieces[0], pieces[1]].append((pieces, compound))
    return dict(phrases)


@dataclass(slots=True)
class BlockBuilder:
    """Takes the documents of one block in asin order."""

    phrases: Phrases
    _asins: list[str] = field(default_factory=list)
    _terms: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    _instances: "array[int]" = field(default_factory=lambda: array("I"))
    _field_sizes: "array[int]" = field(default_factory=lambda: array("I"))
    _doc_tokens: "array[int]" = field(default_factory=lambda: array("I"))

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

    def _latin(self, words: list[str]) -> tuple[list[str], list[str]]:
        """All words as FTS5 splits them, and the compound words that match somewhere among them.

        Latin tokens end a field and Han tokens have no marks, so splitting all of them keeps neighbours.
        """
        pieces = vocabulary_key(" ".join(words)).replace(PIECE_MARK, " ").split()
        phrases, extra = self.phrases, []
        for at, pair in enumerate(pairwise(pieces)):
            if pair in phrases:
                extra += [
                    compound
                    for parts, compound in phrases[pair]
                    if len(parts) == 2 or tuple(pieces[at : at + len(parts)]) == parts
                ]
        return pieces, extra

    def finish(self) -> BlockDocuments:
        """The postings of the block; the builder is used up."""
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
        sums = np.bincount(group, _WEIGHTS[columns[order]], len(first))
        key = key[first]
        weights, classes = np.unique(sums, return_inverse=True)
        return BlockDocuments(
            self._asins,
            np.array(self._doc_tokens, np.int64),
            list(self._terms),
            np.bincount(key // BLOCK, minlength=len(self._terms)),
            (key % BLOCK).astype(np.uint16),
            weights,
            classes.astype(np.min_scalar_type(len(weights))),
        )


def join_blocks(blocks: Iterable[BlockDocuments]) -> Postings:
    """The postings of all documents. Every block but the last holds `BLOCK` documents."""
    asins: list[str] = []
    terms: defaultdict[str, int] = defaultdict(count().__next__)
    numbers: defaultdict[float, int] = defaultdict(count().__next__)
    tokens, joined = [np.zeros(0, np.int64)], []
    for block in blocks:
        asins += block.asins
        tokens.append(block.doc_tokens)
        term_of = np.array([terms[term] for term in block.terms], np.int64)
        number_of = np.array([numbers[weight] for weight in block.weights.tolist()], np.int64)
        joined.append((BlockPostings(term_of, block.lengths, block.docs, block.classes), number_of))
    weights = np.array(sorted(numbers), np.float64)
    rank = np.zeros(max(len(weights), 1), f"<u{class_bytes(weights)}")
    for position, weight in enumerate(weights.tolist()):
        rank[numbers[weight]] = position
    parts = [
        BlockPostings(part.terms, part.lengths, part.docs, rank[number_of][part.classes])
        for part, number_of in joined
    ]
    return Postings(asins, list(terms), weights, np.concatenate(tokens), parts)
