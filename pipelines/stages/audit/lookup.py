"""One case of a finished release, whole: a product or a task with everything that the audit knows about it.

Reads the private evidence, so it belongs to the pipeline; excluded products are found too, though the
catalogue has them no more. Who may print the result is the caller's business: evidence quotes goals.
"""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from pipelines.stages.audit.codes import CODES
from pipelines.stages.audit.options import axis_prices
from shopsim_env.errors import ReleaseError, TaskError, UsageError
from shopsim_env.release import Release, load_release
from shopsim_env.release.layout import EVIDENCE
from shopsim_env.sqlite import ReadOnlyDatabase


def audit_summary(path: Path) -> dict[str, Any]:
    """Findings by code over the whole release, and tasks by code for each published split.

    Raises:
        ReleaseError: a public copy, which has no evidence (code `public_copy`), or a damaged release.
    """
    with load_release(path) as release, _evidence(release) as evidence:
        counts = Counter(row[0] for row in evidence.rows("SELECT code FROM finding"))
        return {
            "release": release.id,
            "codes": [
                {"code": name, "severity": code.severity, "about": code.subject, "findings": counts[name]}
                for name, code in CODES.items()
                if counts[name]
            ],
            "tasks_by_split": release.metrics["audit"],
            "quarantined_tasks": sum("quarantined" in task.labels for task in release.tasks.values()),
        }


def audit_case(path: Path, *, asin: str | None = None, task_id: int | None = None) -> dict[str, Any]:
    """Lineage of one product and its tasks.

    Args:
        path: A release with its private part.
        asin: The product, or
        task_id: one of its tasks.

    Returns:
        `asin`, `state` (`in_catalogue` or `excluded`), `axes` with their distinct prices, `findings` of the
        product, and `tasks`: id, `state` (`active`, or why not), splits, findings, labels by mode, and for
        excluded ones the splits where they would have gone. `unknown` names what a cleaned archive did not
        tell of a product that had left before.

    Raises:
        ReleaseError: a public copy, which has no evidence (code `public_copy`), or a damaged release.
        UsageError: no such product in the raw archive (code `unknown_product`).
        TaskError: no such task in the raw archive (code `unknown_task`).
    """
    with load_release(path) as release, _evidence(release) as evidence:
        wanted = asin if asin is not None else _gold(evidence, task_id)
        lineage = _lineage(release, evidence, wanted)
        tasks = evidence.rows(
            "SELECT task_id, quarantine FROM raw_task WHERE asin = ? ORDER BY task_id", (wanted,)
        )
        would = lineage.pop("would_have_gone", {})
        return {
            "release": release.id,
            "asin": wanted,
            **lineage,
            "findings": _findings(evidence, "asin = ? AND task_id IS NULL", wanted),
            "tasks": [
                _task(release, evidence, number, quarantine, lineage["state"], would)
                for number, quarantine in tasks
                if task_id is None or number == task_id
            ],
        }


def _evidence(release: Release) -> "closing[ReadOnlyDatabase]":
    if release.manifest["public_copy"]:
        raise ReleaseError(
            f"{release.path}: a public copy holds no findings of the audit. Give the full release from which "
            "it was made, data/releases/NAME/current after a build.",
            code="public_copy",
        )
    return closing(ReadOnlyDatabase(release.path / EVIDENCE))


def _gold(evidence: ReadOnlyDatabase, task_id: int | None) -> str:
    known = task_id is not None and 0 <= task_id < 2**63
    rows = evidence.rows("SELECT asin FROM raw_task WHERE task_id = ?", (task_id,)) if known else []
    if not rows:
        raise TaskError(
            f"task {task_id}: expected a task of the raw archive, found none of that id", code="unknown_task"
        )
    return str(rows[0][0])


def _lineage(release: Release, evidence: ReadOnlyDatabase, asin: str) -> dict[str, Any]:
    rows = evidence.rows("SELECT body FROM exclusion WHERE asin = ?", (asin,))
    if rows:
        body = json.loads(rows[0][0])
        kept = ("axes", "price_affecting_axes", "would_have_gone", "unknown")
        return {"state": "excluded", **{name: body[name] for name in kept if name in body}}
    try:
        product = release.product(asin)
    except UsageError as error:
        raise UsageError(
            f"product {asin!r}: expected one of the raw archive, found none of that id in the catalogue or "
            "among the excluded ones",
            code="unknown_product",
        ) from error
    return {"state": "in_catalogue", "axes": axis_prices(product)}


def _task(
    release: Release,
    evidence: ReadOnlyDatabase,
    task_id: int,
    quarantine: str,
    state: str,
    would: dict[str, list[str]],
) -> dict[str, Any]:
    active = state != "excluded" and not quarantine
    labels = evidence.rows(
        "SELECT mode, options, attributes, budget FROM task_label WHERE task_id = ? ORDER BY mode DESC",
        (task_id,),
    )
    return {
        "task_id": task_id,
        "state": "active" if active else quarantine if state != "excluded" else "excluded",
        "splits": [name for name, ids in release.splits.items() if task_id in ids],
        "would_have_gone": would.get(str(task_id), []),
        "findings": _findings(evidence, "task_id = ?", task_id),
        "labels": {
            mode: {"options": json.loads(options), "attributes": json.loads(attributes), "budget": budget}
            for mode, options, attributes, budget in labels
        },
    }


def _findings(evidence: ReadOnlyDatabase, condition: str, value: Any) -> list[dict[str, Any]]:
    rows = evidence.rows(
        f"SELECT code, severity, evidence FROM finding WHERE {condition} ORDER BY id",  # noqa: S608 - ours
        (value,),
    )
    return [
        {"code": code, "severity": severity, "meaning": CODES[code].meaning, "evidence": json.loads(body)}
        for code, severity, body in rows
    ]
