"""`private/evidence.sqlite` of a release: findings, labels, raw tasks and the lineage of excluded products.

Belongs here: writing the file. Its tables are defined in `shopsim_env.release.layout`; who reads it is
`audit.lookup`. The tables of tasks and goals are in `task_tables`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.stages.audit.codes import CODES
from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.labels import TaskLabels
from pipelines.stages.task_ids import TaskRow
from pipelines.stages.task_tables import write_tables
from shopsim_env.canonical import compact_json
from shopsim_env.release import layout


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the audit knows: findings in order, labels, excluded products, and all tasks of the raw corpus."""

    findings: Iterable[Finding]
    labels: Iterable[TaskLabels]
    lineage: Iterable[Mapping[str, Any]]
    tasks: Iterable[TaskRow]


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Writes the SQLite file `path`."""
    write_tables(
        path,
        layout.EVIDENCE_SCHEMA,
        {
            "finding": [
                (
                    number,
                    item.code,
                    CODES[item.code].severity,
                    item.asin,
                    item.task_id,
                    compact_json(item.evidence),
                )
                for number, item in enumerate(evidence.findings, start=1)
            ],
            "task_label": [
                (
                    row.task_id,
                    row.mode,
                    _json(row.option_labels),
                    _json(row.attribute_labels),
                    row.budget_label,
                )
                for row in evidence.labels
            ],
            "exclusion": [(item["asin"], compact_json(item)) for item in evidence.lineage],
            "raw_task": [(task.task_id, task.asin, task.quarantine) for task in evidence.tasks],
        },
    )


def _json(labels: tuple[str, ...]) -> str:
    return compact_json(list(labels))
