"""The FTS5 engine on real index files: order, ties, phrases, empty queries, refused indexes."""

import json
import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.stages.search_index import build_search_index
from shopsim_env.errors import ReleaseError, SearchIndexError
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult, match_text
from shopsim_env.search.schema import MANIFEST_DDL, index_manifest


def build(path: Path, *records: dict[str, Any]) -> Fts5Engine:
    build_search_index(records, path)
    return Fts5Engine.open(path)


def titles(path: Path, **by_asin: str) -> Fts5Engine:
    return build(path, *({"asin": asin.lstrip("a"), "title": title} for asin, title in by_asin.items()))


def asins(result: SearchResult) -> list[str]:
    return [hit.asin for hit in result.hits]


def test_hyphenated_token_is_a_phrase_and_the_exact_one_ranks_first(tmp_path: Path) -> None:
    engine = titles(tmp_path / "i.sqlite", a2="ABC-12X 水壶", a1="ABC 12X 水壶", a3="12X ABC 水壶")
    result = engine.search("abc-12x")
    assert asins(result) == ["2", "1"]  # in "2" the model field holds the token too
    assert [hit.rank for hit in result.hits] == [1, 2]
    engine.close()


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("usb3.0 线", "3.0"),  # indexed as usb3, 0: the phrase 3 0 does not occur
        ("保温杯", "杯"),  # a one-character query meets only a character that stands alone
        ("保温杯", "水壶"),
    ],
)
def test_token_that_hits_nothing_is_ok_without_hits(tmp_path: Path, title: str, query: str) -> None:
    engine = titles(tmp_path / "i.sqlite", a1=title)
    assert engine.search(query) == SearchResult("ok")
    engine.close()


@pytest.mark.parametrize("query", ["", "  ", "！！！", "カメラ", "\ud800", '"*()'])
def test_text_without_token_is_an_empty_query(tmp_path: Path, query: str) -> None:
    engine = titles(tmp_path / "i.sqlite", a1="保温杯")
    assert engine.search(query) == SearchResult("empty_query")
    assert engine.search(query, 0).status == "empty_query"
    engine.close()


@pytest.mark.parametrize("top_k", [0, -1])
def test_non_positive_top_k_gives_no_hits(tmp_path: Path, top_k: int) -> None:
    engine = titles(tmp_path / "i.sqlite", a1="保温杯")
    assert engine.search("保温杯", top_k) == SearchResult("ok")
    engine.close()


def test_huge_top_k_gives_all_hits(tmp_path: Path) -> None:
    engine = titles(tmp_path / "i.sqlite", a1="保温杯", a2="保温桶")
    assert asins(engine.search("保温", 1 << 80)) == ["1", "2"]
    engine.close()


def test_ties_are_broken_by_asin_in_code_point_order(tmp_path: Path) -> None:
    records = [{"asin": asin, "title": "保温杯"} for asin in ("9", "10", "A", "a", "100", "２")]
    engine = build(tmp_path / "i.sqlite", *records)
    result = engine.search("保温杯")
    assert asins(result) == ["10", "100", "9", "A", "a", "２"]
    assert len({hit.score for hit in result.hits}) == 1
    assert asins(engine.search("保温杯", 2)) == ["10", "100"]
    engine.close()


def test_default_depth_is_150(tmp_path: Path) -> None:
    engine = build(tmp_path / "i.sqlite", *({"asin": f"{i:04}", "title": "保温杯"} for i in range(160)))
    result = engine.search("保温杯")
    assert asins(result) == [f"{i:04}" for i in range(150)]
    engine.close()


def test_repeated_words_change_nothing(tmp_path: Path) -> None:
    engine = titles(tmp_path / "i.sqlite", a1="保温杯", a2="保温杯 保温杯 大号", a3="水壶")
    assert engine.search("保温杯 保温杯 保温杯") == engine.search("保温杯")
    engine.close()


def test_scores_are_bm25_with_the_frozen_weights(tmp_path: Path) -> None:
    """By hand: idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length / mean length)), f the field's weight."""
    engine = build(
        tmp_path / "i.sqlite",
        {"asin": "1", "title": "水壶", "shop_name": "大店"},
        {"asin": "2", "title": "大店", "category": "水壶"},
        {"asin": "3", "title": "毛巾"},
        {"asin": "4", "title": "毛巾"},
        {"asin": "5", "title": "毛巾 浴巾"},
    )
    idf = math.log((5 - 2 + 0.5) / (2 + 0.5))
    # 2 tokens in the row; 8 tokens in 5 rows, and the unindexed asin column counts as none
    length = 1.2 * (0.25 + 0.75 * 2 / (8 / 5))
    expected = {"1": idf * 3.0 * 2.2 / (3.0 + length), "2": idf * 2.0 * 2.2 / (2.0 + length)}
    result = engine.search("水壶")
    assert {hit.asin: hit.score for hit in result.hits} == pytest.approx(expected, rel=1e-12)
    assert asins(result) == ["1", "2"]
    engine.close()


def test_private_crawl_data_is_not_searchable(tmp_path: Path) -> None:
    options = {
        "颜色": [{"value": "红", "price": 98765, "image": "https://pic.invalid/zebra.png", "asin": "5566"}]
    }
    engine = build(tmp_path / "i.sqlite", {"asin": "777", "title": "杯垫", "customization_options": options})
    for query in ("98765", "zebra", "5566", "777", "pictures"):
        assert engine.search(query) == SearchResult("ok"), query
    engine.close()


@pytest.mark.parametrize(
    "query", ["<r> 保温杯", "<a> 保温杯", "<c> 保温杯", "NOT 保温杯", "title: 保温杯", 'x" OR 保温杯']
)
def test_there_are_no_reserved_words(tmp_path: Path, query: str) -> None:
    engine = titles(tmp_path / "i.sqlite", a1="保温杯", a2="水壶")
    assert asins(engine.search(query)) == ["1"]
    engine.close()


def test_match_text_quotes_every_token() -> None:
    assert match_text(["保温", "abc-12x"]) == '"保温" OR "abc-12x"'
    assert match_text(['a"b']) == '"a""b"'


def test_threads_share_an_engine(tmp_path: Path) -> None:
    engine = build(
        tmp_path / "i.sqlite", *({"asin": f"{i:04}", "title": f"保温杯 款{i % 7}号"} for i in range(300))
    )
    queries = [f"保温杯 {i % 7}号" for i in range(200)]
    alone = [engine.search(query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(engine.search, queries)) == alone
    engine.close()


def test_engine_refuses_an_index_of_other_products(tmp_path: Path) -> None:
    build_search_index([{"asin": "1", "title": "杯"}], tmp_path / "i.sqlite")
    with pytest.raises(SearchIndexError, match="product_data_sha256"):
        Fts5Engine.open(tmp_path / "i.sqlite", expected_product_sha="00" * 32)


def write_index(path: Path, payloads: list[Any], columns: str = "asin UNINDEXED, title") -> None:
    connection = sqlite3.connect(path)
    connection.execute(MANIFEST_DDL)
    connection.execute(f"CREATE VIRTUAL TABLE products USING fts5({columns})")
    connection.executemany("INSERT INTO manifest VALUES (?)", [(payload,) for payload in payloads])
    connection.commit()
    connection.close()


GOOD = json.dumps(index_manifest(0, "ab" * 32))


@pytest.mark.parametrize(
    ("payloads", "message"),
    [
        ([], "one manifest row in the search index, found 0"),
        ([GOOD, GOOD], "one manifest row in the search index, found 2"),
        (["{"], "manifest in JSON"),
        ([b"\xff"], "manifest in JSON"),
        ([GOOD], r"table products: expected the columns .*'bullets'\), found \('asin', 'title'\)"),
        (
            [GOOD.replace("bm25-v3", "bm25-v2")],
            "search_version: expected 'shopsimulator-.*-v3', found 'shopsimulator-.*-v2'",
        ),
    ],
)
def test_damaged_index_is_refused(tmp_path: Path, payloads: list[Any], message: str) -> None:
    write_index(tmp_path / "i.sqlite", payloads)
    with pytest.raises(SearchIndexError, match=message):
        Fts5Engine.open(tmp_path / "i.sqlite")


def test_file_without_index_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "i.sqlite").close()
    (tmp_path / "i.sqlite").touch()
    with pytest.raises(SearchIndexError, match=r"found none .*no such table: manifest"):
        Fts5Engine.open(tmp_path / "i.sqlite")
    with pytest.raises(ReleaseError, match="found no file"):
        Fts5Engine.open(tmp_path / "other.sqlite")
