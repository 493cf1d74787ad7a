"""`catalog.sqlite` as the stage writes it: rows, order, bytes, digest, refusals."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import ArtifactError, DatasetError
from pipelines.stages import search_index
from pipelines.stages.processes import Workers
from pipelines.stages.search_index import add_title_nouns, build_search_index
from shopsim_env.canonical import compact_json, sha256_file, sha256_lines
from shopsim_env.catalog.schema import public_record
from shopsim_env.search.schema import index_manifest


def records(count: int = 40) -> list[dict[str, Any]]:
    return [
        {
            "asin": str(900 + 37 * i % 1000),
            "title": f"保温杯第{i}款 AB{i}C",
            "shop_name": "杯子店",
            "category": "家居›杯壶",
            "attribute": ["大容量"],
            "customization_options": {"颜色": [{"value": f"蓝{i}", "price": i}]},
            "sub_title": "送杯刷",
            "instructions": [{"instruction": f"canary-instruction-{i}"}],
            "user_persona": {"用户ID": f"canary-persona-{i}"},
            "tag": "canary-tag",
        }
        for i in range(count)
    ]


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_report_and_manifest(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    report = build_search_index(records(3), path)
    bodies = [compact_json(public_record(row)) for row in sorted(records(3), key=lambda row: row["asin"])]
    assert report.product_count == 3
    assert report.product_data_sha256 == sha256_lines(bodies)
    # each product: 保温 温杯 杯第 款 ab?c; 杯子 子店; 家居 杯壶; ab?c; 大容 容量; 颜色 蓝 ?; 送杯 杯刷
    assert report.tokens == {
        "title": 3 * 6,  # the digit between 第 and 款 is a token of its own
        "brand": 6,
        "category": 6,
        "model": 3,
        "attributes": 6,
        "options": 9,
        "bullets": 6,
    }
    assert [json.loads(payload) for (payload,) in rows(path, "SELECT payload FROM manifest")] == [
        index_manifest(3, report.product_data_sha256)
    ]


def test_row_numbers_are_ranks_in_asin_order(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([{"asin": asin, "title": "杯"} for asin in ("9", "10", "a", "A", "２")], path)
    expected = [(1, "10"), (2, "9"), (3, "A"), (4, "a"), (5, "２")]
    assert rows(path, "SELECT id, asin FROM product ORDER BY id") == expected
    assert rows(path, "SELECT rowid, asin FROM products ORDER BY rowid") == expected


def test_file_depends_on_the_rows_alone(tmp_path: Path) -> None:
    forward, backward = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    build_search_index(records(200), forward)
    build_search_index(iter(records(200)[::-1]), backward)
    assert sha256_file(forward) == sha256_file(backward)
    nouns = {row["asin"]: ("杯子", row["asin"]) for row in records(200)}
    add_title_nouns(forward, nouns)
    add_title_nouns(backward, dict(reversed(nouns.items())))
    assert sha256_file(forward) == sha256_file(backward)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.sqlite", "b.sqlite"]


def test_no_private_text_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index(records(), path)
    assert b"canary" not in path.read_bytes()


def test_documents_hold_each_token_once(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([{"asin": "1", "title": "水壶水壶 A4 A4", "shop_name": "水壶"}], path)
    assert rows(path, "SELECT title, brand, category, model FROM products") == [
        ("水壶 壶水 a4", "水壶", "", "a4")
    ]


@pytest.mark.parametrize(
    "bad", [{"title": "杯"}, {"asin": "", "title": "杯"}, {"asin": " "}, {"asin": 12}, {"asin": None}]
)
def test_record_without_asin_is_refused(tmp_path: Path, bad: dict[str, Any]) -> None:
    path = tmp_path / "c.sqlite"
    with pytest.raises(DatasetError, match="record 1, field 'asin': expected a text") as caught:
        build_search_index([{"asin": "1", "title": "杯"}, bad], path)
    assert (caught.value.record, caught.value.field) == (1, "asin")
    assert not path.exists()


def test_repeated_asin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with pytest.raises(DatasetError, match=r"record 2, field 'asin': .* found '7' again"):
        build_search_index([{"asin": "7"}, {"asin": "8"}, {"asin": "7"}], path)
    assert not path.exists()


def test_failing_source_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"asin": "1", "title": "杯"}
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        build_search_index(broken(), tmp_path / "c.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_existing_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_text("mine")
    with pytest.raises(ArtifactError, match="found one"):
        build_search_index([], path)
    assert path.read_text() == "mine"


def test_title_nouns_are_stored_by_rank(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([{"asin": "2", "title": "桶"}, {"asin": "1", "title": "杯"}], path)
    assert add_title_nouns(path, {"2": ("桶", "led"), "1": ()}) == 2
    assert rows(path, "SELECT id, nouns FROM title_noun ORDER BY id") == [(1, "[]"), (2, '["桶","led"]')]


@pytest.mark.parametrize(
    ("nouns", "message"),
    [
        ({"1": ("杯",)}, r"1 without nouns \['2'\] and 0 unknown \[\]"),
        ({"1": (), "2": (), "3": ()}, r"0 without nouns \[\] and 1 unknown \['3'\]"),
    ],
)
def test_nouns_must_fit_the_products(tmp_path: Path, nouns: dict[str, tuple[str, ...]], message: str) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([{"asin": "2", "title": "桶"}, {"asin": "1", "title": "杯"}], path)
    before = path.read_bytes()
    with pytest.raises(ArtifactError, match=message) as caught:
        add_title_nouns(path, nouns)
    assert caught.value.code == "title_nouns_mismatch"
    assert path.read_bytes() == before


def test_workers_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_ALONE", 5)
    alone, many = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    assert build_search_index(records(27), alone) == build_search_index(
        iter(records(27)), many, workers=Workers(2)
    )
    assert alone.read_bytes() == many.read_bytes()


def test_progress_of_reading_and_of_indexing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_STEP", 16)
    seen: list[tuple[int, int]] = []
    build_search_index(records(40), tmp_path / "c.sqlite", on_progress=lambda *step: seen.append(step))
    assert seen == [(16, 0), (32, 0), (16, 40), (32, 40), (40, 40)]


def test_filling_leaves_no_setting_in_the_table(tmp_path: Path) -> None:
    build_search_index(records(3), tmp_path / "c.sqlite")
    assert rows(tmp_path / "c.sqlite", "SELECT k FROM products_config") == [("version",)]


def test_the_first_repeated_asin_is_named(tmp_path: Path) -> None:
    rows = [{"asin": asin, "title": "杯"} for asin in ("b", "a", "c", "a", "b")]
    with pytest.raises(DatasetError, match="found 'a' again") as caught:
        build_search_index(rows, tmp_path / "c.sqlite")
    assert "record 3" in str(caught.value)
    assert not (tmp_path / "c.sqlite").exists()
