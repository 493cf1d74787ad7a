"""The service behind `shopsim annotate`: persona tasks of an archive, imports, plan, paid run, one report.

Belongs here: the order of these steps. Parsing and printing are in `cli_annotate` and `annotate_view`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines.errors import ConfigError
from pipelines.resources.annotation_run import AnnotationJob, left_to_parser
from pipelines.resources.annotator import Progress, RunReport
from pipelines.resources.workspace import Workspace
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.plan import Plan
from pipelines.stages.human_exclusions import HUMAN_EXCLUSION
from pipelines.stages.ingest import iter_records, read_archive
from pipelines.stages.price_axes import excluded_products, find_exclusions
from pipelines.stages.task_ids import assign_task_ids, set_aside
from shopsim_env.errors import ShopSimError


@dataclass
class AnnotateReport:
    """What one call did. `error` is what ended the paid run, `imported` counts per imported file.

    `builds_read` is the recorded file that builds of the data set read in place of the answers, None where
    they read the answers.
    """

    plan: Plan
    imported: dict[str, dict[str, int]] = field(default_factory=dict)
    builds_read: str | None = None
    run: RunReport | None = None
    error: ShopSimError | None = None

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for was done; a cap that was reached is no failure."""
        return self.error is None and (self.run is None or self.run.ended in ("done", "capped"))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        value: dict[str, Any] = {
            "ok": self.ok,
            "plan": self.plan.as_dict(),
            "import": self.imported,
            "builds_read": self.builds_read,
        }
        if self.run is not None:
            value["run"] = self.run.as_dict()
        if self.error is not None:
            value["error"] = {"code": self.error.code, "message": str(self.error)}
        return value


def annotation_job(
    work: Workspace,
    settings: AnnotationSettings,
    skip: frozenset[int],
    max_requests: int | None,
) -> AnnotationJob:
    """The job for the archive of a workspace.

    Args:
        work: Archive, cache, and the tasks that the data set leaves to the run-time parser.
        settings: Endpoint, limits, expiry.
        skip: More tasks to leave to the run-time parser.
        max_requests: Cap in instructions; None: that of the settings.

    Raises:
        ConfigError: no archive there, or a cap below 1.
        DatasetError: the archive breaks a rule of the ingest.
    """
    if not work.archive.is_file():
        raise ConfigError(
            f"data set {work.settings.name}: expected a file at {work.archive}, found none; give another "
            "with --raw",
            code="input_missing",
        )
    sha256, tasks = eligible_tasks(work)
    left = left_to_parser(work.settings.runtime_regex_task_ids, tasks, skip)
    cap = settings.max_requests if max_requests is None else max_requests
    return AnnotationJob(settings, work.answers, sha256, tasks, left, cap)


def eligible_tasks(work: Workspace) -> tuple[str, list[PersonaTask]]:
    """Hash of the raw archive, and its active persona tasks, by the same stages as in a build."""
    if work.cleaned_manifest is not None:
        raise ConfigError(
            f"data set {work.settings.name}: expected a raw archive, found a cleaned one, which has its "
            "annotations already; give the raw archive with --raw and another --dataset",
            code="source_unclear",
        )
    with TemporaryDirectory(prefix="shopsim-annotate-") as folder:
        rows = Path(folder) / "raw_products.parquet"
        report = read_archive(
            work.archive,
            rows,
            lenient=work.settings.lenient,
            expected_sha256=work.settings.archive_sha256,
        )
        numbered = assign_task_ids(iter_records(rows))
        tasks = set_aside(numbered, work.exclusions.tasks, HUMAN_EXCLUSION)
        exclusions = find_exclusions(iter_records(rows), tasks, work.exclusions.asins)
        return report.archive_sha256, persona_tasks(iter_records(rows), tasks, excluded_products(exclusions))


def import_files(job: AnnotationJob, files: Sequence[Path]) -> dict[str, dict[str, int]]:
    """Imports each file into the cache and returns its counts by file name."""
    return {str(path): dict(job.import_file(path).counts) for path in files}


def run_paid(job: AnnotationJob, report: AnnotateReport, progress: Progress) -> None:
    """Runs the plan against the paid endpoint; what ends it early lands in the report.

    Raises:
        ConfigError: no key, or another process writes the cache; nothing was asked.
        KeyboardInterrupt: Ctrl-C; requests in flight were stored, the report is complete.
    """
    with job.annotator(progress) as annotator:
        report.run = annotator.report
        try:
            job.run(annotator)
        except ShopSimError as error:
            report.error = error
