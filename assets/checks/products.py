"""What must hold of the quality report, and the warning when many rows of a product file were set aside."""

from collections.abc import Iterator
from itertools import chain

from assets._inputs import document
from assets.checks.blocking import blocking_check, warning_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.ingest import iter_records
from pipelines.stages.products.quality import catalogue_quality
from pipelines.stages.products.read import read_mapping

# Part of a product file that may be set aside without a warning.
TOLERANCE = 0.05


@blocking_check("catalogue_quality")
def every_row_accounted_for(work: Workspace) -> Iterator[str]:
    """Each row of a product file is a product or is set aside with a reason, once; as many as configured."""
    report, raw = document(work, "catalogue_quality"), work.store.path("raw_products")
    mapping = read_mapping(raw)
    aside = [number for entry in report["set_aside"].values() for number in entry["rows"]]
    if mapping is None:
        # Every row of an archive is a product: the ingest refuses others.
        yield from [f"{len(aside)} rows of an archive set aside"] if aside else []
    else:
        times = bytearray(mapping.rows)
        for number in chain(aside, (row.source_product_index for row in iter_records(raw))):
            if not 0 <= number < len(times):
                yield f"row {number}: not in the file"
            elif times[number]:
                yield f"row {number}: twice"
            else:
                times[number] = 1
        yield from (f"row {number}: lost" for number, count in enumerate(times) if not count)
    wanted = work.settings.expected.set_aside_rows
    if wanted is not None and wanted != len(aside):
        yield f"set_aside_rows: expected {wanted}, found {len(aside)}"


@blocking_check("catalogue_quality")
def quality_follows_from_products(work: Workspace) -> Iterator[str]:
    """The report is what the products and the footer of their file say, counted once more."""
    raw = work.store.path("raw_products")
    found = document(work, "catalogue_quality")
    expected = catalogue_quality(iter_records(raw), read_mapping(raw), work.settings.currency)
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            yield f"{name}: does not follow from the products"


@warning_check("catalogue_quality")
def few_rows_set_aside(work: Workspace) -> Iterator[str]:
    """At most one row in twenty of a product file was set aside."""
    report = document(work, "catalogue_quality")
    for reason, entry in report["set_aside"].items():
        if len(entry["rows"]) > TOLERANCE * report["rows"]:
            yield f"{reason}: {len(entry['rows'])} of {report['rows']} rows"
