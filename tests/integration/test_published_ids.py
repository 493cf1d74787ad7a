"""The earlier public release, rebuilt from its id lists: exclusions, splits, manifest, byte for byte."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.stages.clean_manifest import published_form
from pipelines.stages.ingest import iter_records, read_archive
from pipelines.stages.price_axes import excluded_products, find_exclusions
from pipelines.stages.project_splits import task_ids_sha256
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.splits import SourceBounds, build_source_splits
from pipelines.stages.task_ids import TaskRow, assign_task_ids

pytestmark = pytest.mark.published

EXCLUSIONS_CRLF = "6ab0621015920a7c9ec2503d9264e892918ca4c43beb6c8b7f2bf7332499563f"
SOURCE_SPLITS_CRLF = "7dde253e9cdcb2b7d1e7802fb172437717955f018c7408905bdb8a475bfefe60"
MANIFEST_CRLF = "10c058ec68791883bfa2f806188a671dcda55098cf253c78e79ece2a6be00488"
PRODUCTS = 23421
BOUNDS = (
    SourceBounds("persona_eval", 0, 1343, True),
    SourceBounds("standard_eval", 0, 1459, False),
    SourceBounds("persona_train", 1459, 4782, True),
    SourceBounds("standard_train", 4782, PRODUCTS, False),
    SourceBounds("all_train", 1459, PRODUCTS, None),
)
PERSONA_INDICES = frozenset((*range(1343), *range(1459, 4782)))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    return shared_data / "published"


@pytest.fixture(scope="module")
def exclusions_text(published: Path) -> str:
    return (published / "catalog_exclusions.v2.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def source_splits_text(published: Path) -> str:
    return gzip.decompress((published / "task_splits.cleaned.v2.json.gz").read_bytes()).decode()


def test_the_serialiser_writes_the_published_exclusions(exclusions_text: str) -> None:
    document = PublishedJson.of(json.loads(exclusions_text))
    assert document.text == exclusions_text
    assert document.crlf_sha256 == EXCLUSIONS_CRLF


def test_source_splits_follow_from_exclusions_and_bounds(
    exclusions_text: str, source_splits_text: str
) -> None:
    tasks = [TaskRow(n, f"u{n}", n, 0, str(n), n in PERSONA_INDICES, "") for n in range(PRODUCTS)]
    splits = build_source_splits(tasks, excluded_products(json.loads(exclusions_text)), BOUNDS)
    counts = [len(splits["splits"][bound.name]["task_ids"]) for bound in BOUNDS]
    assert counts == [1274, 1381, 3252, 18093, 21345]
    document = PublishedJson.of(splits)
    assert document.text == source_splits_text
    assert document.crlf_sha256 == SOURCE_SPLITS_CRLF


def test_an_archive_with_the_published_axes_gives_both_files(
    tmp_path: Path, exclusions_text: str, source_splits_text: str
) -> None:
    archive = tmp_path / "raw.json.gz"
    with gzip.open(archive, "wt", encoding="utf-8", compresslevel=1) as stream:
        stream.write("[" + ",".join(json.dumps(item) for item in archive_records(exclusions_text)) + "]")
    report = read_archive(archive, tmp_path / "raw.parquet")
    assert (report.product_count, report.task_count, report.persona_task_count) == (PRODUCTS, PRODUCTS, 4666)
    tasks = assign_task_ids(iter_records(tmp_path / "raw.parquet"))
    exclusions = find_exclusions(iter_records(tmp_path / "raw.parquet"), tasks)
    assert PublishedJson.of(exclusions).text == exclusions_text
    splits = build_source_splits(tasks, excluded_products(exclusions), BOUNDS)
    assert PublishedJson.of(splits).text == source_splits_text
    tagged = build_source_splits(tasks, excluded_products(exclusions))
    assert tagged == splits  # the published bounds say the same as tag and persona


def archive_records(exclusions_text: str) -> Iterator[dict[str, Any]]:
    """A minimal archive of our own with the published ids, axes and persona ranges."""
    excluded = {item["source_product_index"]: item for item in json.loads(exclusions_text)}
    for index in range(PRODUCTS):
        item = excluded.get(index, {"asin": str(10**15 + index), "price_affecting_axes": ["规格"]})
        record = {
            "asin": item["asin"],
            "title": f"样品{index}",
            "tag": "eval" if index < 1459 else "train",
            "customization_options": {
                name: [{"value": "甲", "price": 1}, {"value": "乙", "price": 2}]
                for name in item["price_affecting_axes"]
            },
            "instructions": [{"instruction": f"买样品{index}", "attributes": ["样品"]}],
        }
        if index in PERSONA_INDICES:
            record["user_persona"] = {"用户ID": f"U{index}"}
            record["instructions"][0]["instruction_simple"] = f"样品{index}"
        yield record


def test_the_published_form_of_a_manifest_is_the_published_manifest(
    published: Path, exclusions_text: str, source_splits_text: str
) -> None:
    text = (published / "clean_dataset_manifest.v2.json").read_text(encoding="utf-8")
    recorded = json.loads(text)
    exclusions, splits = PublishedJson(exclusions_text), PublishedJson(source_splits_text)
    ours = recorded | {
        "exclusions_sha256": exclusions.sha256,
        "exclusions_crlf_sha256": exclusions.crlf_sha256,
        "task_splits_sha256": splits.sha256,
        "task_splits_crlf_sha256": splits.crlf_sha256,
        "persona_price_audit_sha256": "of the LF form, which is not here",
        "persona_price_audit_crlf_sha256": recorded["persona_price_audit_sha256"],
        "quarantined_task_count": 0,
        "quarantined_tasks": [],
        "quarantine_reason_counts": {},
    }
    document = PublishedJson.of(published_form(ours))
    assert document.text == text
    assert document.crlf_sha256 == MANIFEST_CRLF


def test_published_project_splits_fit_our_hash_and_cover_the_persona_tasks(
    published: Path, exclusions_text: str
) -> None:
    text = (published / "persona_splits.v1.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    assert PublishedJson.of(manifest).text == text
    splits = manifest["splits"]
    assert {name: len(split["task_ids"]) for name, split in splits.items()} == {
        "train": 3726,
        "val": 400,
        "test": 400,
    }
    for split in splits.values():
        assert split["task_ids_sha256"] == task_ids_sha256(split["task_ids"])
    active = PERSONA_INDICES - excluded_products(json.loads(exclusions_text))
    dealt = [task_id for split in splits.values() for task_id in split["task_ids"]]
    assert sorted(dealt) == sorted(active)
    assert len(active) == 4526


def test_real_records_are_ingested_and_their_gaps_counted(shared_data: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((shared_data / "real" / "products.jsonl.gz").read_bytes()).splitlines()
    archive = tmp_path / "real.json"
    archive.write_bytes(b"[" + b",".join(lines) + b"]")
    report = read_archive(archive, tmp_path / "raw.parquet", lenient=True)
    assert report.product_count == len(lines) == 7039
    assert report.task_count == 185
    assert report.persona_task_count == 29
    # Three tasks have neither a target attribute nor a target option (counted in the raw rows).
    assert report.quarantined == {"no_target": 3, "simple_without_persona": 1}
    assert report.gaps["category"]["null"] == 5842
    assert report.unknown_keys == {"_tier": 7039}
    records = (json.loads(line) for line in lines)
    for row, record in zip(iter_records(tmp_path / "raw.parquet"), records, strict=True):
        assert row.record == record
