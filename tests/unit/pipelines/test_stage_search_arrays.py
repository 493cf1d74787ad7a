"""Stages `search_arrays`, `search_postings`, `search_equality`: blocks, bitmaps, guards, reported faults."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from pipelines.stages import search_arrays, search_equality, search_postings
from pipelines.stages.processes import Workers
from pipelines.stages.search_arrays import build_search_arrays, write_arrays
from pipelines.stages.search_equality import compare_engines, seeded_queries
from pipelines.stages.search_index import build_search_index
from pipelines.stages.search_postings import (
    BlockBuilder,
    Postings,
    compound_words,
    join_blocks,
    phrases_of,
)
from shopsim_env.errors import UsageError
from shopsim_env.search import arrays as format_
from shopsim_env.search.arrays import ArrayFile
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine

FIELDS = 7


def record(number: int) -> dict[str, object]:
    words = ["保温杯", "水壶", "usb-c", "usb c", "红", "3.0", "大号"]
    return {
        "asin": f"{number:05d}",
        "title": " ".join(words[(number * step) % 7] for step in (1, 2, 3)) + f" x{number % 50}",
        "attribute": [words[number % 5], words[number % 3]],
        "customization_options": {"颜色": [f"蓝{number % 11}"]},
    }


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arrays") / "c.sqlite"
    build_search_index([record(number) for number in range(1_000)], path)
    return path


def fields(title: str = "", bullets: str = "") -> list[str]:
    return [title, "", "", "", "", "", bullets]


def test_compound_words_of_documents() -> None:
    documents = [fields("水壶 usb-c c"), fields("3.0", "3_0 x/y+z")]
    assert compound_words(documents) == {"usb-c", "3-0", "x-y-z"}


def test_a_posting_sums_column_weights_in_column_order() -> None:
    builder = BlockBuilder(phrases_of({"a-a"}))
    builder.add("1", fields("a-a a", "a"))
    postings = join_blocks([builder.finish()])
    # `a` four times: 3 + 3 + 3 (title), 0.8 (bullets); `a-a` at two places of the title.
    assert dict(zip(postings.terms, range(2), strict=True)) == {"a": 0, "a-a": 1}
    assert list(postings.weights) == [6.0, 3.0 + 3.0 + 3.0 + 0.8]
    assert list(postings.blocks[0].classes) == [1, 0]
    assert list(postings.doc_tokens) == [4]


def test_a_block_of_several_chunks_gives_the_same_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compound words, numbers of one digit, empty fields and empty documents, across chunk borders."""
    documents = [
        fields("保温 杯 usb-c 7", "usb c"),
        fields(),
        fields("温水 usb-c", "3.0 0"),
        fields("x-y-z x", "x y z"),
        fields("", "杯"),
    ]
    phrases = phrases_of(compound_words(documents))

    def built(chunk: int) -> list[object]:
        monkeypatch.setattr(search_postings, "_CHUNK", chunk)
        builder = BlockBuilder(phrases)
        for number, texts in enumerate(documents):
            builder.add(str(number), texts)
        block = builder.finish()
        names = ("asins", "doc_tokens", "terms", "lengths", "docs", "weights", "classes")
        return [list(getattr(block, name)) for name in names]

    whole = built(4_096)
    assert built(1) == built(2) == built(5) == whole
    # In order of first occurrence; a compound word stands behind the words of its field.
    terms = ["保温", "杯", "usb", "c", "7", "usb-c", "温水", "3", "0", "3-0", "x", "y", "z", "x-y-z"]
    assert whole[2] == terms
    assert whole[1] == [7, 0, 6, 7, 1]
    rows = {"杯": [0, 4], "usb": [0, 2], "c": [0, 2], "usb-c": [0, 2]}
    assert whole[3] == [len(rows.get(term, [0])) for term in terms]
    assert whole[4] == [row for term in terms for row in rows.get(term, [_only_row(term)])]


def _only_row(term: str) -> int:
    return {"保温": 0, "7": 0, "温水": 2, "3": 2, "0": 2, "3-0": 2}.get(term, 3)


def test_a_block_without_any_token() -> None:
    builder = BlockBuilder({})
    for asin in ("1", "2"):
        builder.add(asin, fields())
    postings = join_blocks([builder.finish()])
    assert (postings.asins, postings.terms, postings.count) == (["1", "2"], [], 0)
    assert list(postings.doc_tokens) == [0, 0]


def test_small_blocks_give_the_same_postings(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are only a layout: with blocks of 64 rows the same lists come out."""

    with search_arrays.closing(search_arrays.open_readonly(catalog)) as connection:
        rows = connection.execute(search_arrays._DOCUMENTS, (1, 1_000)).fetchall()
    phrases = phrases_of(compound_words(row[1:] for row in rows))

    def lists(block: int) -> dict[str, list[tuple[int, float]]]:
        monkeypatch.setattr(search_arrays, "BLOCK", block)
        built = []
        for first in range(0, 1_000, block):
            builder = BlockBuilder(phrases)
            for asin, *texts in rows[first : first + block]:
                builder.add(asin, texts)
            built.append(builder.finish())
        postings = join_blocks(built)
        assert len(postings.blocks) == -(-1_000 // block)
        found: dict[str, list[tuple[int, float]]] = {term: [] for term in postings.terms}
        for number, part in enumerate(postings.blocks):
            at = 0
            for term, length in zip(part.terms, part.lengths, strict=True):
                for place in range(at, at + length):
                    row = number * block + int(part.docs[place])
                    weight = float(postings.weights[part.classes[place]])
                    found[postings.terms[term]].append((row, weight))
                at += length
        return found

    assert lists(64) == lists(65_536)


def test_several_blocks_rank_as_fts5(tmp_path: Path) -> None:
    """66,000 short products: the second block begins at row 65,536."""
    path, out = tmp_path / "c.sqlite", tmp_path / "a.bin"
    words = ["杯", "壶", "a-b", "a", "b", "c3"]
    rows = (
        {"asin": f"{n:06d}", "title": f"{words[n % 6]} {words[n * 7 % 5]}", "attribute": [words[n % 4]]}
        for n in range(66_000)
    )
    build_search_index(rows, path)
    report = build_search_arrays(path, out)
    assert report.products == 66_000
    assert build_search_arrays(path, tmp_path / "b.bin", workers=Workers(2)) == report
    assert (tmp_path / "b.bin").read_bytes() == out.read_bytes()
    service = SearchService(Fts5Engine.open(path), out, cache_hits=0)
    try:
        # A few products of both blocks, a few of one block alone, and most products.
        few = format_where([n for n in range(1, 66_001) if n % 97 == 0 or n > 65_990])
        one_block = format_where(range(65_700, 66_001, 7))
        most = format_where([n for n in range(1, 66_001) if n % 9])
        for query in ("杯 壶", "a-b", "c3 a 杯 b", "壶 b-a"):
            for selected in (None, few, one_block, most):
                expected = service.search(query, 150, engine="fts5", where=selected)
                for engine in ("fast", "numpy"):
                    assert service.search(query, 150, engine=engine, where=selected) == expected
    finally:
        service.close()


def format_where(ids: Iterable[int]):
    from shopsim_env.search.where import product_set

    return product_set(ids, 66_000, lambda _: None)


def test_bitmaps_repeat_the_lists(catalog: Path, tmp_path: Path) -> None:
    report = build_search_arrays(catalog, tmp_path / "a.bin")
    assert report.bitmaps > 0
    arrays = ArrayFile(tmp_path / "a.bin")
    names = ("start", "docs", "long", "long_at", "bits", "ranks")
    start, docs, long, long_at, bits, ranks = (np.array(arrays.section(name)) for name in names)
    words = arrays.counts["words"]
    arrays.close()
    assert words == 16  # 1,000 rows
    checked = 0
    for term in np.flatnonzero(long):
        bitmap = int(long_at[long[term] - 1]) - 1
        mine = bits[bitmap * words : (bitmap + 1) * words]
        rows = np.flatnonzero(np.unpackbits(mine.view("u1"), bitorder="little"))
        assert list(rows) == list(docs[start[term] : start[term + 1]])
        before = [int(np.sum(rows < 64 * word)) for word in range(words)]
        assert list(ranks[bitmap * words : (bitmap + 1) * words]) == before
        checked += 1
    assert checked == report.bitmaps


def test_progress_counts_both_passes(catalog: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    build_search_arrays(catalog, tmp_path / "a.bin", lambda done, total: seen.append((done, total)))
    assert seen == [(1_000, 2_000), (2_000, 2_000)]


def test_an_empty_catalogue(tmp_path: Path) -> None:
    build_search_index([], tmp_path / "c.sqlite")
    report = build_search_arrays(tmp_path / "c.sqlite", tmp_path / "a.bin")
    assert (report.products, report.terms, report.postings, report.unsupported) == (0, 0, 0, "")
    assert compare_engines(tmp_path / "c.sqlite", tmp_path / "a.bin").problems == ()


def test_a_catalogue_that_the_arrays_cannot_hold_says_so_and_is_searched_by_fts5(
    catalog: Path, tmp_path: Path
) -> None:
    many = Postings(["1"], ["a"], np.arange(70_000.0), np.array([1]), [])
    report = write_arrays(many, tmp_path / "a.bin")
    assert report.unsupported == "more than 16,777,216 pairs of frequency class and document length"
    service = SearchService(Fts5Engine.open(catalog), tmp_path / "a.bin")
    try:
        assert service.unsupported == report.unsupported
        assert service.search("水壶").engine == "fts5"
        with pytest.raises(UsageError, match="frequency class") as caught:
            service.search("水壶", engine="fast")
        assert caught.value.code == "engine_unavailable"
    finally:
        service.close()
    assert format_.UNSUPPORTED[2] == "more than 4 GiB of text"


def test_engines_equal_fts5_on_seeded_queries(catalog: Path, tmp_path: Path) -> None:
    build_search_arrays(catalog, tmp_path / "a.bin")
    compared = compare_engines(catalog, tmp_path / "a.bin", per_kind=30)
    assert compared.problems == ()
    assert "numpy" in compared.engines
    assert {kind: count for kind, count in compared.queries.items() if kind != "hostile"} == dict.fromkeys(
        ("simple", "full", "single", "neighbours", "unknown"), 30
    )
    assert compared.queries["hostile"] >= 10


def test_the_seed_decides_the_queries(catalog: Path) -> None:
    assert seeded_queries(catalog, 1, 5) == seeded_queries(catalog, 1, 5)
    assert seeded_queries(catalog, 1, 5) != seeded_queries(catalog, 2, 5)


def test_fewer_queries_where_fts5_is_slow() -> None:
    assert [search_equality._per_kind(size) for size in (22_726, 200_000, 2_000_000)] == [60, 12, 3]


def test_a_difference_is_reported_with_query_and_hit(catalog: Path, tmp_path: Path) -> None:
    """Arrays of a catalogue of the same size with other words."""
    others = [{**record(number), "title": "水壶 水杯 玻璃"} for number in range(1_000)]
    build_search_index(others, tmp_path / "other.sqlite")
    build_search_arrays(tmp_path / "other.sqlite", tmp_path / "a.bin")
    compared = compare_engines(catalog, tmp_path / "a.bin", per_kind=3)
    assert compared.problems
    assert all("expected" in problem and "found" in problem for problem in compared.problems)


def test_the_catalogue_is_only_read(catalog: Path, tmp_path: Path) -> None:
    copy = tmp_path / "c.sqlite"
    shutil.copyfile(catalog, copy)
    copy.chmod(0o444)
    before = copy.read_bytes()
    build_search_arrays(copy, tmp_path / "a.bin")
    assert copy.read_bytes() == before
