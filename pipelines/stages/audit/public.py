"""What of the audit is public, task by task: marks without evidence, and nothing that narrows the goal down.

Belongs here: the choice. Codes about the gold product or the persona would tell something about them, so only
codes about texts pass, and of persona tasks, whose full text is private, none that may rest on it. Of the
derivation labels only the worst one per kind passes: neither the number of goals nor their order shows.
Reasons: docs/decisions/0018-audit.md.
"""

from collections.abc import Collection, Iterable

from pipelines.stages.audit.codes import CODES
from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.labels import PERSONA, TaskLabels, worst
from pipelines.stages.human_exclusions import HUMAN_EXCLUSION

QUARANTINED = "quarantined"


def public_marks(
    findings: Iterable[Finding], labels: Iterable[TaskLabels], quarantined: Collection[int]
) -> dict[int, list[str]]:
    """Task id to its marks, in this order.

    `quarantined`; `code:NAME` for each public code; and `MODE/options=LABEL`, `MODE/attributes=LABEL`,
    `MODE/budget=LABEL` for each mode that the task has. Persona tasks have marks of persona mode alone and no
    code but that of the list by hand: every other one follows from the full text too.
    """
    rows = list(labels)
    persona = {row.task_id for row in rows if row.mode == PERSONA}
    marks = {task_id: [QUARANTINED] for task_id in quarantined}
    for item in findings:
        if item.task_id is None or not CODES[item.code].public:
            continue
        if item.task_id not in persona or item.code == HUMAN_EXCLUSION:
            marks.setdefault(item.task_id, []).append(f"code:{item.code}")
    for row in rows:
        if row.task_id in persona and row.mode != PERSONA:
            continue
        marks.setdefault(row.task_id, []).extend(
            (
                f"{row.mode}/options={worst(row.option_labels)}",
                f"{row.mode}/attributes={worst(row.attribute_labels)}",
                f"{row.mode}/budget={row.budget_label}",
            )
        )
    return marks
