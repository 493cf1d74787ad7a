"""A build report as text: stages, checks, missing fields, search baseline, what to try next."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table

from pipelines.build import BuildReport
from pipelines.resources.paths import ROOT
from pipelines.stages.published_figures import OK, PACKING, Figure
from shopsim_env.commands.output import program

_WIDTH = 20
_MODES = {"instruction_simple": "simple", "instruction": "full"}


def build_lines(report: BuildReport) -> Iterator[str]:
    """Lines to print for a person."""
    yield f"data set {report.dataset}, Dagster run {report.run_id}"
    if report.stages:
        yield from _table(("stage", "rows", "sha256", "seconds", ""), _stage_rows(report))
        counts = f"{report.checks_passed} passed, {report.checks_failed} failed"
        yield f"checks: {counts}, {report.checks_unchanged} unchanged"
    yield from (f"warning: {warning}" for warning in report.warnings)
    yield from _ingest_lines(report.ingest)
    baseline = report.metrics.get("search_baseline", {})
    if baseline:
        yield "search baseline (gold product, top 150)"
        yield from _table(
            ("split", "text", "tasks", "recall@1", "recall@20", "recall@150", "mrr@150"),
            _baseline_rows(baseline),
        )
    yield from figure_lines(report.published)
    if report.ok and report.release is None:
        yield "index and baseline rebuilt from the artifacts at hand; no release was published"
        yield "publish them: the same command without --index-only"
    elif report.ok:
        yield f"release {report.release_id}"
        yield f"        {_shown(report.release)}"
        yield _next_step(report)
    else:
        yield "no release was published:"
        yield from (f"  {problem}" for problem in report.problems)


def _next_step(report: BuildReport) -> str:
    """What to try with the release; a catalogue without tasks cannot be played in the Shop."""
    if report.ingest.get("task_count") == 0:
        return f"search it (there are no tasks): {program()} search QUERY --release {_shown(report.release)}"
    return f"play it: {program()} play --release {_shown(report.release)}"


def figure_lines(figures: Sequence[Figure]) -> Iterator[str]:
    """The published figures as a table, and what the verdicts mean."""
    if not figures:
        return
    yield "published figures"
    yield from _table(("figure", "expected", "found", ""), map(_figure_row, figures))
    good = sum(figure.status == OK for figure in figures)
    yield f"{good} of {len(figures)} published figures reproduced"
    if any(figure.status == PACKING for figure in figures):
        yield "packing: the data inside are the published ones, the packed bytes come from another zlib"


def _figure_row(figure: Figure) -> tuple[str, ...]:
    return figure.name, _short(figure.expected), _short(figure.found), figure.status


def _short(value: Any) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _stage_rows(report: BuildReport) -> Iterator[tuple[str, ...]]:
    for stage in report.stages:
        note = "unchanged" if stage.unchanged else ""
        yield stage.asset, f"{stage.rows:,}", stage.sha256[:12], f"{stage.seconds:.2f}", note


def _ingest_lines(ingest: Mapping[str, Any]) -> Iterator[str]:
    gaps = ingest.get("gaps", {})
    if gaps:
        yield "fields without a value"
        yield from _table(("field", "records", "why"), _gap_rows(gaps))
    for name, count in ingest.get("unknown_keys", {}).items():
        yield f"unknown key: {name} {count:,} (carried in the cleaned export, never public; misspelt?)"
    for reason, count in ingest.get("quarantined", {}).items():
        yield f"quarantined: {reason} {count}"
    mapping = ingest.get("mapping", {})
    for reason, count in mapping.get("set_aside", {}).items():
        yield f"set aside: {reason} {count:,} of {mapping['rows']:,} rows"
    for note, count in mapping.get("left_out", {}).items():
        yield f"left out or changed: {note} in {count:,} products"


def _gap_rows(gaps: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, ...]]:
    for name, reasons in gaps.items():
        why = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
        yield name, f"{sum(reasons.values()):,}", why


def _baseline_rows(baseline: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for split, result in baseline.items():
        for mode, values in result["modes"].items():
            rates = [values["recall"][depth]["rate"] for depth in ("1", "20", "150")]
            yield (
                split,
                _MODES[mode],
                f"{values['task_count']:,}",
                *("-" if rate is None else f"{rate:.2%}" for rate in rates),
                "-" if values["mrr"] is None else f"{values['mrr']:.4f}",
            )


def _table(headings: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    table = Table(box=None, pad_edge=True, header_style=None)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    buffer = StringIO()
    Console(file=buffer, width=120, no_color=True).print(table)
    yield from buffer.getvalue().rstrip().splitlines()


def _shown(path: str | None) -> str:
    text = str(path or "")
    prefix = f"{ROOT}/"
    return text.removeprefix(prefix)
