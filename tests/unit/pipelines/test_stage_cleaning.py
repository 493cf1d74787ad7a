"""Cleaned v2: records, archive bytes, manifest and its two kinds of hashes."""

import gzip
import hashlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from raw_records import PERSONA, axis, instruction, persona_product, product, write_archive

from pipelines.errors import ArtifactError, DatasetError
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.protocol import Annotation, fallback_annotation
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.clean_manifest import (
    Annotator,
    CleanFiles,
    build_clean_manifest,
    published_form,
    verify_cleaned,
)
from pipelines.stages.cleaning import CleanedReport, inactive_tasks, iter_cleaned, write_cleaned
from pipelines.stages.ingest import IngestReport, RawRow, iter_records, read_archive
from pipelines.stages.price_axes import excluded_products, exclusion_reasons, find_exclusions
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import TaskRow, assign_task_ids, task_uid

VARYING = {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 1), ("m", 2))}
# Tasks: 0 standard, 1 persona, 2 excluded, 3+4 quarantined, 5 persona without budget.
RECORDS = [
    product("1", instructions=[instruction("甲", price_constraint=9)], price_constraint=1),
    persona_product("2"),
    product("3", customization_options=VARYING),
    product("4", instructions=[instruction("乙", "简"), instruction("丙")]),
    persona_product("5", "灯"),
    product("6", instructions=None),
]


class Build:
    """The stages up to cleaning, run over `RECORDS`."""

    def __init__(self, folder: Path, records: list[dict[str, Any]] = RECORDS) -> None:
        self.raw = folder / "raw.parquet"
        self.out = folder / "clean.json.gz"
        archive = write_archive(folder / "source.json.gz", records)
        self.report: IngestReport = read_archive(archive, self.raw, lenient=True)
        self.tasks: list[TaskRow] = assign_task_ids(self.rows())
        self.exclusions = find_exclusions(self.rows(), self.tasks)
        self.excluded = excluded_products(self.exclusions)
        eligible = persona_tasks(self.rows(), self.tasks, self.excluded)
        self.audit = [AuditRecord(task, annotation(task)) for task in eligible]

    def rows(self) -> list[RawRow]:
        return list(iter_records(self.raw))

    def write(self) -> CleanedReport:
        return write_cleaned(self.rows(), self.tasks, self.excluded, self.audit, self.out)


def annotation(task: PersonaTask) -> Annotation:
    if "预算" not in task.instruction_simple:
        return fallback_annotation("instruction_simple")
    return Annotation(
        "approximate_upper", Decimal(100), "预算100元", "instruction_simple", Decimal("110.00000000")
    )


def test_active_products_get_ids_and_ceilings(tmp_path: Path) -> None:
    build = Build(tmp_path)
    report = build.write()
    assert (report.product_count, report.task_count, report.archive_name) == (5, 3, "clean.json.gz")
    cleaned = list(iter_cleaned(build.out))
    assert [item["source_product_index"] for item in cleaned] == [0, 1, 3, 4, 5]
    assert cleaned[0] == product("1", source_product_index=0) | {
        "instructions": [
            instruction(
                "甲", task_id=0, task_uid=task_uid("1", 0, "甲"), instruction_index=0, price_upper=None
            )
        ]
    }
    assert cleaned[1]["user_persona"] == PERSONA
    assert cleaned[1]["instructions"][0]["price_upper"] == 110.0
    assert cleaned[3]["instructions"][0]["price_upper"] is None
    assert cleaned[3]["instructions"][0]["task_id"] == 5


def test_products_of_quarantined_tasks_stay_without_them(tmp_path: Path) -> None:
    build = Build(tmp_path)
    build.write()
    quarantined = list(iter_cleaned(build.out))[2]
    assert quarantined == product("4", source_product_index=3, instructions=[])
    assert inactive_tasks(build.tasks, exclusion_reasons(build.exclusions)) == {
        2: "multiple_price_affecting_axes",
        3: "simple_without_persona",
        4: "simple_without_persona",
    }


def test_the_archive_is_canonical_json_in_anonymous_gzip(tmp_path: Path) -> None:
    build = Build(
        tmp_path, [{"title": "灯", "asin": "2"}, {"title": "a/b", "asin": "1", "pricing": [1, 2.0]}]
    )
    report = build.write()
    packed = build.out.read_bytes()
    assert packed[:4] == b"\x1f\x8b\x08\x00"  # no flags, hence no file name
    assert packed[4:8] == b"\0\0\0\0"  # no time
    data = (
        '[{"asin":"2","instructions":[],"source_product_index":0,"title":"灯"},'
        '{"asin":"1","instructions":[],"pricing":[1,2.0],"source_product_index":1,"title":"a/b"}]\n'
    ).encode()
    assert gzip.decompress(packed) == data
    assert report.data_sha256 == hashlib.sha256(data).hexdigest()
    assert report.archive_sha256 == hashlib.sha256(packed).hexdigest()


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    build = Build(tmp_path)
    first = build.write()
    packed = build.out.read_bytes()
    assert build.write() == first
    assert build.out.read_bytes() == packed


def test_an_archive_without_products_left_is_an_empty_array(tmp_path: Path) -> None:
    build = Build(tmp_path, [product("3", customization_options=VARYING)])
    assert build.write().product_count == 0
    assert gzip.decompress(build.out.read_bytes()) == b"[]\n"
    assert list(iter_cleaned(build.out)) == []


def test_annotated_and_active_tasks_must_be_the_same(tmp_path: Path) -> None:
    build = Build(tmp_path)
    stranger = PersonaTask(77, "u", 7, "7", "灯", "灯")
    build.audit = [build.audit[0], AuditRecord(stranger, fallback_annotation("instruction"))]
    with pytest.raises(
        DatasetError, match="the 2 active persona tasks, found 1 missing and 1 extra"
    ) as caught:
        build.write()
    assert caught.value.code == "annotations_differ"
    assert not build.out.exists()


def test_a_raw_archive_is_not_read_as_cleaned(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="--raw") as caught:
        list(iter_cleaned(write_archive(tmp_path / "raw.json.gz", [product()])))
    assert (caught.value.code, caught.value.record) == ("not_cleaned", 0)
    with pytest.raises(DatasetError, match="found no file"):
        list(iter_cleaned(tmp_path / "none.json.gz"))


# --- manifest ---


def manifest_of(build: Build, cleaned: CleanedReport) -> dict[str, Any]:
    return build_clean_manifest(
        source=build.report,
        cleaned=cleaned,
        tasks=build.tasks,
        exclusions=build.exclusions,
        audit=build.audit,
        annotator=Annotator("a-model", "http://127.0.0.1/v1", "ab" * 32),
        files=CleanFiles(PublishedJson("x\n"), PublishedJson("y\n"), PublishedJson("z\n")),
    )


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_manifest_counts_and_vouches(tmp_path: Path) -> None:
    build = Build(tmp_path)
    cleaned = build.write()
    assert manifest_of(build, cleaned) == {
        "schema_version": "shopsimulator-cleaned-v2",
        "annotation_version": "qwen-persona-price-upper-v3",
        "variant_price_version": "variant-price-v3",
        "model": "a-model",
        "api_url": "http://127.0.0.1/v1",
        "prompt_sha256": "ab" * 32,
        "source_archive": "source.json.gz",
        "source_archive_sha256": hashlib.sha256((tmp_path / "source.json.gz").read_bytes()).hexdigest(),
        "output_archive": "clean.json.gz",
        "output_archive_sha256": cleaned.archive_sha256,
        "output_data_sha256": cleaned.data_sha256,
        "exclusions_sha256": sha("x\n"),
        "exclusions_crlf_sha256": sha("x\r\n"),
        "task_splits_sha256": sha("y\n"),
        "task_splits_crlf_sha256": sha("y\r\n"),
        "persona_price_audit_sha256": sha("z\n"),
        "persona_price_audit_crlf_sha256": sha("z\r\n"),
        "source_product_count": 6,
        "source_task_count": 6,
        "cleaned_product_count": 5,
        "excluded_product_count": 1,
        "excluded_task_count": 1,
        "active_task_count": 3,
        "persona_task_count": 2,
        "persona_llm_task_count": 1,
        "persona_runtime_regex_task_count": 1,
        "persona_runtime_regex_task_ids": [5],
        "persona_annotation_kind_counts": {"approximate_upper": 1, "runtime_regex_fallback": 1},
        "standard_regex_task_count": 1,
        "quarantined_task_count": 2,
        "quarantined_tasks": [
            {
                "task_id": task_id,
                "source_product_index": 3,
                "instruction_index": position,
                "reason": "simple_without_persona",
            }
            for position, task_id in enumerate((3, 4))
        ],
        "quarantine_reason_counts": {"simple_without_persona": 2},
    }


def test_a_quarantined_task_of_an_excluded_product_counts_as_excluded(tmp_path: Path) -> None:
    faulty = product("1", customization_options=VARYING, instructions=[instruction("乙", "简")])
    build = Build(tmp_path, [faulty, product("2")])
    manifest = manifest_of(build, build.write())
    assert (manifest["excluded_task_count"], manifest["quarantined_task_count"]) == (1, 0)
    assert inactive_tasks(build.tasks, exclusion_reasons(build.exclusions)) == {
        0: "multiple_price_affecting_axes"
    }


def test_the_published_form_has_crlf_hashes_and_no_own_keys(tmp_path: Path) -> None:
    build = Build(tmp_path)
    manifest = manifest_of(build, build.write())
    form = published_form(manifest)
    assert len(form) == 26
    assert not [key for key in form if "crlf" in key or "quarantine" in key]
    assert form["exclusions_sha256"] == sha("x\r\n")
    assert form["variant_price_version"] == "variant-price-paper-v2"
    assert form["output_data_sha256"] == manifest["output_data_sha256"]


def test_archive_and_manifest_of_one_build_fit(tmp_path: Path) -> None:
    build = Build(tmp_path)
    manifest = json.loads(json.dumps(manifest_of(build, build.write())))
    verify_cleaned(build.out, manifest)
    for key in ("schema_version", "output_archive_sha256", "output_data_sha256"):
        with pytest.raises(ArtifactError, match=key):
            verify_cleaned(build.out, manifest | {key: "other"})
    with pytest.raises(ArtifactError, match="None"):
        verify_cleaned(build.out, {})
