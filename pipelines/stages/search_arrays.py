"""Writes the arrays of the fast search engine from the FTS5 documents of `catalog.sqlite`.

Two passes over the documents, in asin order: which compound words exist, then postings; block by block, so
that several processes share the work. Format and lookup are the runtime's (`shopsim_env.search.arrays`);
postings are made in `search_postings`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pipelines.stages.processes import ALONE, Workers, in_processes
from pipelines.stages.search_postings import (
    BlockBuilder,
    BlockDocuments,
    Phrases,
    Postings,
    compound_words,
    join_blocks,
    phrases_of,
)
from shopsim_env.search.arrays import (
    ALIGN,
    BLOCK,
    COUNTS,
    HEADER_BYTES,
    K1,
    SECTIONS,
    UNSUPPORTED,
    B,
    pack_header,
    slot_count,
)
from shopsim_env.search.schema import FIELD_WEIGHTS
from shopsim_env.sqlite import open_readonly

Array = npt.NDArray[Any]
_DOCUMENTS = (
    f"SELECT asin, {', '.join(FIELD_WEIGHTS)} FROM products "  # noqa: S608
    "WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
)
_TYPES = {name: np.dtype(letter).newbyteorder("<") for name, letter in SECTIONS.items()}
# A list gets a bitmap when it holds at least this share of the block. One block is small: more of them pay.
_LONG_SHARE_ONE_BLOCK = 64
_LONG_SHARE = 16


@dataclass(frozen=True, slots=True)
class ArraysReport:
    """What was written; `unsupported` says why the arrays cannot hold the catalogue, else it is empty."""

    products: int
    terms: int
    postings: int
    classes: int
    bitmaps: int
    bytes: int
    unsupported: str


def build_search_arrays(
    catalog: Path,
    out: Path,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    workers: Workers = ALONE,
) -> ArraysReport:
    """Writes the array file; equal documents give equal bytes.

    Args:
        catalog: File made by `build_search_index`.
        out: File to create.
        on_progress: Called with documents read and all documents of both passes.
        workers: Processes that read documents. The file is the same.
    """
    with closing(open_readonly(catalog)) as connection:
        products = connection.execute("SELECT max(id) FROM product").fetchone()[0] or 0
    ranges = [(first, min(first + BLOCK - 1, products)) for first in range(1, products + 1, BLOCK)]
    done = _counter(ranges, on_progress)
    with in_processes(workers.at_most(len(ranges))) as each:
        compounds = set[str]().union(*done(each(partial(_compounds, catalog), ranges)))
        postings = join_blocks(done(each(partial(_block, catalog, phrases_of(compounds)), ranges)))
    return write_arrays(postings, out)


_Range = tuple[int, int]


def _compounds(catalog: Path, rows: _Range) -> set[str]:
    with closing(open_readonly(catalog)) as connection:
        return compound_words(fields for _, *fields in connection.execute(_DOCUMENTS, rows))


def _block(catalog: Path, phrases: Phrases, rows: _Range) -> BlockDocuments:
    builder = BlockBuilder(phrases)
    with closing(open_readonly(catalog)) as connection:
        for asin, *fields in connection.execute(_DOCUMENTS, rows):
            builder.add(asin, fields)
    return builder.finish()


def write_arrays(postings: Postings, out: Path) -> ArraysReport:
    """Lays the postings out in the file; see `shopsim_env.search.arrays`."""
    problem = _unsupported(postings)
    counts = dict.fromkeys(COUNTS, 0) | {"unsupported": problem}
    sections: dict[str, Array] = {}
    if not problem:
        counts, sections = _small_sections(postings)
    sizes = {name: _section_bytes(name, sections, postings, problem) for name in SECTIONS}
    places = _places(sizes)
    with out.open("wb") as stream:
        stream.write(pack_header(counts, places))
        stream.truncate(max(offset + size for offset, size in places.values()))
    if not problem:
        _write_sections(out, places, sections, postings)
    bitmaps = len(sections["ranks"]) // counts["words"] if counts["words"] else 0
    return ArraysReport(
        len(postings.asins),
        len(postings.terms),
        postings.count,
        len(postings.weights),
        bitmaps,
        out.stat().st_size,
        UNSUPPORTED[problem],
    )


def _counter(
    ranges: list[_Range], on_progress: Callable[[int, int], None] | None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Reports each finished range of both passes."""
    done, total = 0, 2 * sum(last - first + 1 for first, last in ranges)

    def count(results: Iterable[Any]) -> Iterator[Any]:
        nonlocal done
        for (first, last), result in zip(ranges, results, strict=True):
            done += last - first + 1
            if on_progress is not None:
                on_progress(done, total)
            yield result

    return count


def _unsupported(postings: Postings) -> int:
    lengths = len(np.unique(postings.doc_tokens))
    if max(lengths, len(postings.weights)) > 65_536 or len(postings.weights) * lengths > 1 << 24:
        return 1
    text = max(sum(map(len, map(str.encode, texts))) for texts in (postings.asins, postings.terms))
    return 2 if text >= 1 << 32 else 0


def _small_sections(postings: Postings) -> tuple[dict[str, int], dict[str, Array]]:
    """Every section but the postings themselves, which are written block by block."""
    products, terms, blocks = len(postings.asins), len(postings.terms), len(postings.blocks)
    lengths, doc_len = np.unique(postings.doc_tokens, return_inverse=True)
    gain = _gain(postings, lengths)
    term_at, term_text = _texts(postings.terms)
    asin_at, asin_text = _texts(postings.asins)
    block_len = np.zeros((terms, blocks), "<u4")
    for number, block in enumerate(postings.blocks):
        block_len[block.terms, number] = block.lengths
    start = np.zeros(terms + 1, "<u8")
    start[1:] = np.cumsum(block_len.sum(axis=1, dtype=np.uint64))
    sections = {
        "slots": _slots(postings.terms),
        "term_at": term_at,
        "term_text": term_text,
        "start": start,
        "block_len": block_len.ravel() if blocks > 1 else np.zeros(0, "<u4"),
        "block_max": _block_max(postings, gain, doc_len, terms),
        "doc_len": doc_len.astype("<u2"),
        "lengths": lengths.astype("<u4"),
        "weights": postings.weights,
        "gain": gain.ravel(),
        "asin_at": asin_at,
        "asin_text": asin_text,
        **_bitmaps(postings, block_len),
    }
    counts = {
        "products": products,
        "blocks": blocks,
        "terms": terms,
        "classes": len(postings.weights),
        "lengths": len(lengths),
        "tokens": int(postings.doc_tokens.sum()),
        "words": _words(products),
        "class_bytes": postings.class_bytes,
        "unsupported": 0,
    }
    return counts, sections


def _words(products: int) -> int:
    return (min(products, BLOCK) + 63) // 64


def _gain(postings: Postings, lengths: Array) -> Array:
    """`f * 2.2 / (f + 1.2 * (0.25 + 0.75 * D / avgdl))` with the operations in FTS5's order."""
    if not len(postings.weights):
        return np.zeros((0, len(lengths)))
    average = int(postings.doc_tokens.sum()) / len(postings.asins)
    norm = K1 * (1 - B + B * lengths.astype(np.float64) / average)
    weight = postings.weights[:, None]
    result: Array = (weight * (K1 + 1.0)) / (weight + norm)
    return result


def _texts(texts: list[str]) -> tuple[Array, Array]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(item) for item in encoded], dtype=np.uint64)
    offsets = np.concatenate([np.zeros(1, np.uint64), ends]).astype("<u4")
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


def _slots(terms: list[str]) -> Array:
    size = slot_count(len(terms))
    slots = [0] * size
    for number, term in enumerate(terms, start=1):
        slot = crc32(term.encode()) % size
        while slots[slot]:
            slot = (slot + 1) % size
        slots[slot] = number
    return np.array(slots, "<u4")


def _block_max(postings: Postings, gain: Array, doc_len: Array, terms: int) -> Array:
    result = np.zeros((terms, len(postings.blocks)), "<f4")
    for number, block in enumerate(postings.blocks):
        lengths = doc_len[number * BLOCK + block.docs.astype(np.int64)]
        best = np.maximum.reduceat(gain[block.classes, lengths], _starts(block.lengths))
        result[block.terms, number] = np.nextafter(best.astype(np.float32), np.float32(np.inf))
    return result.ravel()


def _starts(lengths: Array) -> Array:
    ends: Array = np.cumsum(lengths, dtype=np.int64)
    return ends - lengths


def _bitmaps(postings: Postings, block_len: Array) -> dict[str, Array]:
    blocks, words = len(postings.blocks), _words(len(postings.asins))
    share = _LONG_SHARE_ONE_BLOCK if blocks <= 1 else _LONG_SHARE
    is_long = np.zeros(block_len.shape, bool)
    for number in range(blocks):
        rows = min(len(postings.asins) - number * BLOCK, BLOCK)
        is_long[:, number] = block_len[:, number].astype(np.int64) * share >= max(rows, 64)
    any_long = is_long.any(axis=1)
    long = np.where(any_long, np.cumsum(any_long), 0).astype("<u4")
    # Numbered block by block, the order in which they are filled.
    long_at = np.zeros((int(any_long.sum()), blocks), "<u4")
    picked = is_long[any_long]
    long_at.T[picked.T] = np.arange(1, picked.sum() + 1)
    bits = np.zeros((int(picked.sum()), words), "<u8")
    _fill_bitmaps(postings, is_long, bits)
    counts = np.bitwise_count(bits).astype(np.uint32)
    ranks = (np.cumsum(counts, axis=1) - counts).astype("<u2")
    return {"long": long, "long_at": long_at.ravel(), "bits": bits.ravel(), "ranks": ranks.ravel()}


def _fill_bitmaps(postings: Postings, is_long: Array, bits: Array) -> None:
    bitmap = 0
    for number, block in enumerate(postings.blocks):
        starts = _starts(block.lengths)
        # By number of the term, as the bitmaps are numbered.
        long = np.flatnonzero(is_long[block.terms, number])
        for position in long[np.argsort(block.terms[long])]:
            docs = block.docs[starts[position] : starts[position] + block.lengths[position]].astype(np.uint64)
            np.bitwise_or.at(bits[bitmap], docs >> np.uint64(6), np.uint64(1) << (docs & np.uint64(63)))
            bitmap += 1


def _section_bytes(name: str, sections: Mapping[str, Array], postings: Postings, problem: int) -> int:
    if problem:
        return 0
    if name == "classes":
        return postings.count * postings.class_bytes
    return (postings.count if name == "docs" else len(sections[name])) * _TYPES[name].itemsize


def _places(sizes: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    places, at = {}, HEADER_BYTES
    for name, size in sizes.items():
        at += -at % ALIGN
        places[name] = (at, size)
        at += size
    return places


def _write_sections(
    out: Path, places: Mapping[str, tuple[int, int]], sections: Mapping[str, Array], postings: Postings
) -> None:
    with out.open("r+b") as stream:
        for name, values in sections.items():
            stream.seek(places[name][0])
            stream.write(values.astype(_TYPES[name], copy=False).tobytes())
    if not postings.count:
        return
    docs = np.memmap(out, "<u2", "r+", places["docs"][0], (postings.count,))
    classes = np.memmap(out, f"<u{postings.class_bytes}", "r+", places["classes"][0], (postings.count,))
    for place, block in _destinations(sections["start"], postings):
        docs[place] = block.docs
        classes[place] = block.classes


def _destinations(start: Array, postings: Postings) -> Iterator[tuple[Array, Any]]:
    """Where the postings of each block go, so that all postings of a term lie together."""
    filled = start[:-1].astype(np.int64)
    for block in postings.blocks:
        shift = filled[block.terms] - _starts(block.lengths)
        yield np.repeat(shift, block.lengths) + np.arange(len(block.docs)), block
        filled[block.terms] += block.lengths
