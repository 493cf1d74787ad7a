"""From document fields to postings: terms, rows, frequency classes, block by block.

Follows FTS5 to the letter: `usb-c` is stored as two words; as a query it is a phrase, which also matches
where `usb` and `c` are neighbours by chance. So every compound word of the corpus gets its own postings,
counted by adjacency. A block knows only its own documents, so that several processes can make blocks; terms
are numbered by first occurrence when the blocks are joined in order.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shopsim_env.search.arrays import PIECE_MARK, vocabulary_key
from shopsim_env.search.schema import FIELD_WEIGHTS

Array = npt.NDArray[Any]
_COMPOUND = re.compile(r"[a-z0-9]+(?:[-._+/][a-z0-9]+)+")
_WEIGHTS = np.array(list(FIELD_WEIGHTS.values()), np.float64)
_FIELDS = len(_WEIGHTS)
_CHUNK = 4_096
# Numbers of listed tokens begin here, above all pairs of characters of 16 bits.
_LISTED = 1 << 32
_MARKS = [mark for mark in map(chr, range(0x80)) if vocabulary_key(mark) == PIECE_MARK]
# The ASCII characters between words as FTS5 sees them.
_SEPARATES = np.zeros(0x80, bool)
_SEPARATES[[ord(mark) for mark in (" ", "\n", *_MARKS)]] = True


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
        text = " ".join(fields)
        # Most documents have no mark, which is quick to see.
        if any(mark in text for mark in _MARKS):
            found.update(_COMPOUND.findall(text))
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
    """Takes the documents of one block in asin order.

    A token is a number here, so that numpy does what a loop over all tokens would: one or two characters that
    are no ASCII are their own number, and any other is listed.
    """

    phrases: Phrases
    _asins: list[str] = field(default_factory=list)
    _waiting: list[str] = field(default_factory=list)
    _listed: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count(_LISTED).__next__))
    _tokens: list[Array] = field(default_factory=list)
    _fields: list[Array] = field(default_factory=list)
    _doc_tokens: list[Array] = field(default_factory=list)

    def add(self, asin: str, fields: Sequence[str]) -> None:
        """Adds one document: its fields in the order of the weights, tokens joined by blanks."""
        self._asins.append(asin)
        self._waiting.append("\n".join(fields))
        if len(self._waiting) == _CHUNK:
            self._take_waiting()

    def _take_waiting(self) -> None:
        """Numbers and fields of all tokens of the waiting documents, compound words last in their field."""
        text = "\n".join([*self._waiting, ""])
        chars = np.frombuffer(text.encode("utf-32-le"), "<u4")
        starts, ends, fields = _words(chars)
        tokens = _pairs(chars, starts, ends)
        listed = np.flatnonzero(tokens < 0)
        places = zip(starts[listed].tolist(), ends[listed].tolist(), strict=True)
        words = [text[start:end] for start, end in places]
        tokens[listed] = [self._listed[word] for word in words]
        self._doc_tokens.append(np.bincount(fields // _FIELDS, minlength=len(self._waiting)))
        found = list(self._compounds(list(zip(fields[listed].tolist(), words, strict=True))))
        extra_fields = np.array([number for number, _ in found], np.int64)
        extra = np.array([self._listed[compound] for _, compound in found], np.int64)
        behind = np.searchsorted(fields, extra_fields, "right")
        before = (len(self._asins) - len(self._waiting)) * _FIELDS
        self._tokens.append(np.insert(tokens, behind, extra))
        self._fields.append((np.insert(fields, behind, extra_fields) + before).astype(np.int32))
        self._waiting.clear()

    def _compounds(self, words: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The compound words that match somewhere among the listed words, each with its field.

        Latin tokens end a field and Han tokens have no marks: listed words of a field are neighbours.
        """
        phrases = self.phrases
        for at, ((number, first), (_, second)) in enumerate(pairwise(words)):
            for parts, compound in phrases.get((first, second), ()):
                if words[at : at + len(parts)] == [(number, part) for part in parts]:
                    yield number, compound

    def finish(self) -> BlockDocuments:
        """The postings of the block; the builder is used up."""
        self._take_waiting()
        tokens, fields = np.concatenate(self._tokens), np.concatenate(self._fields)
        # One number for token and place sorts in a third of the time of an order. Tokens need 33 bits, which
        # leaves 30 for the place: more tokens would not fit into memory.
        bits = len(tokens).bit_length()
        key = np.sort(tokens << bits | np.arange(len(tokens)))
        tokens, at = key >> bits, key & (1 << bits) - 1
        del key
        fields = fields[at]
        rows = fields // _FIELDS
        new_term = np.diff(tokens, prepend=-1) != 0
        new = new_term | (np.diff(rows, prepend=-1) != 0)
        # bincount adds one by one and in column order, as FTS5 does; reduceat would add in pairs and round
        # differently.
        sums = np.bincount(np.cumsum(new) - 1, _WEIGHTS[fields - rows * _FIELDS])
        weights = np.unique(sums)
        # From the order of the numbers to that of first occurrence.
        first = np.flatnonzero(new_term)
        order = np.argsort(at[first])
        starts = np.flatnonzero(new_term[new])
        lengths = np.diff(starts, append=len(sums))[order]
        take = np.repeat(starts[order] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(sums))
        return BlockDocuments(
            self._asins,
            np.concatenate(self._doc_tokens),
            self._texts(tokens[first][order]),
            lengths,
            rows[new][take].astype(np.uint16),
            weights,
            np.searchsorted(weights, sums[take]).astype(np.min_scalar_type(len(weights))),
        )

    def _texts(self, tokens: Array) -> list[str]:
        listed = list(self._listed)
        return [
            listed[token - _LISTED]
            if token >= _LISTED
            else (chr(token >> 16) + chr(token & 0xFFFF)).rstrip("\0")
            for token in tokens.tolist()
        ]


def _words(chars: Array) -> tuple[Array, Array, Array]:
    """Start, end and field of each word: what separators leave, one line a field."""
    ends = np.flatnonzero(chars < len(_SEPARATES))
    ends = ends[_SEPARATES[chars[ends]]]
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])[:-1]
    is_line_end = chars[ends] == ord("\n")
    fields = np.cumsum(is_line_end) - is_line_end
    words = ends > starts
    return starts[words], ends[words], fields[words]


def _pairs(chars: Array, starts: Array, ends: Array) -> Array:
    """One or two characters as a number of 32 bits, -1 for every other word and for ASCII."""
    first, sizes = chars[starts].astype(np.int64), ends - starts
    # A separator follows the last character, so that there always is a second one.
    second = np.where(sizes == 2, chars[starts + 1], 0)
    fits = (sizes <= 2) & (first >= 0x80) & ((first | second) <= 0xFFFF)
    return np.where(fits, first << 16 | second, -1)


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
