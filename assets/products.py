"""Group `catalog`, after the raw products: the quality report of the catalogue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._materialize import OWNERS, Facts, fields_of, materialize
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.ingest import iter_records, read_report
from pipelines.stages.products.quality import catalogue_quality as report_quality
from pipelines.stages.products.read import read_mapping
from shopsim_env.canonical import pretty_json

QUALITY = code_version("catalogue_quality", "pipelines.stages.products.quality")


@dg.asset(
    deps=["raw_products"],
    group_name="catalog",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=QUALITY,
)
def catalogue_quality(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """What products lack, repeat or had to leave out, and which rows of a product file were set aside."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        raw = work.store.path("raw_products")
        rows = work.tracked("catalogue_quality", iter_records(raw), read_report(raw).product_count)
        report = report_quality(rows, read_mapping(raw), work.settings.currency)
        path.write_bytes(pretty_json(report).encode("utf-8"))
        return _quality_facts(report)

    name = "catalogue_quality.json"
    return materialize(work, "catalogue_quality", name, QUALITY, write, parents=("raw_products",))


def _quality_facts(report: dict[str, Any]) -> Facts:
    rows = list(_table_rows(report))
    aside = sum(len(entry["rows"]) for entry in report["set_aside"].values())
    return Facts(
        report["products"],
        numbers={
            "currency": report["currency"],
            "source_rows": report["rows"],
            "set_aside": aside,
            "categories": report["categories"]["paths"],
            "columns_not_read": ", ".join(report["columns_not_read"]) or "none",
        },
        preview=rows,
        preview_rows=len(rows),
        bars={
            "rows of the source": {"products": report["products"], "set aside": aside},
            "what is missing, repeated, left out or set aside": {row["what"]: row["count"] for row in rows},
            "products by depth of the category": report["categories"]["depth"],
        },
        columns=fields_of(report),
    )


def _table_rows(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Counts with ids of a few cases; of rows set aside the first numbers too."""
    for reason, entry in report["set_aside"].items():
        yield _row("set aside", reason, len(entry["rows"]), entry)
    for kind in ("left_out", "gaps"):
        for issue, entry in report[kind].items():
            yield _row(kind.replace("_", " "), issue, entry["products"], entry)


def _row(kind: str, what: str, count: int, entry: dict[str, Any]) -> dict[str, Any]:
    first = ", ".join(map(str, entry.get("rows", ())[:3]))
    return {
        "kind": kind,
        "what": what,
        "count": count,
        "ids": ", ".join(entry["examples"]),
        "first rows": first,
        "meaning": entry["meaning"],
    }
