"""A published cleaned v2 archive as the source of a build, in place of the raw archive.

Its records become rows of `raw_products.parquet` as they are; `clean_record` maps each to itself. What the
archive no longer holds (excluded products, ids of tasks set aside) comes from its manifest and from the
exclusion list beside it, and travels in the footer. Belongs here: checking and reading those files.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError, DatasetError
from pipelines.stages.clean_manifest import verify_cleaned
from pipelines.stages.ingest import RAW_SCHEMA, REPORT_KEY, Ingest, IngestReport, RawRow
from pipelines.stages.json_archive import ArchiveReader, OnProgress, iter_elements
from pipelines.stages.published_json import PublishedJson, read_json
from pipelines.stages.tables import find_metadata, write_rows
from pipelines.stages.task_ids import TaskRow
from shopsim_env.canonical import compact_json

EXCLUSIONS_NAME = "catalog_exclusions.v2.json"
AUDIT_NAME = "persona_price_annotations.v2.json"
_ORIGIN_KEY = "cleaned_origin"
_SOURCE_KEYS: Mapping[str, type] = {
    "source_archive": str,
    "source_archive_sha256": str,
    "source_product_count": int,
    "source_task_count": int,
}
_ADDED_KEYS = {
    "source_product_index",
    *(f"instructions[].{name}" for name in ("task_id", "task_uid", "instruction_index", "price_upper")),
}


@dataclass(frozen=True, slots=True)
class CleanedOrigin:
    """What came with the archive: its file name, its manifest, the exclusion list beside it."""

    archive: str
    manifest: dict[str, Any]
    exclusions: list[dict[str, Any]]


def open_origin(archive: Path, manifest_path: Path) -> CleanedOrigin:
    """Checks an archive and the exclusion list beside its manifest against the manifest.

    Args:
        archive: The cleaned archive; hashed packed and unpacked.
        manifest_path: `clean_dataset_manifest.v2.json`; the list lies in the same folder.

    Raises:
        ArtifactError: A file that is missing or is not what the manifest says, with expected and found.
    """
    manifest = read_json(manifest_path)
    _check_keys(manifest_path, manifest)
    verify_cleaned(archive, manifest)
    companion = manifest_path.with_name(EXCLUSIONS_NAME)
    check_companion(companion, manifest, "exclusions")
    return CleanedOrigin(archive.name, manifest, read_json(companion))


def _check_keys(path: Path, manifest: Any) -> None:
    for name, kind in _SOURCE_KEYS.items():
        value = manifest.get(name) if isinstance(manifest, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ArtifactError(
                f"{path}: expected the manifest of a cleaned archive with {name}, found none",
                code="manifest_mismatch",
            )


def check_companion(path: Path, manifest: dict[str, Any], key: str) -> None:
    """Compares a JSON file with the manifest's `KEY_sha256`, taken over LF or over CRLF line ends.

    Raises:
        ArtifactError: code `companion_mismatch`.
    """
    document = PublishedJson.of(read_json(path))
    found = (document.sha256, document.crlf_sha256)
    if manifest.get(f"{key}_sha256") not in found:
        raise ArtifactError(
            f"{path}: the manifest has {key}_sha256 {manifest.get(f'{key}_sha256')!r}, found {found[0]} (LF) "
            f"and {found[1]} (CRLF); use the files of one release",
            code="companion_mismatch",
        )


def read_cleaned_source(
    archive: Path, origin: CleanedOrigin, out: Path, *, on_progress: OnProgress | None = None
) -> IngestReport:
    """Writes the records of a cleaned archive as `raw_products.parquet`.

    Args:
        archive: The archive that `open_origin` has checked.
        origin: Its result.
        out: Parquet file with the columns of `RAW_SCHEMA`.
        on_progress: As in `ingest.read_archive`.

    Returns:
        The report; names, hash and counts of the source are those that the manifest states.

    Raises:
        DatasetError: A record that breaks a rule of the raw archive, or has no valid ids.
    """
    state = Ingest(lenient=False, cleaned=True)
    with ArchiveReader(archive, on_progress) as reader:
        rows = state.rows(_numbered(iter_elements(reader, archive)))

        def report() -> IngestReport:
            return _of_source(state.report(archive.name, "", reader.data_sha256), origin)

        footer = {_ORIGIN_KEY: compact_json(asdict(origin))}
        write_rows(out, RAW_SCHEMA, rows, lambda: footer | {REPORT_KEY: compact_json(report().as_dict())})
        return report()


def read_origin(parquet: Path) -> CleanedOrigin | None:
    """What came with a cleaned archive; None when the rows are those of a raw archive."""
    text = find_metadata(parquet, _ORIGIN_KEY)
    return None if text is None else CleanedOrigin(**json.loads(text))


def known_task_ids(rows: Iterable[RawRow], origin: CleanedOrigin) -> list[TaskRow]:
    """All tasks of the raw corpus, ids ascending, as far as a cleaned archive tells.

    Tasks of excluded products and tasks set aside have no uid: their texts are not in the archive. Of the
    former persona and tag are not known either.

    Raises:
        ArtifactError: The manifest sets a task aside whose product is not in the archive.
    """
    aside: dict[int, list[dict[str, Any]]] = {}
    for item in origin.manifest.get("quarantined_tasks", ()):
        aside.setdefault(item["source_product_index"], []).append(item)
    tasks: list[TaskRow] = []
    for row in rows:
        tasks += (_active(row, instruction) for instruction in row.record["instructions"])
        tasks += (_set_aside(row, item) for item in aside.pop(row.source_product_index, ()))
    if aside:
        raise ArtifactError(
            f"{origin.archive}: expected the products of all tasks that the manifest sets aside, found none "
            f"with source_product_index {min(aside)}; use the files of one release",
            code="manifest_mismatch",
        )
    tasks += (
        TaskRow(task_id, "", item["source_product_index"], position, item["asin"], False, "")
        for item in origin.exclusions
        for position, task_id in enumerate(item["task_ids"])
    )
    return sorted(tasks, key=lambda task: task.task_id)


def _active(row: RawRow, instruction: dict[str, Any]) -> TaskRow:
    return TaskRow(
        task_id=instruction["task_id"],
        task_uid=instruction["task_uid"],
        source_product_index=row.source_product_index,
        instruction_index=instruction["instruction_index"],
        asin=row.asin,
        persona=row.has_persona,
        quarantine=row.quarantine,
        tag=row.tag,
    )


def _set_aside(row: RawRow, item: Mapping[str, Any]) -> TaskRow:
    return TaskRow(
        task_id=item["task_id"],
        task_uid="",
        source_product_index=row.source_product_index,
        instruction_index=item["instruction_index"],
        asin=row.asin,
        persona=row.has_persona,
        quarantine=item["reason"],
        tag=row.tag,
    )


def _of_source(report: IngestReport, origin: CleanedOrigin) -> IngestReport:
    manifest = origin.manifest
    return replace(
        report,
        archive_name=manifest["source_archive"],
        archive_sha256=manifest["source_archive_sha256"],
        product_count=manifest["source_product_count"],
        task_count=manifest["source_task_count"],
        unknown_keys={key: n for key, n in report.unknown_keys.items() if key not in _ADDED_KEYS},
    )


def _numbered(elements: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Records with their source index, which must grow; their tasks must have ids."""
    previous = -1
    for position, record in enumerate(elements):
        index = record.get("source_product_index") if isinstance(record, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or index <= previous:
            raise _not_cleaned(position, "source_product_index", f"an integer above {previous}")
        for place, instruction in enumerate(record.get("instructions") or ()):
            numbers = (instruction.get("task_id"), instruction.get("instruction_index"))
            if not all(map(_is_number, numbers)) or not isinstance(instruction.get("task_uid"), str):
                name = f"instructions[{place}]"
                raise _not_cleaned(position, name, "task_id, task_uid and instruction_index")
        previous = index
        yield index, record


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _not_cleaned(position: int, field: str, expected: str) -> DatasetError:
    return DatasetError(
        f"expected {expected}, found another value; a raw archive is built with --raw",
        record=position,
        field=field,
        code="not_cleaned",
    )
