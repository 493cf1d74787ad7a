"""Parquet in and out for all stages: explicit schema, fixed row groups, equal rows give equal bytes.

Rows are tuples in the order of the schema's columns. What the columns mean belongs to the stages.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import ArtifactError

ROW_GROUP_ROWS = 2048


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> int:
    """Writes `rows` as parquet and returns their number; memory is bounded by one row group.

    The file appears under its name only when it is complete. No Arrow or pandas schema is embedded, so the
    bytes depend on rows and library version alone.
    """
    building = path.with_name(path.name + ".building")
    count = 0
    try:
        with pq.ParquetWriter(building, schema, compression="zstd", store_schema=False) as writer:
            for group in _groups(rows):
                columns = [
                    pa.array(values, type=field.type)
                    for field, values in zip(schema, zip(*group, strict=True), strict=True)
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), ROW_GROUP_ROWS)
                count += len(group)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)
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


def count_rows(path: Path) -> int:
    """Number of rows of a parquet file, from its footer."""
    with _open(path) as file:
        return int(file.metadata.num_rows)


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
