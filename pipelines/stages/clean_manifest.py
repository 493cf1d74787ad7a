"""The manifest beside the cleaned archive: hashes, counts and how the prices were annotated.

The published keys keep their names. Hashes of the three JSON files are of the files as written (LF); the
hashes over CRLF ends, which the earlier public release recorded, stand in `*_crlf_sha256` keys
(docs/decisions/0003-crlf-hashes.md). Quarantined tasks have keys of our own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError
from pipelines.stages.annotation.protocol import ANNOTATION_VERSION, FALLBACK_KIND
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.cleaning import CleanedReport
from pipelines.stages.ingest import IngestReport
from pipelines.stages.json_archive import data_sha256
from pipelines.stages.price_axes import excluded_products
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import TaskRow, active_tasks, left_out
from shopsim_env.canonical import sha256_file
from shopsim_env.versions import VARIANT_PRICE_VERSION

CLEANED_SCHEMA_VERSION = "shopsimulator-cleaned-v2"
PUBLISHED_PRICE_VERSION = "variant-price-paper-v2"
_HASHED_FILES = ("exclusions", "task_splits", "persona_price_audit")
_QUARANTINE_KEYS = ("quarantined_task_count", "quarantined_tasks", "quarantine_reason_counts")


@dataclass(frozen=True, slots=True)
class Annotator:
    """Who made the annotations: model, endpoint and SHA-256 of the system prompt, as recorded."""

    model: str
    api_url: str
    prompt_sha256: str


@dataclass(frozen=True, slots=True)
class CleanFiles:
    """The three JSON files that the manifest vouches for."""

    exclusions: PublishedJson
    task_splits: PublishedJson
    persona_price_audit: PublishedJson


def build_clean_manifest(
    *,
    source: IngestReport,
    cleaned: CleanedReport,
    tasks: Sequence[TaskRow],
    exclusions: Sequence[Mapping[str, Any]],
    audit: Sequence[AuditRecord],
    annotator: Annotator,
    files: CleanFiles,
) -> dict[str, Any]:
    """All keys of the published manifest, the CRLF hashes and the quarantined tasks.

    `source_task_count` = `active_task_count` + `excluded_task_count` + `quarantined_task_count`; a
    quarantined task of an excluded product counts as excluded. Source: prior art section 2.3.
    """
    return {
        "schema_version": CLEANED_SCHEMA_VERSION,
        "annotation_version": ANNOTATION_VERSION,
        "variant_price_version": VARIANT_PRICE_VERSION,
        "model": annotator.model,
        "api_url": annotator.api_url,
        "prompt_sha256": annotator.prompt_sha256,
        "source_archive": source.archive_name,
        "source_archive_sha256": source.archive_sha256,
        "output_archive": cleaned.archive_name,
        "output_archive_sha256": cleaned.archive_sha256,
        "output_data_sha256": cleaned.data_sha256,
        **{f"{name}_sha256": getattr(files, name).sha256 for name in _HASHED_FILES},
        **{f"{name}_crlf_sha256": getattr(files, name).crlf_sha256 for name in _HASHED_FILES},
        "source_product_count": source.product_count,
        "source_task_count": source.task_count,
        "cleaned_product_count": cleaned.product_count,
        **_task_counts(tasks, exclusions),
        **_annotation_counts(audit),
    }


def published_form(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as the earlier release wrote it: its keys alone, file hashes over CRLF ends.

    It carries that release's name of the price rules: which axes vary, all that the cleaned data depend on,
    did not change since; what did is how the runtime resolves a price.
    """
    own = {f"{name}_crlf_sha256" for name in _HASHED_FILES} | set(_QUARANTINE_KEYS)
    form = {key: value for key, value in manifest.items() if key not in own}
    form["variant_price_version"] = PUBLISHED_PRICE_VERSION
    return form | {f"{name}_sha256": manifest[f"{name}_crlf_sha256"] for name in _HASHED_FILES}


def verify_cleaned(archive: Path, manifest: Mapping[str, Any]) -> None:
    """Checks a cleaned archive against its manifest: schema version, archive hash, hash of the JSON inside.

    Raises:
        ArtifactError: Names the key, what the manifest expects and what was found.
    """
    _expect(archive, manifest, "schema_version", CLEANED_SCHEMA_VERSION)
    _expect(archive, manifest, "output_archive_sha256", sha256_file(archive))
    _expect(archive, manifest, "output_data_sha256", data_sha256(archive))


def _expect(archive: Path, manifest: Mapping[str, Any], key: str, found: str) -> None:
    expected = manifest.get(key)
    if expected != found:
        raise ArtifactError(
            f"{archive}: the manifest has {key} {expected!r}, found {found!r}; use the archive and the "
            "manifest of the same build",
            code="manifest_mismatch",
        )


def _task_counts(tasks: Sequence[TaskRow], exclusions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    excluded = excluded_products(exclusions)
    active = active_tasks(tasks, excluded)
    persona = sum(task.persona for task in active)
    quarantined = [task for task in tasks if left_out(task) and task.source_product_index not in excluded]
    return {
        "excluded_product_count": len(exclusions),
        "excluded_task_count": sum(len(exclusion["task_ids"]) for exclusion in exclusions),
        "active_task_count": len(active),
        "persona_task_count": persona,
        "standard_regex_task_count": len(active) - persona,
        "quarantined_task_count": len(quarantined),
        "quarantined_tasks": [
            {
                "task_id": task.task_id,
                "source_product_index": task.source_product_index,
                "instruction_index": task.instruction_index,
                "reason": task.quarantine,
            }
            for task in quarantined
        ],
        "quarantine_reason_counts": dict(sorted(Counter(task.quarantine for task in quarantined).items())),
    }


def _annotation_counts(audit: Sequence[AuditRecord]) -> dict[str, Any]:
    kinds = Counter(record.annotation.kind for record in audit)
    fallback = sorted(record.task.task_id for record in audit if record.annotation.kind == FALLBACK_KIND)
    return {
        "persona_llm_task_count": len(audit) - len(fallback),
        "persona_runtime_regex_task_count": len(fallback),
        "persona_runtime_regex_task_ids": fallback,
        "persona_annotation_kind_counts": dict(sorted(kinds.items())),
    }
