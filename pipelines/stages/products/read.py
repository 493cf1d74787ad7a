"""A product file in, `raw_products.parquet` and two reports out; streaming.

Every row becomes a record of the raw archive's schema, checked by the rules of the ingest, or is set aside
with a reason. Belongs here: joining both. The second report, of the mapping, travels in the footer too.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.errors import DatasetError
from pipelines.stages.ingest import RAW_SCHEMA, REPORT_KEY, Ingest, IngestReport, check_pin
from pipelines.stages.json_archive import OnProgress
from pipelines.stages.products.mapping import RowRefused, map_row
from pipelines.stages.products.source import ProductFile, Unreadable, open_products
from pipelines.stages.products.tally import MappingReport, Tally
from pipelines.stages.tables import find_metadata, write_rows
from shopsim_env.canonical import compact_json

_MAPPING_KEY = "product_mapping"


def read_products(
    path: Path,
    out: Path,
    *,
    currency: str,
    expected_sha256: str | None = None,
    on_progress: OnProgress | None = None,
) -> IngestReport:
    """Writes the products of a file as `raw_products.parquet`.

    Args:
        path: Parquet, JSON lines or JSON; see `source.open_products`.
        out: Parquet file with the columns of `RAW_SCHEMA`. `source_product_index` is the row's number in the
            file, from 0; rows set aside leave gaps.
        currency: ISO code; prices in another one are left out and counted.
        expected_sha256: Pin of the file; None for ad hoc data.
        on_progress: Called with (done, all): rows of a parquet file, bytes of another.

    Returns:
        The report of the ingest; products have no tasks.

    Raises:
        DatasetError: Another hash, a damaged container, no row that is a product (code `no_product_mapped`).

    Memory grows by one dict entry a product (its id, to find repeated ones) and eight bytes a row set aside.
    """
    archive_sha256, state, tally = check_pin(path, expected_sha256), Ingest(lenient=False), Tally()
    with open_products(path, on_progress) as file:

        def report() -> IngestReport:
            return state.report(path.name, archive_sha256, file.data_sha256)

        def footer() -> dict[str, str]:
            mapping = tally.report(currency, file.columns_not_read)
            return {
                REPORT_KEY: compact_json(report().as_dict()),
                _MAPPING_KEY: compact_json(mapping.as_dict()),
            }

        write_rows(out, RAW_SCHEMA, state.rows(_records(file, currency, state, tally)), footer)
        return report()


def read_mapping(parquet: Path) -> MappingReport | None:
    """How a product file was mapped; None when the products come from an archive."""
    text = find_metadata(parquet, _MAPPING_KEY)
    return None if text is None else MappingReport.from_dict(json.loads(text))


def _records(
    file: ProductFile, currency: str, state: Ingest, tally: Tally
) -> Iterator[tuple[int, dict[str, Any]]]:
    mapped = 0
    for row in file.rows():
        number, issues = tally.row(), set[str]()
        try:
            record = _record(row, currency, state, issues)
        except RowRefused as refused:
            tally.set_aside(number, refused.reason, refused.source_id)
            continue
        tally.note(issues, record["asin"])
        mapped += 1
        yield number, record
    if not mapped:
        reasons = {name: len(entry.rows) for name, entry in tally.report(currency, set()).set_aside.items()}
        raise DatasetError(
            f"expected at least one row with an id and a title, found none; rows set aside: {reasons}; the "
            "columns are listed in docs/english-catalogues.md",
            code="no_product_mapped",
        )


def _record(row: Any, currency: str, state: Ingest, issues: set[str]) -> dict[str, Any]:
    if isinstance(row, Unreadable):
        raise RowRefused(row.reason)
    record = map_row(row, currency, issues.add)
    if state.knows(record["asin"]):
        raise RowRefused("duplicate_id", record.get("source_id", record["asin"]))
    return record
