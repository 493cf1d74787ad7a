"""Published figures: all of `paper` that can be proven without its texts, and how a difference shows."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from pipelines.settings import FileHashes, Published, load_dataset
from pipelines.stages.published_figures import Figure, compare_figures
from pipelines.stages.published_json import PublishedJson

PAPER = load_dataset(ROOT / "configs", "paper").published
AUDIT = "persona_price_annotations.v2.json"
MANIFEST, SPLITS = "clean_dataset_manifest.v2.json", "persona_splits.v1.json"
EXCLUSIONS, SOURCE = "catalog_exclusions.v2.json", "task_splits.cleaned.v2.json"


def ours(published: Path) -> dict[str, Any]:
    """The published files as this project writes them: more keys, hashes over LF ends."""
    manifest = json.loads((published / MANIFEST).read_bytes())
    splits = json.loads((published / SPLITS).read_bytes())
    exclusions = json.loads((published / EXCLUSIONS).read_bytes())
    source = json.loads(gzip.decompress((published / f"{SOURCE}.gz").read_bytes()))
    for key, value in (("exclusions", exclusions), ("task_splits", source)):
        assert manifest[f"{key}_sha256"] == PublishedJson.of(value).crlf_sha256
        manifest |= {
            f"{key}_sha256": PublishedJson.of(value).sha256,
            f"{key}_crlf_sha256": PublishedJson.of(value).crlf_sha256,
        }
    manifest |= {
        "persona_price_audit_crlf_sha256": manifest["persona_price_audit_sha256"],
        "persona_price_audit_sha256": "0" * 64,
        "variant_price_version": "variant-price-v3",
        "quarantined_task_count": 0,
        "quarantined_tasks": [],
        "quarantine_reason_counts": {},
    }
    splits["source"] |= {
        "clean_dataset_manifest_sha256": PublishedJson.of(manifest).sha256,
        "clean_dataset_manifest_crlf_sha256": PublishedJson.of(manifest).crlf_sha256,
        "source_split_manifest_sha256": PublishedJson.of(source).sha256,
        "source_split_manifest_crlf_sha256": PublishedJson.of(source).crlf_sha256,
    }
    return {MANIFEST: manifest, SPLITS: splits, EXCLUSIONS: exclusions, SOURCE: source}


def written(folder: Path, documents: dict[str, Any]) -> dict[str, Path]:
    for name, value in documents.items():
        PublishedJson.of(value).write(folder / name)
    return {name: folder / name for name in documents}


def verdicts(figures: list[Figure]) -> dict[str, str]:
    return {figure.name: figure.status for figure in figures if figure.status != "ok"}


@pytest.mark.published
def test_every_figure_of_paper_but_the_audit_file_is_provable(shared_data: Path, tmp_path: Path) -> None:
    figures = compare_figures(PAPER, written(tmp_path, ours(shared_data / "published")))
    # 26 keys of the manifest without 3 hashes, the price version and the kinds; 7 kinds; 8 file hashes; 5
    # source splits; 5 keys of each project split; 3 of the grouping.
    assert len(figures) == 21 + 7 + 8 + 5 + 15 + 3
    assert verdicts(figures) == {f"{AUDIT}: sha256 with CRLF ends": "not built"}


@pytest.mark.published
def test_another_packing_of_the_same_data_is_told_apart(shared_data: Path, tmp_path: Path) -> None:
    documents = ours(shared_data / "published")
    documents[MANIFEST]["output_archive_sha256"] = "1" * 64
    documents[SPLITS]["source"]["cleaned_archive_sha256"] = "1" * 64
    found = verdicts(compare_figures(PAPER, written(tmp_path, documents)))
    found.pop(f"{AUDIT}: sha256 with CRLF ends")
    assert set(found.values()) == {"packing"}
    assert set(found) == {
        f"{MANIFEST}: output_archive_sha256",
        f"{MANIFEST}: sha256 with LF ends",
        f"{MANIFEST}: sha256 with CRLF ends",
        f"{SPLITS}: sha256 with LF ends",
    }
    documents[MANIFEST]["output_data_sha256"] = "2" * 64
    found = verdicts(compare_figures(PAPER, written(tmp_path, documents)))
    assert found[f"{MANIFEST}: output_archive_sha256"] == "differs", "other data are no matter of packing"


def test_a_difference_and_what_was_not_built(tmp_path: Path) -> None:
    published = Published(
        files={EXCLUSIONS: FileHashes(lf=PublishedJson.of([]).sha256, crlf="0" * 64)},
        source_splits={"all_train": 3, "none": 1},
        grouping={"group_count": 2},
    )
    files = written(tmp_path, {EXCLUSIONS: [], SOURCE: {"splits": {"all_train": {"task_ids": [1, 2]}}}})
    figures = compare_figures(published, files)
    assert [(figure.expected, figure.found, figure.status) for figure in figures[2:]] == [
        (3, 2, "differs"),
        (1, None, "not built"),
        (2, None, "not built"),
    ]
    assert [figure.status for figure in figures[:2]] == ["ok", "differs"]
    assert [figure.failed for figure in figures] == [False, True, True, True, True]
    assert compare_figures(Published(), files) == []
