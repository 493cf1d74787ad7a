"""From a written artifact to what Dagster records: data version, row count, schema, preview, plot.

Previews show ids, counts, prices and codes; never task texts, targets or personas (contract 7.13).
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq

from assets._charts import bar_chart
from assets._failures import intended_failures
from assets._recipe import as_imported, recipe
from pipelines.resources.artifact_store import Artifact
from pipelines.resources.workspace import Workspace

PREVIEW_ROWS = 8
OWNERS = ["team:shopsim-data"]


@dataclass(frozen=True)
class Facts:
    """What a stage says about its artifact, besides its bytes.

    `rows` is the number of records; `numbers` are shown one by one; `preview` is a table, of which
    `preview_rows` are shown; `bars` are charts: title -> label -> count; `columns` name the fields of a
    record and their types (parquet files name their own).
    """

    rows: int
    numbers: Mapping[str, Any] = field(default_factory=dict)
    preview: Sequence[Mapping[str, Any]] = ()
    preview_rows: int = PREVIEW_ROWS
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


def materialize(
    workspace: Workspace,
    asset: str,
    filename: str,
    code_version: str,
    writer: Callable[[Path], Facts],
    *,
    parents: Iterable[str] = (),
    volatile: bool = False,
) -> dg.MaterializeResult:
    """Writes one artifact through the store and reports it; the data version is its SHA-256.

    Nothing is written when code, settings and inputs are those of the present file and its hash is right.

    Args:
        workspace: Where to write.
        asset: Asset name; with `/` between the parts of its key.
        filename: Name of the artifact file.
        code_version: The asset's code version.
        writer: Fills the path that it is given and says what it wrote.
        parents: Names of the assets that were read.
        volatile: Always write: the stage reads something that the workspace does not hand out.
    """
    started, parents = time.perf_counter(), tuple(parents)
    function = (writer.__module__, writer.__qualname__.split(".")[0])
    code, facts = recipe(*function), list[Facts]()

    def write(path: Path) -> None:
        with as_imported(*function):
            facts.append(writer(path))

    with intended_failures():
        kept = None if volatile or workspace.rerun else workspace.memos.recall(asset, code)
        artifact = kept and workspace.store.unchanged(asset, kept["sha256"], code_version, parents)
        if kept and artifact:
            return _result(workspace, artifact, dg.deserialize_value(kept["metadata"], dict), started, True)
        workspace.memos.forget(asset)
        artifact = workspace.store.write(asset, filename, write, code_version=code_version, parents=parents)
    metadata = _metadata(workspace, artifact, facts[0])
    kept = {"sha256": artifact.sha256, "metadata": dg.serialize_value(metadata)}
    workspace.memos.keep(asset, code, workspace.reads, kept)
    return _result(workspace, artifact, metadata, started, False)


def _result(
    workspace: Workspace, artifact: Artifact, metadata: Mapping[str, Any], started: float, unchanged: bool
) -> dg.MaterializeResult:
    seconds = round(time.perf_counter() - started, 3)
    announce(workspace, artifact.asset, metadata["dagster/row_count"], artifact.sha256, seconds, unchanged)
    return dg.MaterializeResult(
        asset_key=dg.AssetKey(artifact.asset.split("/")),
        data_version=dg.DataVersion(artifact.sha256),
        metadata={**metadata, "seconds": seconds, "unchanged": unchanged},
    )


def announce(
    workspace: Workspace, asset: str, rows: int, sha256: str, seconds: float, unchanged: bool
) -> None:
    """Shows a finished stage on a terminal, where progress is asked for."""
    if workspace.show_progress and sys.stderr.isatty():
        note = "  unchanged" if unchanged else ""
        sys.stderr.write(f"  {asset:<22} {rows:>8,} rows  {sha256[:12]}  {seconds:6.2f} s{note}\n")
        sys.stderr.flush()


def _metadata(workspace: Workspace, artifact: Artifact, facts: Facts) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "dagster/row_count": facts.rows,
        "data_set": workspace.settings.name,
        "sha256": artifact.sha256,
        "bytes": artifact.bytes,
        "file": artifact.path.name,
        **facts.numbers,
    }
    columns = _parquet_columns(artifact.path) if artifact.path.suffix == ".parquet" else facts.columns
    metadata["dagster/column_schema"] = dg.TableSchema(
        columns=[dg.TableColumn(name=name, type=kind) for name, kind in columns.items()]
    )
    if facts.preview:
        metadata["preview"] = dg.MetadataValue.md(table(facts.preview, facts.preview_rows))
    for title, bars in facts.bars.items():
        if bars:
            metadata[f"plot: {title}"] = dg.MetadataValue.md(bar_chart(title, bars))
    return metadata


def _parquet_columns(path: Path) -> dict[str, str]:
    return {item.name: str(item.type) for item in pq.read_schema(path)}


def fields_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Fields of a JSON record and the names of their types, for `Facts.columns`."""
    return {name: type(value).__name__ for name, value in record.items()}


def table(rows: Sequence[Mapping[str, Any]], limit: int = PREVIEW_ROWS) -> str:
    """The first `limit` rows as a Markdown table."""
    import pandas as pd  # slow to load, and of no use where nothing has changed

    frame = pd.DataFrame.from_records(list(rows[:limit]))
    return str(frame.to_markdown(index=False))
