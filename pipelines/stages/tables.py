"""Parquet in and out for all stages: explicit schema, fixed row groups, equal rows give equal bytes.

Rows are tuples in the order of the schema's columns. What the columns mean belongs to the stages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import ArtifactError

ROW_GROUP_ROWS = 2048


def write_rows(
    path: Path,
    schema: pa.Schema,
    rows: Iterable[Sequence[Any]],
    metadata: Callable[[], Mapping[str, str]] | None = None,
) -> int:
    """Writes `rows` as parquet and returns their number; memory is bounded by one row group.

    Args:
        path: File to write.
        schema: Columns in the order of the rows' values.
        rows: Consumed as a stream.
        metadata: Called after the last row; its pairs go into the file's footer.

    The artifact store gives a temporary path and puts the finished file in place. No Arrow or pandas schema
    is embedded, so the bytes depend on rows and library version alone.
    """
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd", store_schema=False) as writer:
        for group in _groups(rows):
            columns = [
                pa.array(values, type=field.type)
                for field, values in zip(schema, zip(*group, strict=True), strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), ROW_GROUP_ROWS)
            count += len(group)
        if metadata is not None:
            writer.add_key_value_metadata(dict(metadata()))
    return count


def read_rows(path: Path, schema: pa.Schema) -> Iterator[tuple[Any, ...]]:
    """Rows of a file that `write_rows` wrote with the same `schema`.

    Raises:
        ArtifactError: The file is missing, is not parquet, or has other columns.
    """
    with _open(path) as file:
        found = [(field.name, str(field.type)) for field in file.schema_arrow]
        expected = [(field.name, str(field.type)) for field in schema]
        if found != expected:
            raise ArtifactError(f"{path}: expected columns {expected}, found {found}; build it again")
        for batch in file.iter_batches(batch_size=ROW_GROUP_ROWS):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def read_metadata(path: Path, key: str) -> str:
    """The text that `write_rows` put into the footer under `key`.

    Raises:
        ArtifactError: The file is missing, is not parquet, or has no such key.
    """
    value = find_metadata(path, key)
    if value is None:
        raise ArtifactError(f"{path}: expected {key!r} in the footer, found none; build it again")
    return value


def find_metadata(path: Path, key: str) -> str | None:
    """As `read_metadata`, None when the footer has no such key."""
    with _open(path) as file:
        value = (file.metadata.metadata or {}).get(key.encode())
    return None if value is None else str(value.decode("utf-8"))


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise ArtifactError(f"expected a parquet file at {path}, found none") from error
    except pa.ArrowInvalid as error:
        raise ArtifactError(f"{path}: expected a parquet file, found something else: {error}") from error


def _groups(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    iterator = iter(rows)
    while group := list(islice(iterator, ROW_GROUP_ROWS)):
        yield group
