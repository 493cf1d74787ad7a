"""Product files of every container: rows, what is set aside, the reports, and damaged files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import DatasetError
from pipelines.stages.ingest import RawRow, iter_records, read_archive
from pipelines.stages.products.quality import catalogue_quality
from pipelines.stages.products.read import read_mapping, read_products
from pipelines.stages.products.tally import MappingReport
from shopsim_env.canonical import sha256_file, sha256_text

ROWS: list[Any] = [
    {
        "id": "A1",
        "title": "Cup",
        "price": 5,
        "category": ["Kitchen"],
        "rating": 4,
        "rating_count": 2,
        "color": "x",
    },
    {"id": "a1", "title": "Cup again"},
    {"title": "no id"},
    {"id": "A2", "title": " cup ", "price": "soon", "brand": "Tarnhill", "description": "Holds tea."},
    {"id": "not an id, but a text of many words", "title": ""},
    {"id": "A3", "title": "Pan", "price": 0, "variants": [{"options": {"Size": "S"}, "price": 3}]},
]
ASIDE = {"duplicate_id": ([1], ["a1"]), "missing_id": ([2], []), "missing_title": ([4], [])}


def write(path: Path, rows: list[Any] = ROWS) -> Path:
    """Rows in the container that the name's ending asks for."""
    if path.suffix == ".parquet":
        texts = [
            {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}
            for row in rows
        ]
        names = sorted({name for row in rows for name in row})
        table = pa.table({name: pa.array([row.get(name) for row in texts], pa.string()) for name in names})
        pq.write_table(table, path, row_group_size=2)
        return path
    if ".json" in path.suffixes:
        data = json.dumps(rows).encode()
    else:
        data = b"\n".join(json.dumps(row).encode() for row in rows) + b"\n\n"
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path: Path, **options: Any) -> tuple[list[RawRow], MappingReport]:
    out = path.with_name("raw_products.parquet")
    read_products(path, out, currency="USD", **options)
    mapping = read_mapping(out)
    assert mapping is not None
    return list(iter_records(out)), mapping


@pytest.mark.parametrize(
    "name", ["p.parquet", "p.jsonl", "p.ndjson", "p.jsonl.gz", "p.json", "p.json.gz", "my.own.jsonl.gz"]
)
def test_every_container_gives_the_same_products(tmp_path: Path, name: str) -> None:
    seen: list[tuple[int, int]] = []
    path = write(tmp_path / name)
    rows, mapping = read(path, on_progress=lambda *done: seen.append(done), expected_sha256=sha256_file(path))
    assert [(row.source_product_index, row.asin, row.title) for row in rows] == [
        (0, "A1", "Cup"),
        (3, "A2", "cup"),
        (5, "A3", "Pan"),
    ]
    assert rows[0].record["pricing"] == [5.0]
    assert all(row.instruction_count == 0 and not row.quarantine for row in rows)
    assert {name: (entry.rows, entry.examples) for name, entry in mapping.set_aside.items()} == ASIDE
    assert {name: (entry.products, entry.examples) for name, entry in mapping.noted.items()} == {
        "price_unreadable": (1, ["A2"])
    }
    assert (mapping.rows, mapping.currency, mapping.columns_not_read) == (6, "USD", ["color"])
    assert mapping.set_aside_count == 3
    assert all(done <= total for done, total in seen)


def test_the_quality_report(tmp_path: Path) -> None:
    rows, mapping = read(write(tmp_path / "p.jsonl"))
    report = catalogue_quality(rows, mapping, "USD")
    assert {issue: (entry["products"], entry["examples"]) for issue, entry in report["gaps"].items()} == {
        "price_missing": (1, ["A2"]),
        "title_repeated": (1, ["A2"]),
        "rating_missing": (2, ["A2", "A3"]),
        "rating_count_missing": (2, ["A2", "A3"]),
        "brand_missing": (2, ["A1", "A3"]),
        "category_missing": (2, ["A2", "A3"]),
        "description_missing": (2, ["A1", "A3"]),
        "options_missing": (2, ["A1", "A2"]),
    }
    assert {name: (entry["rows"], entry["examples"]) for name, entry in report["set_aside"].items()} == ASIDE
    assert report["left_out"]["price_unreadable"]["products"] == 1
    assert (report["rows"], report["products"], report["currency"]) == (6, 3, "USD")
    assert report["categories"] == {"paths": 1, "depth": {"0": 2, "1": 1}}
    assert "Cup" not in json.dumps(report), "ids and counts, no texts"


def test_a_price_of_zero_is_counted_and_kept(tmp_path: Path) -> None:
    rows, mapping = read(write(tmp_path / "p.jsonl", [{"id": "A1", "title": "Cup", "price": 0}]))
    assert rows[0].record["pricing"] == [0.0]
    assert catalogue_quality(rows, mapping, "USD")["gaps"]["price_zero"]["products"] == 1


def test_an_archive_has_a_quality_report_too(tmp_path: Path) -> None:
    path, out = tmp_path / "raw.json", tmp_path / "raw_products.parquet"
    path.write_text(json.dumps([{"asin": "2", "title": "T"}, {"asin": "1", "title": "T"}]))
    read_archive(path, out)
    report = catalogue_quality(iter_records(out), read_mapping(out), "CNY")
    assert (report["rows"], report["set_aside"], report["left_out"]) == (2, {}, {})
    assert report["gaps"]["price_missing"]["examples"] == ["1", "2"], "by id: their order would tell task ids"


def test_a_line_that_is_no_json_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"id": "A1", "title": "Cup"}\n{"id": "A2"\n\xff\n[1]\n')
    rows, mapping = read(path)
    assert [row.asin for row in rows] == ["A1"]
    assert {name: entry.rows for name, entry in mapping.set_aside.items()} == {
        "not_json": [1, 2],
        "not_an_object": [3],
    }


def test_a_parquet_row_that_is_no_text_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    titles = pa.array([b"Cup", b"\xff\xfe", b"Pan"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, titles.buffers())
    pq.write_table(pa.table({"id": ["A1", "A2", "A3"], "title": broken}), path)
    rows, mapping = read(path)
    assert [row.asin for row in rows] == ["A1", "A3"]
    assert mapping.set_aside["not_json"].rows == [1]


def test_hashes_are_of_the_file_and_of_what_is_inside(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl.gz")
    report = read_products(path, tmp_path / "out.parquet", currency="USD")
    assert report.archive_sha256 == sha256_file(path)
    assert report.data_sha256 == sha256_text(gzip.decompress(path.read_bytes()).decode())
    assert (report.product_count, report.task_count) == (3, 0)
    parquet = write(tmp_path / "p.parquet")
    report = read_products(parquet, tmp_path / "out.parquet", currency="USD")
    assert report.data_sha256 == report.archive_sha256 == sha256_file(parquet)


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("p.csv", b"id,title\n", "unknown_format"),
        ("p.parquet", b"no parquet", "not_parquet"),
        ("p.jsonl.gz", gzip.compress(b"[1, 2, 3]" * 999, mtime=0)[:20], "gzip_truncated"),
        ("p.jsonl.gz", b"{}", "gzip_corrupt"),
        ("p.json", b'[{"id": "A1", "title": "T"}, {"id": ', "json_truncated"),
        ("p.jsonl", b"{}\n", "no_product_mapped"),
        ("p.jsonl", b"", "no_product_mapped"),
        ("p.json", b"{}", "not_an_array"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, name: str, data: bytes, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DatasetError) as caught:
        read(path)
    assert caught.value.code == code


def test_a_damaged_column_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "p.parquet", [{"id": f"A{number}", "title": "T" * 50} for number in range(3000)])
    data = bytearray(path.read_bytes())
    data[40:400] = bytes(360)
    path.write_bytes(data)
    with pytest.raises(DatasetError) as caught:
        read(path)
    assert caught.value.code == "not_parquet"


def test_a_parquet_file_without_ids_names_the_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"sku": ["1"], "name": ["Cup"]}), tmp_path / "p.parquet")
    with pytest.raises(DatasetError, match=r"parent_asin or id, found \['name', 'sku'\]") as caught:
        read(tmp_path / "p.parquet")
    assert caught.value.code == "unknown_columns"


def test_missing_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        read(tmp_path / "p.parquet")
    assert caught.value.code == "archive_missing"
    with pytest.raises(DatasetError) as caught:
        read(write(tmp_path / "p.jsonl"), expected_sha256="0" * 64)
    assert caught.value.code == "archive_hash_mismatch"


@pytest.mark.published
def test_the_real_english_products_are_all_mapped(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "raw_products.parquet"
    report = read_products(shared_data / "real" / "catalog_en.jsonl.gz", out, currency="USD")
    mapping = read_mapping(out)
    assert mapping is not None
    # Counted by hand: 3,507 rows, all with a price and an id that holds a colon; 216 without a brand.
    assert (report.product_count, mapping.rows, mapping.set_aside) == (3507, 3507, {})
    assert mapping.noted["id_replaced"].products == 3507
    gaps = catalogue_quality(iter_records(out), mapping, "USD")["gaps"]
    assert "price_missing" not in gaps
    assert (gaps["brand_missing"]["products"], gaps["options_missing"]["products"]) == (216, 3291)
