"""The generated English catalogue: the committed file, shares, determinism, and that its truth is found."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from places import ROOT

from pipelines.settings import load_dataset
from pipelines.stages.ingest import iter_records
from pipelines.stages.products.quality import catalogue_quality
from pipelines.stages.products.read import read_mapping, read_products
from pipelines.stages.sample.english import generate_english
from pipelines.stages.sample.english_writer import ENGLISH_PRODUCTS, english_files, write_english
from shopsim_env.canonical import sha256_file
from shopsim_env.catalog.price_axes import price_axes
from shopsim_env.errors import UsageError

COMMITTED = ROOT / "data" / "samples" / "catalog_en.jsonl.gz"
SEED = 20261130


def test_the_committed_file_is_what_the_generator_writes(tmp_path: Path) -> None:
    files = write_english(tmp_path / COMMITTED.name, ENGLISH_PRODUCTS, SEED)
    committed = english_files(COMMITTED)
    assert gzip.decompress(files.archive.read_bytes()) == gzip.decompress(COMMITTED.read_bytes())
    assert files.truth.read_bytes() == committed.truth.read_bytes()
    assert load_dataset(ROOT / "configs", "catalog_en").archive_sha256 == sha256_file(COMMITTED)
    assert COMMITTED.stat().st_size < 200_000
    assert sorted(path.name for path in tmp_path.iterdir()) == [COMMITTED.name, committed.truth.name]


@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.parquet"])
def test_the_ingest_finds_the_planted_truth_in_both_shapes(tmp_path: Path, name: str) -> None:
    files = write_english(tmp_path / name, 450, SEED)
    truth = json.loads(files.truth.read_text(encoding="utf-8"))
    out = tmp_path / "raw_products.parquet"
    read_products(files.archive, out, currency="USD")
    rows = list(iter_records(out))
    report = catalogue_quality(rows, read_mapping(out), "USD")
    assert {reason: len(entry["rows"]) for reason, entry in report["set_aside"].items()} == truth["set_aside"]
    assert {note: entry["products"] for note, entry in report["left_out"].items()} == truth["left_out"]
    assert {issue: entry["products"] for issue, entry in report["gaps"].items()} == truth["gaps"]
    assert (report["rows"], report["products"]) == (truth["rows"], truth["products"])
    assert Counter(row.category for row in rows) == truth["categories"]
    assert all(len(price_axes(row.record)) <= 1 for row in rows), "one axis at most carries prices"


def test_the_catalogue_is_as_large_and_as_broad_as_promised() -> None:
    rows = [row.columns for row in generate_english(ENGLISH_PRODUCTS, SEED) if row.is_product]
    categories = Counter(tuple(row["category"]) for row in rows)
    assert len(rows) >= 1000
    assert len(categories) >= 12
    assert min(categories.values()) >= 60
    assert len({row["id"] for row in rows}) == len(rows)
    axes = Counter(axis for row in rows for axis in (row["variants"] or [{"options": {}}])[0]["options"])
    assert {"Color", "Size", "Connector"} <= set(axes)
    assert sum("Material" in row["attributes"] for row in rows) > 900


def test_rows_depend_on_number_and_seed_alone() -> None:
    few, many = list(generate_english(5, 7)), list(generate_english(300, 7))
    assert many[:5] == few
    assert list(generate_english(5, 8)) != few


def test_wrong_names_and_numbers_are_refused(tmp_path: Path) -> None:
    for name in ("c.json", ".parquet", "c.jsonl"):
        with pytest.raises(UsageError):
            write_english(tmp_path / name, 3, SEED)
    with pytest.raises(UsageError):
        list(generate_english(0, SEED))
