"""The one resource of all assets: which data set, where its artifacts are, how progress is shown.

Run config of this resource chooses the data set, so the UI's launchpad and `shopsim build` agree.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pipelines.errors import ConfigError
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.paths import ARTIFACTS, CACHE, CONFIGS, RELEASES, ROOT
from pipelines.settings import (
    AnnotationSettings,
    AnnotatorSettings,
    DatasetSettings,
    adhoc_dataset,
    configured_datasets,
    load_annotation,
    load_dataset,
)
from pipelines.stages.annotation.prompt import PROMPT_SHA256

ANSWERS_NAME = "price_annotations.jsonl"
ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Workspace:
    """Resolved settings and folders of one run.

    `annotations` is the recorded annotation file; None: answers come from the cache file `answers`.
    """

    settings: DatasetSettings
    annotation: AnnotationSettings
    store: ArtifactStore
    archive: Path
    annotations: Path | None
    answers: Path
    releases: Path
    out: Path | None
    force: bool
    show_progress: bool

    @contextmanager
    def progress(self, label: str) -> Iterator[ProgressCallback]:
        """A progress bar on a terminal, where asked for; yields `callback(done, total)`."""
        if not (self.show_progress and sys.stderr.isatty()):
            yield lambda _done, _total: None
            return
        columns = (TextColumn(f"  {label}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


class WorkspaceResource(dg.ConfigurableResource):
    """Data set and folders of a run. Every field can be set in the launchpad or by `shopsim build`."""

    dataset: str = "sample"
    raw: str | None = None
    annotations: str | None = None
    lenient: bool | None = None
    runtime_regex_task_ids: list[int] = []  # noqa: RUF012 - a pydantic field, copied per instance
    runtime_regex_all: bool = False
    out: str | None = None
    force: bool = False
    show_progress: bool = False
    configs_root: str | None = None
    artifacts_root: str | None = None
    releases_root: str | None = None
    cache_root: str | None = None
    annotation_config: str | None = None

    def open(self) -> Workspace:
        """Resolves the configuration; paths are relative to the repository root."""
        annotation = load_annotation(self._annotation_config())
        settings = self._settings(annotation)
        recorded = settings.recorded_annotations
        return Workspace(
            settings=settings,
            annotation=annotation,
            store=ArtifactStore(Path(self.artifacts_root or ARTIFACTS) / settings.name, settings.digest()),
            archive=ROOT / settings.archive,
            annotations=ROOT / recorded if recorded else None,
            answers=Path(self.cache_root or CACHE) / ANSWERS_NAME,
            releases=Path(self.releases_root or RELEASES) / settings.name,
            out=ROOT / self.out if self.out else None,
            force=self.force,
            show_progress=self.show_progress,
        )

    def _annotation_config(self) -> Path:
        if self.annotation_config is None:
            return Path(self.configs_root or CONFIGS) / "annotation.toml"
        path = ROOT / self.annotation_config
        if not path.is_file():
            raise ConfigError(f"expected annotation settings at {path}, found no file", code="input_missing")
        return path

    def _settings(self, annotation: AnnotationSettings) -> DatasetSettings:
        configs = Path(self.configs_root or CONFIGS)
        if self.raw is None or self.dataset in configured_datasets(configs):
            settings = load_dataset(configs, self.dataset)
        else:
            settings = adhoc_dataset(self.dataset, Path(self.raw))
        listed = "all" if self.runtime_regex_all else tuple(self.runtime_regex_task_ids) or None
        changes = {
            "archive": self.raw,
            "annotations": self.annotations,
            "lenient": self.lenient,
            "runtime_regex_task_ids": listed,
        }
        settings = settings.model_copy(
            update={key: value for key, value in changes.items() if value is not None}
        )
        if settings.recorded_annotations is not None:
            return settings
        asked = AnnotatorSettings(
            model=annotation.model, api_url=annotation.api_url, prompt_sha256=PROMPT_SHA256
        )
        # Part of the settings' digest: answers of two models never meet in a release.
        return settings.model_copy(update={"annotator": asked})
