"""The file of the fast engine: format, reading, digest. Written by `pipelines.stages.search_arrays`.

A frozen catalogue lets everything of `bm25()` but the choice of terms be computed once. A posting is a
product (16 bits inside a block of 65,536) and a frequency class (8 or 16 bits: one distinct sum of column
weights). Products are numbered in asin order from 0. All numbers are little-endian and none depends on a
library version, so equal documents give equal bytes; the rarity of a term needs a logarithm and is computed
when searching.
"""

import hashlib
import mmap
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from shopsim_env.errors import SearchIndexError

MAGIC: Final = b"SHOPARR1"
BLOCK: Final = 65_536
ALIGN: Final = 64
K1: Final = 1.2
B: Final = 0.75
PIECE_MARK: Final = "-"
COUNTS: Final = (
    "products",
    "blocks",
    "terms",
    "classes",
    "lengths",
    "tokens",
    "words",
    "class_bytes",
    "unsupported",
)
# Name -> element type (`struct` letter). The order is that of `kernel/kernel.h`.
SECTIONS: Final[Mapping[str, str]] = {
    "slots": "I",  # hash table: 0 or 1 + number of the term
    "term_at": "I",  # terms + 1 offsets into term_text
    "term_text": "B",
    "start": "Q",  # terms + 1 offsets into docs and classes
    "block_len": "I",  # [term][block] postings; empty for one block
    "block_max": "f",  # [term][block] largest gain, rounded up
    "docs": "H",
    "classes": "B",  # `class_bytes` (1 or 2) for each posting
    "doc_len": "H",  # per product: position of its length in `lengths`
    "lengths": "I",  # distinct document lengths, ascending
    "weights": "d",  # column weight sum of each class, ascending
    "gain": "d",  # [class][length] term frequency part of bm25
    "long": "I",  # per term: 0 or 1 + row of long_at
    "long_at": "I",  # [row][block]: 0 or 1 + number of the bitmap
    "bits": "Q",  # per bitmap `words` words
    "ranks": "H",  # per word: bits set in the words before it
    "asin_at": "I",
    "asin_text": "B",
}
UNSUPPORTED: Final = (
    "",
    "more than 16,777,216 pairs of frequency class and document length",
    "more than 4 GiB of text",
)
_HEADER = struct.Struct(f"<8s{len(COUNTS)}Q{2 * len(SECTIONS)}Q")
HEADER_BYTES: Final = _HEADER.size
_PIECES = str.maketrans("._+/", PIECE_MARK * 4)


def vocabulary_key(token: str) -> str:
    """A token as the vocabulary spells it: FTS5 sees the pieces of a compound word, not the marks between."""
    return token.translate(_PIECES)


def is_compound(token: str) -> bool:
    """Whether FTS5 reads the token as a phrase of several words."""
    return PIECE_MARK in vocabulary_key(token)


def slot_count(terms: int) -> int:
    """Size of the hash table: a power of two, at most half full."""
    return 1 << max(2 * terms, 1).bit_length()


def pack_header(counts: Mapping[str, int], places: Mapping[str, tuple[int, int]]) -> bytes:
    """Header bytes; `places` maps sections to offset and length in bytes."""
    flat = [number for name in SECTIONS for number in places[name]]
    return _HEADER.pack(MAGIC, *(counts[name] for name in COUNTS), *flat)


class ArrayFile:
    """A mapped array file: counts, sections as views, look-up of terms and asins.

    The views share the page cache with every other process that maps the file.

    Raises:
        SearchIndexError: Not such a file, or a section outside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as stream:
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise SearchIndexError(f"{path}: expected a search array file, found {error}") from error
        self._view = memoryview(self._map)
        self.counts, self._places = self._read_header()
        # Opened once: a cast view costs more than a look-up.
        self._slots, self._term_at = self.section("slots"), self.section("term_at")
        self._asin_at, self._start = self.section("asin_at"), self.section("start")

    def _read_header(self) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
        if len(self._view) < HEADER_BYTES or bytes(self._view[:8]) != MAGIC:
            self._release()
            raise SearchIndexError(
                f"{self.path}: expected a search array file ({MAGIC.decode()}), found other bytes; "
                "rebuild the release with `shopsim build`"
            )
        numbers = _HEADER.unpack(self._view[:HEADER_BYTES])[1:]
        flat = numbers[len(COUNTS) :]
        places = dict(zip(SECTIONS, zip(flat[::2], flat[1::2], strict=True), strict=True))
        for name, (offset, size) in places.items():
            if offset % ALIGN or offset + size > len(self._view):
                total = len(self._view)
                self._release()
                raise SearchIndexError(
                    f"{self.path}: section {name!r}: expected it inside {total} bytes, found "
                    f"{offset} + {size}; rebuild the release with `shopsim build`"
                )
        return dict(zip(COUNTS, numbers, strict=False)), places

    @property
    def unsupported(self) -> str:
        """Why the arrays could not hold the catalogue; empty when they do."""
        return (
            UNSUPPORTED[self.counts["unsupported"]] if sys.byteorder == "little" else "a big-endian machine"
        )

    def section(self, name: str) -> Any:
        """Elements of a section; the caller releases the view before `close`."""
        offset, size = self._places[name]
        kind = "H" if name == "classes" and self.counts["class_bytes"] == 2 else SECTIONS[name]
        return self._view[offset : offset + size].cast(kind)  # type: ignore[call-overload]

    def term(self, token: str) -> int:
        """Number of a token, or -1 when no product has it."""
        key = vocabulary_key(token).encode()
        size, slot = len(self._slots), crc32(key)
        offset = self._places["term_text"][0]
        while found := self._slots[slot % size]:
            start, end = self._term_at[found - 1], self._term_at[found]
            if self._view[offset + start : offset + end] == key:
                return int(found) - 1
            slot += 1
        return -1

    def products_with(self, term: int) -> int:
        """Number of products that hold a term."""
        return int(self._start[term + 1] - self._start[term])

    def asin(self, row: int) -> str:
        """Asin of a product, counted from 0."""
        offset = self._places["asin_text"][0]
        return str(self._view[offset + self._asin_at[row] : offset + self._asin_at[row + 1]], "utf-8")

    def digest(self) -> str:
        """Hex SHA-256 over counts and the values of every section; padding does not count."""
        hasher = hashlib.sha256()
        hasher.update(repr(sorted(self.counts.items())).encode())
        for name, (offset, size) in self._places.items():
            hasher.update(f"\n{name} {SECTIONS[name]} {size}\n".encode())
            hasher.update(self._view[offset : offset + size])
        return hasher.hexdigest()

    def close(self) -> None:
        """Unmaps the file."""
        for view in (self._slots, self._term_at, self._asin_at, self._start):
            view.release()
        self._release()

    def _release(self) -> None:
        self._view.release()
        self._map.close()
