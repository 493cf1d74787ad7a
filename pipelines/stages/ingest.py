"""Raw archive in, `raw_products.parquet` and a report out; streaming.

Belongs here: the pass over the archive and the report. Types of fields are in `ingest_schema`, rules of one
record in `ingest_rules`, the container (gzip, JSON) in `json_archive`. Error codes besides theirs:
archive_hash_mismatch, empty_archive, element_not_object, duplicate_asin, cleaned_archive.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.errors import DatasetError
from pipelines.stages.ingest_rules import (
    ALWAYS_QUARANTINED,
    QUARANTINE_REASONS,
    check_identity,
    task_fault,
    text_of,
)
from pipelines.stages.ingest_schema import FieldMismatch, SchemaCounts, check_record, describe
from pipelines.stages.json_archive import ArchiveReader, OnProgress, iter_elements
from pipelines.stages.tables import read_metadata, read_rows, write_rows
from shopsim_env.canonical import compact_json, sha256_file

RAW_SCHEMA = pa.schema(
    [
        pa.field("source_product_index", pa.int64(), nullable=False),
        pa.field("asin", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("shop_name", pa.string(), nullable=False),
        pa.field("category", pa.string(), nullable=False),
        pa.field("tag", pa.string(), nullable=False),
        pa.field("has_persona", pa.bool_(), nullable=False),
        pa.field("instruction_count", pa.int64(), nullable=False),
        pa.field("quarantine", pa.string(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
    ]
)

_EXAMPLES = 10


REPORT_KEY = "ingest_report"


@dataclass(frozen=True, slots=True)
class RawRow:
    """One product of the archive. `record` is the whole raw object in source key order; absent texts are "".

    `quarantine` is "" or the reason (`QUARANTINE_REASONS`) for which the tasks of this product are set aside.
    """

    source_product_index: int
    asin: str
    title: str
    shop_name: str
    category: str
    tag: str
    has_persona: bool
    instruction_count: int
    quarantine: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one archive holds. Counts of tasks include quarantined ones.

    `gaps` counts per field why it says nothing (`missing`, `null`, `empty`, `not_a_price`); `quarantined`
    counts products per reason and `quarantine_examples` holds the first ten (index, reason).
    """

    archive_name: str
    archive_sha256: str
    data_sha256: str
    product_count: int
    task_count: int
    persona_task_count: int
    gaps: dict[str, dict[str, int]]
    unknown_keys: dict[str, int]
    quarantined: dict[str, int]
    quarantine_examples: tuple[tuple[int, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


def read_archive(
    path: Path,
    out: Path,
    *,
    lenient: bool = False,
    expected_sha256: str | None = None,
    on_progress: OnProgress | None = None,
) -> IngestReport:
    """Checks a raw archive record by record and writes it as parquet to `out`.

    Args:
        path: `.json` or `.json.gz` holding one JSON array of product objects.
        out: Parquet file with the columns of `RAW_SCHEMA`; incomplete when a record is refused.
        lenient: Quarantine the tasks of a row that breaks a rule of `QUARANTINE_REASONS` instead of refusing
            the archive. The product stays and its task ids are still assigned.
        expected_sha256: Pin of the archive file, compared before anything is parsed; None for ad hoc data.
        on_progress: Called with (bytes of the file read, bytes of the file).

    Returns:
        Counts, hashes, gaps and quarantined rows.

    Raises:
        DatasetError: Names record, field, expected and found; `code` is stable.

    Source: contract 7.18; prior art section 2.1 for the pairing of persona and simple text.
    """
    archive_sha256 = check_pin(path, expected_sha256)
    state = Ingest(lenient)
    with ArchiveReader(path, on_progress) as reader:
        rows = state.rows(enumerate(iter_elements(reader, path)))

        def report() -> IngestReport:
            return state.report(path.name, archive_sha256, reader.data_sha256)

        write_rows(out, RAW_SCHEMA, rows, lambda: {REPORT_KEY: compact_json(report().as_dict())})
        return report()


def read_report(parquet: Path) -> IngestReport:
    """The report of the ingest that wrote `parquet`; it travels in the file's footer."""
    fields = json.loads(read_metadata(parquet, REPORT_KEY))
    examples = tuple((index, reason) for index, reason in fields.pop("quarantine_examples"))
    return IngestReport(**fields, quarantine_examples=examples)


def iter_records(parquet: Path) -> Iterator[RawRow]:
    """Rows of `raw_products.parquet` in archive order, one row group in memory at a time."""
    for *columns, text in read_rows(parquet, RAW_SCHEMA):
        yield RawRow(*(*columns, json.loads(text)))


def check_pin(path: Path, expected: str | None) -> str:
    """SHA-256 of an archive file.

    Raises:
        DatasetError: There is no file, or its hash is another one than expected.
    """
    if not path.is_file():
        raise DatasetError(f"expected an archive at {path}, found no file", code="archive_missing")
    found = sha256_file(path)
    if expected is not None and found != expected.lower():
        raise DatasetError(
            f"{path.name}: expected SHA-256 {expected}, found {found}; if this file is meant, pin the found "
            "value as archive_sha256 in the data set's file under configs/datasets, or build it as another "
            "data set with --dataset NAME --raw FILE",
            code="archive_hash_mismatch",
        )
    return found


class Ingest:
    """State of one pass over an archive."""

    def __init__(self, lenient: bool, *, cleaned: bool = False) -> None:
        self._lenient = lenient
        self._cleaned = cleaned
        self._counts = SchemaCounts()
        self._index_of: dict[str, int] = {}
        self._tasks = 0
        self._persona_tasks = 0
        self._quarantined: list[tuple[int, str]] = []

    def knows(self, asin: str) -> bool:
        """Whether an earlier record has this id, be it in other letter case."""
        return asin.casefold() in self._index_of

    def rows(self, elements: Iterable[tuple[int, Any]]) -> Iterator[tuple[Any, ...]]:
        """Checked rows in the order of `RAW_SCHEMA`, from pairs of source index and record."""
        for index, record in elements:
            self._check(index, record)
            yield self._row(index, record)
        if not self._index_of:
            raise DatasetError("expected at least one product, found an empty array", code="empty_archive")

    def report(self, name: str, archive_sha256: str, data_sha256: str) -> IngestReport:
        """Summary after the last row."""
        gaps: dict[str, dict[str, int]] = {}
        for (field, reason), count in sorted(self._counts.gaps.items()):
            gaps.setdefault(field, {})[reason] = count
        return IngestReport(
            archive_name=name,
            archive_sha256=archive_sha256,
            data_sha256=data_sha256,
            product_count=len(self._index_of),
            task_count=self._tasks,
            persona_task_count=self._persona_tasks,
            gaps=gaps,
            unknown_keys=dict(sorted(self._counts.unknown_keys.items())),
            quarantined=dict(sorted(Counter(reason for _, reason in self._quarantined).items())),
            quarantine_examples=tuple(self._quarantined[:_EXAMPLES]),
        )

    def _check(self, index: int, record: Any) -> None:
        if not isinstance(record, dict):
            raise DatasetError(
                f"expected a product object, found {describe(record)}",
                record=index,
                code="element_not_object",
            )
        try:
            check_record(record, self._counts)
        except FieldMismatch as mismatch:
            raise DatasetError(
                f"expected {mismatch.expected}, found {mismatch.found}",
                record=index,
                field=mismatch.path,
                code=mismatch.code,
            ) from None
        self._check_kind(index, record)
        check_identity(index, record)
        self._check_unique(index, record["asin"])

    def _check_kind(self, index: int, record: dict[str, Any]) -> None:
        if not self._cleaned and "source_product_index" in record:
            raise DatasetError(
                "expected a raw product, found one of a cleaned archive, whose ids would be counted anew; "
                "use --from-cleaned FILE --manifest FILE",
                record=index,
                field="source_product_index",
                code="cleaned_archive",
            )

    def _check_unique(self, index: int, asin: str) -> None:
        # Ids that differ by letter case alone could not be told apart when clicked.
        first = self._index_of.setdefault(asin.casefold(), index)
        if first != index:
            raise DatasetError(
                f"expected every asin once, found {asin!r} in record {first} and again in record {index}",
                record=index,
                field="asin",
                code="duplicate_asin",
            )

    def _row(self, index: int, record: dict[str, Any]) -> tuple[Any, ...]:
        quarantine = self._quarantine(index, record)
        tasks = len(record.get("instructions") or ())
        has_persona = bool(record.get("user_persona"))
        self._tasks += tasks
        self._persona_tasks += tasks if has_persona else 0
        texts = [text_of(record, name) for name in ("asin", "title", "shop_name", "category", "tag")]
        return (index, *texts, has_persona, tasks, quarantine, _source_json(index, record))

    def _quarantine(self, index: int, record: dict[str, Any]) -> str:
        reason, field = task_fault(record)
        if not reason:
            return ""
        if not self._lenient and reason not in ALWAYS_QUARANTINED:
            raise DatasetError(
                f"{QUARANTINE_REASONS[reason]}; --lenient sets the tasks of such rows aside",
                record=index,
                field=field,
                code=reason,
            )
        self._quarantined.append((index, reason))
        return reason


def _source_json(index: int, record: dict[str, Any]) -> str:
    """Compact JSON in source key order: the order of the axes is part of the published exclusion list."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise DatasetError(
            "expected finite numbers, found NaN or Infinity", record=index, code="non_finite_number"
        ) from error
