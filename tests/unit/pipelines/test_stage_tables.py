"""Parquet helpers: round trip, equal bytes, refusals."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import ArtifactError
from pipelines.stages.published_json import PublishedJson, read_json
from pipelines.stages.tables import read_rows, write_rows

SCHEMA = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("text", pa.string(), nullable=False)])


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    rows = [(n, f"行{n}") for n in range(5000)]
    assert write_rows(tmp_path / "t.parquet", SCHEMA, iter(rows)) == 5000
    assert list(read_rows(tmp_path / "t.parquet", SCHEMA)) == rows


def test_no_rows_make_a_readable_file(tmp_path: Path) -> None:
    assert write_rows(tmp_path / "t.parquet", SCHEMA, []) == 0
    assert list(read_rows(tmp_path / "t.parquet", SCHEMA)) == []


def test_no_arrow_schema_is_embedded_and_bytes_repeat(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / name, SCHEMA, [(1, "x"), (2, "y")])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert pq.read_metadata(tmp_path / "a").metadata is None


def test_other_columns_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "t.parquet", SCHEMA, [(1, "x")])
    other = pa.schema([pa.field("n", pa.string())])
    with pytest.raises(ArtifactError, match="expected columns"):
        list(read_rows(tmp_path / "t.parquet", other))


def test_missing_and_foreign_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="found none"):
        list(read_rows(tmp_path / "none.parquet", SCHEMA))
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(ArtifactError, match="expected a parquet file"):
        list(read_rows(tmp_path / "text.parquet", SCHEMA))


def test_published_json_has_both_hashes(tmp_path: Path) -> None:
    document = PublishedJson.of({"b": [1], "a": "灯"})
    assert document.text == '{\n  "a": "灯",\n  "b": [\n    1\n  ]\n}\n'
    # sha256sum of the text with LF and with CRLF ends
    assert document.sha256 == "e4cfbb11b8f94e63692d6033d8b339c75726adb2d65b1c0a85e31c1d15b2116a"
    assert document.crlf_sha256 == "51c324e12abdb3094f9dbd084f521f598af57135b029502a1b045cae592ad4ba"
    document.write(tmp_path / "d.json")
    assert (tmp_path / "d.json").read_bytes() == document.text.encode()
    assert read_json(tmp_path / "d.json") == {"b": [1], "a": "灯"}
    assert [item.name for item in tmp_path.iterdir()] == ["d.json"]


def test_unreadable_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="found none"):
        read_json(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ArtifactError, match=r"bad\.json: expected JSON"):
        read_json(tmp_path / "bad.json")
