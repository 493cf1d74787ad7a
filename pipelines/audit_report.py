"""The text form of the audit: the table of codes, and one case with its lineage."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def summary_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Codes with their findings, and how many tasks of each split have them."""
    yield f"release {report['release'][:16]}, {report['quarantined_tasks']} quarantined tasks"
    yield f"{'code':<28} {'severity':<11} {'about':<8} findings"
    for row in report["codes"]:
        yield f"{row['code']:<28} {row['severity']:<11} {row['about']:<8} {row['findings']:>8,}"
    for split, counts in report["tasks_by_split"].items():
        yield f"{split}: " + (", ".join(f"{code} {count}" for code, count in counts.items()) or "no code")


def case_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """One product, its axes and its tasks."""
    yield f"product {report['asin']}  {report['state']}"
    varying = report.get("price_affecting_axes", ())
    for axis in report["axes"]:
        prices = ", ".join(f"{price:g}" for price in axis["prices"])
        more = ", ..." if axis["distinct_prices"] > len(axis["prices"]) else ""
        mark = "  changes the price" if axis["axis"] in varying else ""
        yield (
            f"  axis {axis['axis']}: {axis['values']} values, {axis['distinct_prices']} distinct prices "
            f"({prices}{more}){mark}"
        )
    if report.get("unknown"):
        yield f"  left before this archive was made; unknown: {', '.join(report['unknown'])}"
    yield from _finding_lines(report["findings"], "  ")
    for task in report["tasks"]:
        yield f"  task {task['task_id']}  {task['state']}"
        if task["splits"]:
            yield f"    in {', '.join(task['splits'])}"
        if task["would_have_gone"]:
            yield f"    would have gone to {', '.join(task['would_have_gone'])}"
        yield from _finding_lines(task["findings"], "    ")
        for mode, labels in task["labels"].items():
            yield f"    {mode}, options: {_words(labels['options'])}"
            yield f"    {mode}, attributes: {_words(labels['attributes'])}"
            yield f"    {mode}, budget: {labels['budget']}"


def _finding_lines(findings: list[dict[str, Any]], indent: str) -> Iterator[str]:
    for item in findings:
        yield f"{indent}{item['code']} ({item['severity']}): {item['meaning']}"
        if item["evidence"]:
            yield f"{indent}  {json.dumps(item['evidence'], ensure_ascii=False)}"


def _words(labels: list[str]) -> str:
    return ", ".join(labels) or "none"
