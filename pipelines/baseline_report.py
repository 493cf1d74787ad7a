"""A search baseline as text: totals and domains with intervals, failures by cause."""

from collections.abc import Iterator, Mapping
from typing import Any

_MODES = {"instruction_simple": "simple", "instruction": "full"}
_SHOWN_IDS = 12


def baseline_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Lines to print for a person; `report` comes from `stages.release_baseline.measure_split`."""
    yield f"release {report['release']}"
    yield (
        f"split {report['split']}, {report['task_count']:,} tasks, weights {report['weights']}; "
        "intervals: Wilson, 95 %"
    )
    depths = " ".join(f"{'recall@' + depth:^22}" for depth in report["modes"]["instruction"]["recall"])
    yield f"{'domain':<24} {'text':<6} {'tasks':>6}  {depths} {'mrr':>6}"
    yield from _rows("all", report)
    for name, values in report["domains"].items():
        yield from _rows(name, values)
    for mode, causes in report["failed"].items():
        for cause, ids in causes.items():
            more = f" and {len(ids) - _SHOWN_IDS} more (--json lists all)" if len(ids) > _SHOWN_IDS else ""
            listed = ", ".join(map(str, ids[:_SHOWN_IDS]))
            yield f"failed, {_MODES[mode]} text, {cause}: {len(ids)} tasks: {listed}{more}"


def _rows(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    for mode, result in values["modes"].items():
        if result["task_count"]:
            cells = " ".join(_cell(entry) for entry in result["recall"].values())
            count = result["task_count"]
            yield f"{name:<24} {_MODES[mode]:<6} {count:>6,}  {cells} {result['mrr']:>6.4f}"


def _cell(entry: Mapping[str, Any]) -> str:
    low, high = entry["interval"]
    return f"{entry['rate']:>7.2%} [{low:.1%}, {high:.1%}]".ljust(22)
