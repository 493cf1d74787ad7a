"""Rows of a product file, one at a time: parquet, JSON lines, or one JSON array; the last two also as gzip.

Belongs here: containers, their hash and progress. What a row means is in `mapping`. Error codes:
archive_missing, unknown_format, unknown_columns, not_parquet, gzip_truncated, gzip_corrupt, and those of
`json_archive` for a JSON array. Memory is bounded by a batch of rows.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import DatasetError
from pipelines.stages.json_archive import ArchiveReader, OnProgress, iter_elements
from pipelines.stages.products.cells import json_text
from pipelines.stages.products.mapping import COLUMNS, KNOWN_COLUMNS
from shopsim_env.canonical import sha256_file

BATCH_ROWS = 1024
_LINES = (".jsonl", ".ndjson")
_FORMATS = ".parquet, .jsonl, .ndjson, .json (the last three also with .gz)"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a row that could not be read: a key of `mapping.REASONS`."""

    reason: str


class ProductFile(Protocol):
    """An open product file; `data_sha256` is right after the last row, `columns_not_read` too."""

    columns_not_read: set[str]

    def rows(self) -> Iterator[Any]:
        """Objects, or `Unreadable`, in file order."""
        ...

    @property
    def data_sha256(self) -> str:
        """Hash of the content without gzip."""
        ...


@contextmanager
def open_products(path: Path, on_progress: OnProgress | None = None) -> Iterator[ProductFile]:
    """Opens a product file by its ending.

    Args:
        path: The file.
        on_progress: Called with what is done and all of it: rows of a parquet file, bytes of another.

    Raises:
        DatasetError: Missing, of another format, or damaged as a container.
    """
    if not path.is_file():
        raise DatasetError(f"expected a product file at {path}, found no file", code="archive_missing")
    stem = Path(path.name.removesuffix(".gz"))
    if path.suffix == ".parquet":
        with _parquet(path) as file:
            yield _ParquetRows(path, file, on_progress)
    elif stem.suffix in _LINES:
        with path.open("rb") as raw:
            yield _LineRows(path, raw, on_progress)
    elif stem.suffix == ".json":
        with ArchiveReader(path, on_progress) as reader:
            yield _ArrayRows(path, reader)
    else:
        raise DatasetError(
            f"{path.name}: expected a product file with one of the endings {_FORMATS}", code="unknown_format"
        )


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise DatasetError(f"{path.name}: expected a parquet file: {error}", code="not_parquet") from error


class _ParquetRows:
    def __init__(self, path: Path, file: pq.ParquetFile, on_progress: OnProgress | None) -> None:
        names = set(file.schema_arrow.names)
        if not names & set(COLUMNS["id"]):
            raise DatasetError(
                f"{path.name}: expected a column {' or '.join(COLUMNS['id'])}, found {sorted(names)[:20]}",
                code="unknown_columns",
            )
        self.columns_not_read = names - KNOWN_COLUMNS
        self._path, self._file, self._on_progress = path, file, on_progress

    def rows(self) -> Iterator[Any]:
        names = [name for name in self._file.schema_arrow.names if name in KNOWN_COLUMNS]
        done, total = 0, self._file.metadata.num_rows
        try:
            # One thread and no reading ahead: what is decoded at a time stays small whatever the row groups.
            for batch in self._file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
                yield from _objects(batch)
                done += batch.num_rows
                if self._on_progress is not None:
                    self._on_progress(done, total)
        except (pa.ArrowException, OSError) as error:
            message = f"{self._path.name}: damaged after row {done}: {type(error).__name__}; copy it again"
            raise DatasetError(message, code="not_parquet") from error

    @cached_property
    def data_sha256(self) -> str:
        return sha256_file(self._path)


def _objects(batch: pa.RecordBatch) -> Iterator[Any]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        # Nothing was yielded yet: to_pylist makes the whole list first.
        for number in range(batch.num_rows):
            try:
                yield batch.slice(number, 1).to_pylist()[0]
            except UnicodeDecodeError:
                yield Unreadable("not_json")


class _LineRows:
    def __init__(self, path: Path, raw: BinaryIO, on_progress: OnProgress | None) -> None:
        self.columns_not_read: set[str] = set()
        self._path, self._raw, self._on_progress = path, raw, on_progress
        self._digest = hashlib.sha256()

    def rows(self) -> Iterator[Any]:
        for number, line in enumerate(self._lines(), start=1):
            self._digest.update(line)
            if self._on_progress is not None and number % BATCH_ROWS == 0:
                self._on_progress(self._raw.tell(), self._path.stat().st_size)
            if not line.strip():
                continue
            try:
                row = json_text(line.decode("utf-8"))
            except ValueError:
                row = Unreadable("not_json")
            self.columns_not_read |= _unknown(row)
            yield row

    def _lines(self) -> Iterator[bytes]:
        try:
            yield from gzip.GzipFile(fileobj=self._raw) if self._path.suffix == ".gz" else self._raw
        except EOFError as error:
            message = f"{self._path.name}: the gzip stream ends early; copy it again"
            raise DatasetError(message, code="gzip_truncated") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            message = f"{self._path.name}: the gzip stream is damaged: {error}"
            raise DatasetError(message, code="gzip_corrupt") from error

    @property
    def data_sha256(self) -> str:
        return self._digest.hexdigest()


class _ArrayRows:
    def __init__(self, path: Path, reader: ArchiveReader) -> None:
        self.columns_not_read: set[str] = set()
        self._path, self._reader = path, reader

    def rows(self) -> Iterator[Any]:
        for row in iter_elements(self._reader, self._path):
            self.columns_not_read |= _unknown(row)
            yield row

    @property
    def data_sha256(self) -> str:
        return self._reader.data_sha256


def _unknown(row: Any) -> set[str]:
    return set(row.keys() - KNOWN_COLUMNS) if isinstance(row, dict) else set()
