"""The one resource of all assets: which data set, where its artifacts are, how progress is shown.

Run config of this resource chooses the data set, so the UI's launchpad and `shopsim build` agree.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import dagster as dg
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pipelines.errors import ConfigError
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.mapper import LOCAL, load_workers
from pipelines.resources.memo import Memos
from pipelines.resources.paths import ARTIFACTS, CACHE, CONFIGS, RELEASES, ROOT
from pipelines.resources.reads import Reads, noted, setting_digests
from pipelines.resources.tagger import load_tagger
from pipelines.settings import (
    AnnotationSettings,
    AnnotatorSettings,
    Currency,
    DatasetSettings,
    ProjectSplits,
    adhoc_dataset,
    configured_datasets,
    load_annotation,
    load_dataset,
)
from pipelines.stages.annotation.prompt import PROMPT_SHA256
from pipelines.stages.cleaned_source import AUDIT_NAME, EXCLUSIONS_NAME
from pipelines.stages.human_exclusions import HumanExclusions, load_exclusions
from pipelines.stages.processes import Workers
from shopsim_env.canonical import sha256_file
from shopsim_env.text.nouns import Tagger

ANSWERS_NAME = "price_annotations.jsonl"
ProgressCallback = Callable[[int, int], None]
_Item = TypeVar("_Item")
_SHOWN_EVERY = 64
_CURRENT = "current/"
EXCLUSIONS = "human_exclusions"


@dataclass(frozen=True, slots=True)
class Files:
    """Files outside the artifact store that a run reads. `annotations` None: answers come from the cache.

    `current` is the folder of the release before; there is none before the first one.
    """

    archive: Path
    cleaned_manifest: Path | None
    annotations: Path | None
    current: Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """Resolved settings and folders of one asset or check in a run; notes in `reads` what is asked for.

    `annotation` and the cache file `answers` are not noted: what reads them is always made anew.
    """

    settings: DatasetSettings
    annotation: AnnotationSettings
    answers: Path
    store: ArtifactStore
    reads: Reads
    memos: Memos
    files: Files
    listed: HumanExclusions
    releases: Path
    out: Path | None
    force: bool
    rerun: bool
    show_progress: bool
    mapper: str

    @property
    def archive(self) -> Path:
        """The raw archive; its content counts as an input of whoever asks."""
        self._note("archive")
        return self.files.archive

    @property
    def cleaned_manifest(self) -> Path | None:
        """The manifest of a cleaned archive; it and the list beside it count as an input of whoever asks."""
        self._note("cleaned_manifest")
        return self.files.cleaned_manifest

    @property
    def annotations(self) -> Path | None:
        """The recorded annotations; their content counts as an input of whoever asks."""
        self._note("annotations")
        return self.files.annotations

    def released(self, name: str) -> Path | None:
        """A file of the release before, None where there is none; its content counts as an input."""
        self._note(f"{_CURRENT}{name}")
        path = self.files.current / name
        return path if path.is_file() else None

    @property
    def exclusions(self) -> HumanExclusions:
        """The exclusion list by hand, which counts as a setting of whoever asks."""
        self.reads.settings[EXCLUSIONS] = self.listed.document_sha256()
        return self.listed

    def tagger(self) -> Tagger:
        """The configured tagger; its fingerprint counts as an input of whoever asks."""
        tagger = load_tagger(self.settings.tagger)
        self.reads.outside["tagger"] = tagger.fingerprint
        return tagger

    def workers(self) -> Workers:
        """Processes for a heavy stage; no input, as results do not depend on them."""
        return load_workers(self.mapper)

    def _note(self, name: str) -> None:
        self.reads.outside[name] = outside_digest(name, self.files, self.settings)

    @contextmanager
    def progress(self, label: str) -> Iterator[ProgressCallback]:
        """A progress bar on a terminal, where asked for; yields `callback(done, total or 0)`."""
        if not (self.show_progress and sys.stderr.isatty()):
            yield lambda _done, _total: None
            return
        columns = (TextColumn(f"  {label}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)

    def tracked(self, label: str, items: Iterable[_Item], total: int = 0) -> Iterator[_Item]:
        """The items as they are, with a progress bar over them that ends with the last one.

        Args:
            label: Name of the stage.
            items: Anything; read as it is asked for.
            total: Number of items; 0 where it is not known.
        """
        with self.progress(label) as on_progress:
            for number, item in enumerate(items, start=1):
                yield item
                if number % _SHOWN_EVERY == 0 or number == total:
                    on_progress(number, total)


def outside_digest(name: str, files: Files, settings: DatasetSettings) -> str:
    """Present digest of an input outside the store; "" for no file.

    Args:
        name: `tagger`, a field of `Files`, or `current/NAME` for a file of the release before.
        files: Where they are.
        settings: Names the tagger.
    """
    if name == "tagger":
        return load_tagger(settings.tagger).fingerprint
    released = name.startswith(_CURRENT)
    path: Path | None = files.current / name.removeprefix(_CURRENT) if released else getattr(files, name)
    if path is None:
        return ""
    paths = [path, path.with_name(EXCLUSIONS_NAME)] if name == "cleaned_manifest" else [path]
    # The name counts too: whether a file is unpacked depends on it.
    return " ".join(f"{each.name} {sha256_file(each)}" for each in paths if each.is_file())


class WorkspaceResource(dg.ConfigurableResource):
    """Data set and folders of a run. Every field can be set in the launchpad or by `shopsim build`."""

    dataset: str = "sample"
    raw: str | None = None
    products: str | None = None
    currency: str | None = None
    from_cleaned: str | None = None
    manifest: str | None = None
    annotations: str | None = None
    lenient: bool | None = None
    runtime_regex_task_ids: list[int] = []  # noqa: RUF012 - a pydantic field, copied per instance
    runtime_regex_all: bool = False
    project_splits: dict[str, int] = {}  # noqa: RUF012 - a pydantic field, copied per instance
    out: str | None = None
    force: bool = False
    rerun: bool = False
    show_progress: bool = False
    configs_root: str | None = None
    artifacts_root: str | None = None
    releases_root: str | None = None
    cache_root: str | None = None
    annotation_config: str | None = None
    mapper: str = LOCAL

    def open(self) -> Workspace:
        """Resolves the configuration; paths are relative to the repository root."""
        annotation, reads = load_annotation(self._annotation_config()), Reads()
        settings = self._settings(annotation)
        listed = load_exclusions(Path(self.configs_root or CONFIGS), settings.name)
        # An edited list, its version alone too, makes what reads it stale, as an edited setting does.
        digests = {**setting_digests(settings), EXCLUSIONS: listed.document_sha256()}
        store = ArtifactStore(self.artifacts() / settings.name, digests, reads)
        manifest = ROOT / settings.cleaned_manifest if settings.cleaned_manifest else None
        recorded = settings.recorded_annotations
        annotations = ROOT / recorded if recorded else None
        releases = Path(self.releases_root or RELEASES) / settings.name
        files = Files(ROOT / settings.archive, manifest, annotations, releases / "current")
        return Workspace(
            settings=noted(settings, reads),
            annotation=annotation,
            answers=Path(self.cache_root or CACHE) / ANSWERS_NAME,
            store=store,
            reads=reads,
            memos=Memos(store, digests, lambda name: outside_digest(name, files, settings)),
            files=files,
            listed=listed,
            releases=releases,
            out=ROOT / self.out if self.out else None,
            force=self.force,
            rerun=self.rerun,
            show_progress=self.show_progress,
            mapper=self.mapper,
        )

    def artifacts(self) -> Path:
        """Folder of the artifacts of all data sets."""
        return Path(self.artifacts_root or ARTIFACTS)

    def _annotation_config(self) -> Path:
        if self.annotation_config is None:
            return Path(self.configs_root or CONFIGS) / "annotation.toml"
        path = ROOT / self.annotation_config
        if not path.is_file():
            raise ConfigError(f"expected annotation settings at {path}, found no file", code="input_missing")
        return path

    def _settings(self, annotation: AnnotationSettings) -> DatasetSettings:
        configs = Path(self.configs_root or CONFIGS)
        source = self._source()
        if source is None or self.dataset in configured_datasets(configs):
            settings = load_dataset(configs, self.dataset)
        else:
            settings = adhoc_dataset(self.dataset, Path(source), products=self.products is not None)
        if self.manifest is not None:
            # Its annotations lie beside it; those of the raw archive may be of another recording.
            settings = settings.model_copy(update={"annotations": self._audit_beside(Path(self.manifest))})
        listed = "all" if self.runtime_regex_all else tuple(self.runtime_regex_task_ids) or None
        changes = {
            "archive": source,
            "source": source and ("products" if self.products else "archive"),
            "currency": self._currency(),
            "cleaned_manifest": self.manifest,
            "annotations": self.annotations,
            "lenient": self.lenient,
            "runtime_regex_task_ids": listed,
        }
        kept = {key: value for key, value in changes.items() if value is not None}
        settings = settings.model_copy(update=kept | {"project_splits": self._project_splits(settings)})
        if settings.recorded_annotations is not None:
            return settings
        asked = AnnotatorSettings(
            model=annotation.model, api_url=annotation.api_url, prompt_sha256=PROMPT_SHA256
        )
        # A setting like any other: what was made under one model is stale under the next.
        return settings.model_copy(update={"annotator": asked})

    def _project_splits(self, settings: DatasetSettings) -> ProjectSplits:
        """The configured policy with the values that this run replaces."""
        policy = settings.project_splits.model_dump() | self.project_splits
        try:
            return ProjectSplits.model_validate(policy)
        except ValidationError as error:
            problems = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
            raise ConfigError(f"project splits: {problems}", code="bad_sizes") from None

    def _source(self) -> str | None:
        """The archive that this run names, if any."""
        named = [name for name in (self.from_cleaned, self.raw, self.products) if name]
        if (self.from_cleaned is None) != (self.manifest is None) or len(named) > 1:
            raise ConfigError(
                "expected --raw FILE, or --products FILE, or --from-cleaned FILE together with --manifest "
                "FILE, found others",
                code="source_unclear",
            )
        return named[0] if named else None

    def _currency(self) -> str | None:
        """The currency that this run names, if any."""
        try:
            return None if self.currency is None else TypeAdapter(Currency).validate_python(self.currency)
        except ValidationError:
            raise ConfigError(
                f"--currency: expected an ISO code such as USD, found {self.currency!r}"
            ) from None

    @staticmethod
    def _audit_beside(manifest: Path) -> str | None:
        path = manifest.with_name(AUDIT_NAME)
        return str(path) if (ROOT / path).is_file() else None
