"""Title nouns of every product: tagging, and the parquet file that holds them.

Belongs here: rows in, rows out, and which tagger made a file. Does not belong here: the taggers themselves
(`shopsim_env.text.nouns`, `pipelines.resources.tagger`) and the reward that compares nouns.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, tee
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import ArtifactError
from shopsim_env.text.nouns import Tagger

# A fixed number of rows per group: equal rows give equal bytes however they arrive.
_ROW_GROUP = 4096
_SCHEMA = pa.schema([("asin", pa.string()), ("nouns", pa.list_(pa.string()))])
_TAGGER_KEYS = ("tagger_name", "tagger_version", "tagger_fingerprint")


@dataclass(frozen=True, slots=True)
class TitleNouns:
    """Nouns per asin, in file order, and the tagger that made them."""

    tagger_name: str
    tagger_version: str
    tagger_fingerprint: str
    nouns: dict[str, tuple[str, ...]]


def tag_titles(rows: Iterable[tuple[str, str]], tagger: Tagger) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Nouns of each title.

    Args:
        rows: Pairs of asin and title, in any order; read lazily.
        tagger: What finds the nouns.

    Returns:
        Pairs of asin and distinct nouns in the order of `rows`.
    """
    for_asins, for_titles = tee(rows)
    asins = (asin for asin, _ in for_asins)
    return zip(asins, tagger.nouns_of(title for _, title in for_titles), strict=True)


def write_nouns(path: Path, rows: Iterable[tuple[str, tuple[str, ...]]], tagger: Tagger) -> int:
    """Writes nouns to a parquet file whose own metadata names the tagger; returns the number of rows."""
    pending, count = iter(rows), 0
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd", store_schema=False) as writer:
        while batch := list(islice(pending, _ROW_GROUP)):
            asins, nouns = zip(*batch, strict=True)
            table = pa.table([pa.array(asins, pa.string()), pa.array(nouns, _SCHEMA.field(1).type)], _SCHEMA)
            writer.write_table(table, row_group_size=_ROW_GROUP)
            count += len(batch)
        values = (tagger.name, tagger.version, tagger.fingerprint)
        writer.add_key_value_metadata(dict(zip(_TAGGER_KEYS, values, strict=True)))
    return count


def read_nouns(path: Path) -> TitleNouns:
    """Reads a file of `write_nouns`.

    Raises:
        ArtifactError: The file does not name its tagger, has other columns, or an asin comes twice.
    """
    with pq.ParquetFile(path) as file:
        metadata = file.metadata.metadata or {}
        missing = [key for key in _TAGGER_KEYS if key.encode() not in metadata]
        if missing:
            raise ArtifactError(f"expected title nouns with their tagger in {path}, found no {missing}")
        if file.schema_arrow.names != _SCHEMA.names:
            raise ArtifactError(f"{path}: expected columns {_SCHEMA.names}, found {file.schema_arrow.names}")
        nouns: dict[str, tuple[str, ...]] = {}
        for batch in file.iter_batches(batch_size=_ROW_GROUP):
            for asin, words in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if asin in nouns:
                    raise ArtifactError(f"{path}: expected every asin once, found {asin!r} again")
                nouns[asin] = tuple(words)
    name, version, fingerprint = (metadata[key.encode()].decode() for key in _TAGGER_KEYS)
    return TitleNouns(name, version, fingerprint, nouns)
