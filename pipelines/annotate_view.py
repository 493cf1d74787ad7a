"""What `shopsim annotate` shows: plan and run as lines, progress as a bar. Counts and ids, never a text."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pipelines.annotate import AnnotateReport
from pipelines.resources.annotator import Progress as OnProgress
from pipelines.resources.annotator import RunReport
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.plan import Plan
from pipelines.stages.annotation.prompt import PROMPT_SHA256


def import_lines(report: AnnotateReport) -> Iterator[str]:
    """One line for each imported file."""
    for name, counts in report.imported.items():
        shown = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        yield f"import {name}: {shown}"


def plan_lines(plan: Plan, settings: AnnotationSettings) -> Iterator[str]:
    """The plan for a person."""
    yield (
        f"persona tasks   {plan.tasks:,}, resolved {plan.resolved:,}, "
        f"left to the run-time parser {plan.fallback:,}"
    )
    answered = f"simple {plan.cached_simple:,}, full {plan.cached_full:,}, expired {plan.expired:,}"
    yield f"cached answers  {answered}"
    ignored = ", ".join(
        f"{name} {count:,}" for name, count in plan.cache.items() if count and name != "lines"
    )
    yield f"cache lines     {plan.cache['lines']:,}" + (f" ({ignored})" if ignored else "")
    yield (
        f"pending         simple {plan.pending_simple:,}, full {plan.pending_full:,}; up to "
        f"{plan.full_possible:,} full texts may follow"
    )
    cap = "no cap" if plan.capped_at is None else f"capped at {plan.capped_at:,} instructions"
    yield f"to ask now      {plan.requests:,} instructions, {cap}, about {plan.minutes:g} minutes"
    yield (
        f"                tokens about {plan.input_tokens:,} in, {plan.output_tokens:,} out; "
        f"cost {_cost(plan.cost, plan.currency)}"
    )
    most = plan.at_most
    yield (
        f"at most         {most.requests:,} instructions with the full texts that may follow, "
        f"{most.minutes:g} minutes"
    )
    yield (
        f"                tokens {most.input_tokens:,} in, {most.output_tokens:,} out; "
        f"cost {_cost(most.cost, plan.currency)}; retries come on top"
    )
    yield f"endpoint        {settings.api_url}, model {settings.model}, prompt {PROMPT_SHA256[:12]}"
    yield (
        f"limits          {settings.requests_per_minute} requests a minute, {settings.workers} in flight; "
        f"key from {settings.api_key_env}"
    )


def builds_lines(report: AnnotateReport, dataset: str) -> Iterator[str]:
    """Says when the answers are not what builds of the data set read."""
    if report.builds_read is not None:
        yield f"builds          of {dataset} read recorded annotations and not these answers:"
        yield f"                {report.builds_read};"
        yield f"                `shopsim build --dataset {dataset} --annotations cache` takes the answers"


def run_lines(report: AnnotateReport, settings: AnnotationSettings) -> Iterator[str]:
    """What the paid run did, for a person."""
    run = report.run
    if run is None:
        return
    yield (
        f"{run.ended}: {run.stored:,} answers stored, {run.instructions:,} instructions, "
        f"{run.requests:,} requests in {run.seconds:,.1f} s"
    )
    yield (
        f"tokens {run.input_tokens:,} in, {run.output_tokens:,} out; "
        f"cost {_cost(run.cost, settings.currency)}; rate-limit waves {run.waves}, "
        f"last rate {run.requests_per_minute} a minute"
    )
    for code, count in sorted(run.retried.items()):
        yield f"failed and retried: {code} {count:,}"
    if run.given_up:
        shown = ", ".join(f"{task_id}:{name} {code}" for task_id, name, code in run.given_up[:10])
        yield f"given up: {len(run.given_up)} instructions ({shown}); run again, or --runtime-regex-task-id"
    if report.error is not None:
        yield f"{report.error.code}: {report.error}"


@contextmanager
def progress_bar(settings: AnnotationSettings, *, show: bool) -> Iterator[OnProgress]:
    """A bar on a terminal: instructions, rate, time left, tokens, cost. Elsewhere it does nothing."""
    if not (show and sys.stderr.isatty()):
        yield lambda _report, _total: None
        return
    columns = (
        TextColumn("  annotate"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("annotate", total=None, facts="")

        def advance(report: RunReport, total: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            facts = progress_facts(report, elapsed, settings)
            bar.update(task, completed=report.stored + len(report.given_up), total=total, facts=facts)

        yield advance


def progress_facts(report: RunReport, seconds: float, settings: AnnotationSettings) -> str:
    """Rate, tokens and cost so far."""
    rate = 60 * report.requests / seconds if seconds > 0 else 0.0
    tokens = report.input_tokens + report.output_tokens
    cost = _cost(report.cost, settings.currency)
    return f"{rate:.0f}/min, {tokens:,} tokens, {cost}" + (f", waves {report.waves}" if report.waves else "")


def _cost(cost: float | None, currency: str) -> str:
    return "not known (no prices in configs/annotation.toml)" if cost is None else f"{cost:,.2f} {currency}"
