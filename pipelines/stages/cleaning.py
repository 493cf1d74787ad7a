"""Cleaned v2: the raw archive without excluded products, with task ids and price ceilings written in.

Belongs here: the cleaned records and their archive, written and read as a stream. The manifest beside it is
in `clean_manifest`. Products of quarantined tasks stay, with an empty `instructions` list.
"""

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipelines.errors import DatasetError
from pipelines.stages.annotation.resolution import AuditRecord
from pipelines.stages.ingest import RawRow
from pipelines.stages.json_archive import ArchiveReader, iter_array, iter_elements
from pipelines.stages.task_ids import TaskRow, active_tasks, instruction_at
from shopsim_env.canonical import compact_json, sha256_file

# The packed bytes depend on level and zlib, so the content has a hash of its own (`data_sha256`). The level
# is Python's default, since the published archive names none.
_GZIP_LEVEL = 9


@dataclass(frozen=True, slots=True)
class CleanedReport:
    """What was written: archive name and hash, hash of the decompressed JSON, products and active tasks."""

    archive_name: str
    archive_sha256: str
    data_sha256: str
    product_count: int
    task_count: int


class _HashedFile:
    """A binary file that hashes what passes through."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        self._stream.write(data)
        return len(data)

    def flush(self) -> None:
        self._stream.flush()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def write_cleaned(
    rows: Iterable[RawRow],
    tasks: Sequence[TaskRow],
    excluded: frozenset[int],
    audit: Iterable[AuditRecord],
    out: Path,
) -> CleanedReport:
    """Writes the cleaned v2 archive: gzip without name and time, one compact JSON array with sorted keys.

    Args:
        rows: Products of the raw archive, in order; consumed as a stream.
        tasks: All tasks of the raw corpus.
        excluded: Source indices of the excluded products.
        audit: Final annotations of exactly the active persona tasks.
        out: The archive; the artifact store gives a temporary path and puts the finished file in place.

    Raises:
        DatasetError: Annotated and active persona tasks differ (code annotations_differ).

    Source: prior art sections 2.3 and 2.4.
    """
    active = active_tasks(tasks, excluded)
    uppers = {record.task.task_id: record.annotation.price_upper for record in audit}
    _check_annotated({task.task_id for task in active if task.persona}, uppers.keys())
    by_product: dict[int, list[TaskRow]] = {}
    for task in active:
        by_product.setdefault(task.source_product_index, []).append(task)
    records = (
        clean_record(row, by_product.get(row.source_product_index, ()), uppers)
        for row in rows
        if row.source_product_index not in excluded
    )
    with out.open("wb") as stream:
        archive = _HashedFile(stream)
        product_count, data_sha256 = _write_array(archive, records)
    return CleanedReport(out.name, archive.sha256, data_sha256, product_count, len(active))


def clean_record(
    row: RawRow, tasks: Sequence[TaskRow], uppers: Mapping[int, Decimal | None]
) -> dict[str, Any]:
    """The cleaned form of one product.

    The raw record plus `source_product_index`; each instruction of an active task plus `task_id`, `task_uid`,
    `instruction_index` and `price_upper` (yuan; null for standard tasks and where no ceiling is known), minus
    a stale `price_constraint`.
    """
    record = {key: value for key, value in row.record.items() if key != "price_constraint"}
    record["source_product_index"] = row.source_product_index
    record["instructions"] = [
        _clean_instruction(instruction_at(row.record, task.instruction_index), task, uppers) for task in tasks
    ]
    return record


def iter_cleaned(path: Path) -> Iterator[dict[str, Any]]:
    """Products of a cleaned archive in order, one at a time.

    Raises:
        DatasetError: The file is no such archive; names the record.
    """
    for index, record in enumerate(iter_array(path)):
        if not isinstance(record, dict) or "source_product_index" not in record:
            raise DatasetError(
                "expected a cleaned product with source_product_index, found another value; "
                "a raw archive is built with --raw",
                record=index,
                code="not_cleaned",
            )
        yield record


def describe_cleaned(path: Path, name: str) -> CleanedReport:
    """Hashes and counts of a cleaned archive, read whole.

    Args:
        path: The archive.
        name: Name under which it is published.
    """
    products = tasks = 0
    with ArchiveReader(path) as reader:
        for record in iter_elements(reader, path):
            products += 1
            tasks += len(record["instructions"])
        data_sha256 = reader.data_sha256
    return CleanedReport(name, sha256_file(path), data_sha256, products, tasks)


def inactive_tasks(tasks: Iterable[TaskRow], excluded: Mapping[int, str]) -> dict[int, str]:
    """Task id -> reason code of every task that is not active; exclusion comes before quarantine.

    Args:
        tasks: All tasks of the raw corpus.
        excluded: Source index of each excluded product to its reason.
    """
    reasons = {task.task_id: excluded.get(task.source_product_index) or task.quarantine for task in tasks}
    return {task_id: reason for task_id, reason in reasons.items() if reason}


def _clean_instruction(
    instruction: Mapping[str, Any], task: TaskRow, uppers: Mapping[int, Decimal | None]
) -> dict[str, Any]:
    cleaned = {key: value for key, value in instruction.items() if key != "price_constraint"}
    upper = uppers[task.task_id] if task.persona else None
    cleaned["task_id"] = task.task_id
    cleaned["task_uid"] = task.task_uid
    cleaned["instruction_index"] = task.instruction_index
    cleaned["price_upper"] = None if upper is None else float(upper)
    return cleaned


def _check_annotated(expected: set[int], annotated: Iterable[int]) -> None:
    found = set(annotated)
    if found != expected:
        raise DatasetError(
            f"expected annotations of exactly the {len(expected)} active persona tasks, found "
            f"{len(expected - found)} missing and {len(found - expected)} extra",
            code="annotations_differ",
        )


def _write_array(archive: _HashedFile, records: Iterable[dict[str, Any]]) -> tuple[int, str]:
    """Writes the array through gzip; returns number of elements and hash of the uncompressed bytes."""
    count = 0
    with gzip.GzipFile("", "wb", _GZIP_LEVEL, fileobj=archive, mtime=0) as packed:
        data = _HashedFile(packed)
        data.write(b"[")
        for record in records:
            data.write((b"," if count else b"") + compact_json(record).encode("utf-8"))
            count += 1
        data.write(b"]\n")
    return count, data.sha256
