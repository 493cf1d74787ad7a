"""The array file: values worked out by hand, look-ups, refusals."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.stages.search_arrays import build_search_arrays
from pipelines.stages.search_index import build_search_index
from shopsim_env.errors import SearchIndexError
from shopsim_env.search.arrays import HEADER_BYTES, ArrayFile, is_compound, slot_count, vocabulary_key

RECORDS = [
    {"asin": "20", "title": "水壶 usb-c", "attribute": ["水壶"]},
    {"asin": "10", "title": "usb c 水壶", "shop_name": "水"},
    {"asin": "30", "title": ""},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build_search_index(RECORDS, tmp_path / "c.sqlite")
    build_search_arrays(tmp_path / "c.sqlite", tmp_path / "arrays.bin")
    return tmp_path / "arrays.bin"


@pytest.fixture
def arrays(path: Path) -> Iterator[ArrayFile]:
    opened = ArrayFile(path)
    yield opened
    opened.close()


def postings(arrays: ArrayFile, token: str) -> list[tuple[str, float]]:
    """Asin and sum of column weights of each product that holds the token."""
    views = {name: arrays.section(name) for name in ("start", "docs", "classes", "weights")}
    try:
        term = arrays.term(token)
        places = range(views["start"][term], views["start"][term + 1])
        return [(arrays.asin(views["docs"][i]), views["weights"][views["classes"][i]]) for i in places]
    finally:
        for view in views.values():
            view.release()


def test_counts(arrays: ArrayFile) -> None:
    # Lengths as FTS5 counts them: 10 has 水壶 usb c + 水, 20 has 水壶 usb c + 水壶, 30 has none.
    assert arrays.counts == {
        "products": 3,
        "blocks": 1,
        "terms": 5,  # 水壶, usb, c, usb-c, 水
        "classes": 3,  # 2 (brand), 3 (title), 3 + 1.5 (title and attributes)
        "lengths": 2,
        "tokens": 8,
        "words": 1,
        "class_bytes": 1,
        "unsupported": 0,
    }
    assert arrays.unsupported == ""


def test_postings_are_in_asin_order_with_summed_weights(arrays: ArrayFile) -> None:
    assert postings(arrays, "水壶") == [("10", 3.0), ("20", 4.5)]
    assert postings(arrays, "水") == [("10", 2.0)]
    assert postings(arrays, "usb") == [("10", 3.0), ("20", 3.0)]


def test_a_compound_word_is_where_its_pieces_are_neighbours(arrays: ArrayFile) -> None:
    assert postings(arrays, "usb-c") == [("10", 3.0), ("20", 3.0)]
    assert arrays.term("usb.c") == arrays.term("usb-c") == arrays.term("usb_c")
    assert arrays.term("c-usb") == -1


def test_gain_is_the_term_frequency_part_of_bm25(arrays: ArrayFile) -> None:
    gain, lengths = arrays.section("gain"), arrays.section("lengths")
    try:
        assert list(lengths) == [0, 4]
        average = 8 / 3
        for number, weight in enumerate((2.0, 3.0, 4.5)):
            norm = 1.2 * (1 - 0.75 + 0.75 * 4 / average)
            assert gain[2 * number + 1] == weight * (1.2 + 1.0) / (weight + norm)
    finally:
        gain.release()
        lengths.release()


def test_largest_gain_is_a_bound(arrays: ArrayFile) -> None:
    bounds, gain = arrays.section("block_max"), arrays.section("gain")
    try:
        best = gain[2 * 2 + 1]  # 水壶 in product 20: class 4.5, length 4
        bound = bounds[arrays.term("水壶")]
        assert best <= bound <= best * (1 + 2**-22)
        assert math.isfinite(bound)
    finally:
        bounds.release()
        gain.release()


def test_unknown_tokens(arrays: ArrayFile) -> None:
    assert [arrays.term(token) for token in ("", "壶水", "usb-c-c", "usbc")] == [-1] * 4


def test_compound_words() -> None:
    assert [is_compound(word) for word in ("usb-c", "3.0", "a_b", "x/y", "c+c")] == [True] * 5
    assert [is_compound(word) for word in ("usb", "水壶", "30")] == [False] * 3
    assert vocabulary_key("a.b_c+d/e-f") == "a-b-c-d-e-f"


@pytest.mark.parametrize("terms", [0, 1, 2, 3, 4, 7, 8, 9, 1_000])
def test_hash_table_is_a_power_of_two_and_never_full(terms: int) -> None:
    size = slot_count(terms)
    assert size & (size - 1) == 0
    assert size >= max(2 * terms, 1)
    assert size > terms


def test_equal_documents_give_equal_bytes(path: Path, tmp_path: Path) -> None:
    build_search_index(RECORDS[::-1], tmp_path / "again.sqlite")
    build_search_arrays(tmp_path / "again.sqlite", tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == path.read_bytes()


def test_digest_covers_values_and_not_padding(path: Path) -> None:
    opened = ArrayFile(path)
    digest, used = opened.digest(), {HEADER_BYTES - 1}
    for offset, size in opened._places.values():
        used.update(range(offset, offset + size))
    opened.close()
    data = bytearray(path.read_bytes())
    padding = next(at for at in range(HEADER_BYTES, len(data)) if at not in used)
    data[padding] ^= 1
    path.write_bytes(data)
    opened = ArrayFile(path)
    assert opened.digest() == digest
    opened.close()
    data[-1] ^= 1  # last byte of the last asin
    path.write_bytes(data)
    opened = ArrayFile(path)
    assert opened.digest() != digest
    opened.close()


@pytest.mark.parametrize("data", [b"", b"SHOPARR1", b"x" * 2_000])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(SearchIndexError, match=r"a\.bin"):
        ArrayFile(tmp_path / "a.bin")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SearchIndexError, match="expected a search array file"):
        ArrayFile(tmp_path / "none.bin")


def test_a_section_outside_the_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SearchIndexError, match="asin_text"):
        ArrayFile(path)
