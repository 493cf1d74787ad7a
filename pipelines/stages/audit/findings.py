"""Findings: one code about one product or task, with its evidence; the table of them.

Evidence may quote goals, so findings are private; what may be shown of them is codes and counts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.stages.audit.codes import CODES, QUARANTINE
from pipelines.stages.tables import read_rows, write_rows
from shopsim_env.canonical import compact_json

FINDING_SCHEMA = pa.schema(
    [
        pa.field("code", pa.string(), nullable=False),
        pa.field("asin", pa.string(), nullable=False),
        pa.field("task_id", pa.int64()),
        pa.field("evidence", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One reason code. `task_id` is None where the product itself is meant; `evidence` is private."""

    code: str
    asin: str
    task_id: int | None
    evidence: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Finding({self.code}, task_id={self.task_id}, ...)"

    @property
    def quarantines(self) -> bool:
        """Whether the code takes tasks out of the clean splits."""
        return CODES[self.code].severity == QUARANTINE


def write_findings(path: Path, findings: Iterable[Finding]) -> int:
    """Writes `audit.parquet` in the order of table, product and task; returns the number of rows."""
    order = {code: place for place, code in enumerate(CODES)}
    ordered = sorted(
        findings, key=lambda item: (order[item.code], -1 if item.task_id is None else item.task_id, item.asin)
    )
    return write_rows(
        path,
        FINDING_SCHEMA,
        ((item.code, item.asin, item.task_id, compact_json(item.evidence)) for item in ordered),
    )


def read_findings(path: Path) -> Iterator[Finding]:
    """Rows of `audit.parquet`."""
    for code, asin, task_id, evidence in read_rows(path, FINDING_SCHEMA):
        yield Finding(code, asin, task_id, json.loads(evidence))


def quarantine_codes(findings: Iterable[Finding], asin_of: Mapping[int, str]) -> dict[int, tuple[str, ...]]:
    """Task id to the codes that keep it out of the clean splits, its own and its product's.

    Args:
        findings: All findings.
        asin_of: Gold product of every active task.
    """
    products: dict[str, list[str]] = {}
    tasks: dict[int, list[str]] = {}
    for item in findings:
        if item.quarantines:
            if item.task_id is None:
                products.setdefault(item.asin, []).append(item.code)
            else:
                tasks.setdefault(item.task_id, []).append(item.code)
    found = {
        task_id: tuple(dict.fromkeys([*products.get(asin, ()), *tasks.get(task_id, ())]))
        for task_id, asin in sorted(asin_of.items())
    }
    return {task_id: codes for task_id, codes in found.items() if codes}
