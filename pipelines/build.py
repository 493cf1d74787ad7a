"""Runs the build job through Dagster in this process and condenses its events into one report."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import dagster as dg

from pipelines.definitions import defs
from pipelines.errors import ConfigError
from pipelines.failure_text import CHECK_EVENT, findings_of, is_blocking, problems_of
from pipelines.index_only import INDEX_ASSETS, INDEX_INPUTS, require_inputs
from pipelines.jobs import BUILD_RELEASE
from pipelines.resources.debris import remove_debris
from pipelines.resources.paths import dagster_home
from pipelines.resources.run_history import open_history
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.ingest import read_report
from pipelines.stages.products.read import read_mapping
from pipelines.stages.published_baseline import compare_baseline
from pipelines.stages.published_figures import Figure, compare_figures
from pipelines.stages.published_json import read_json
from pipelines.stages.release import PUBLISHED_NAMES


@dataclass(frozen=True)
class StageResult:
    """One materialized asset: records, SHA-256 of its file, seconds of work (checks apart).

    `unchanged`: nothing was written, because everything that it comes from is proven to be the same.
    """

    asset: str
    rows: int
    sha256: str
    seconds: float
    unchanged: bool


@dataclass(frozen=True)
class BuildReport:
    """What a build did. `problems` is empty exactly when `ok`.

    `warnings` are of checks that stop nothing. `published` compares the data set's published figures; one
    that differs does not stop the build.
    """

    ok: bool
    run_id: str
    dataset: str
    stages: list[StageResult]
    checks_passed: int
    checks_failed: int
    checks_unchanged: int = 0
    release: str | None = None
    release_id: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    ingest: Mapping[str, Any] = field(default_factory=dict)
    published: list[Figure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def reproduced(self) -> bool:
        """Whether every published figure of the data set came out."""
        return not any(figure.failed for figure in self.published)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


def run_build(
    config: Mapping[str, Any], *, instance: dg.DagsterInstance | None = None, index_only: bool = False
) -> BuildReport:
    """Materializes everything for one data set, or its index and baseline alone.

    Args:
        config: Fields of `WorkspaceResource`.
        instance: Dagster instance; None takes the one of DAGSTER_HOME, project-local by default, so that the
            UI shows the run.
        index_only: Rebuild the assets of `INDEX_ASSETS` from the artifacts of an earlier build with the same
            options, and publish nothing.
    """
    if instance is not None:
        return _run(config, instance, index_only)
    home = dagster_home()
    os.environ["DAGSTER_HOME"] = str(home)
    with open_history(home) as own:
        return _run(config, own, index_only)


def _run(config: Mapping[str, Any], instance: dg.DagsterInstance, index_only: bool) -> BuildReport:
    workspace = WorkspaceResource(**config).open()
    if index_only:
        for asset in INDEX_INPUTS:
            workspace.store.describe(asset)
    check_inputs(workspace)
    with _only_build(workspace):
        if index_only:
            require_inputs(workspace)
        remove_debris(workspace.store.root, workspace.out.parent if workspace.out else workspace.releases)
        return _execute(config, workspace, instance, INDEX_ASSETS if index_only else None)


def _execute(
    config: Mapping[str, Any],
    workspace: Workspace,
    instance: dg.DagsterInstance,
    assets: Sequence[str] | None,
) -> BuildReport:
    result = defs.resolve_job_def(BUILD_RELEASE).execute_in_process(
        instance=instance,
        asset_selection=None if assets is None else [dg.AssetKey(name) for name in assets],
        run_config={
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            "resources": {"workspace": {"config": dict(config)}},
        },
        raise_on_error=False,
    )
    events = list(result.all_events)
    release, metrics = _release_metadata(events), _baseline(workspace, events)
    checks = [event.asset_check_evaluation_data for event in events if event.event_type_value == CHECK_EVENT]
    return BuildReport(
        ok=result.success,
        run_id=result.run_id,
        dataset=workspace.settings.name,
        stages=list(_stages(events)),
        checks_passed=sum(check.passed for check in checks),
        checks_failed=sum(not check.passed and is_blocking(check) for check in checks),
        checks_unchanged=sum(bool(check.metadata["unchanged"].value) for check in checks),
        release=release.get("release_path"),
        release_id=release.get("release_id"),
        metrics=metrics,
        ingest=_ingest_report(workspace, events),
        published=[
            *(_published(workspace, events) if assets is None else []),
            *_published_baseline(workspace, metrics),
        ],
        warnings=[line for check in checks if not is_blocking(check) for line in findings_of(check)],
        problems=[] if result.success else list(problems_of(events)),
    )


def check_inputs(workspace: Workspace) -> None:
    """Refuses a build whose files are not there, before a run is started.

    Raises:
        ConfigError: names the file and the option that gives another.
    """
    files = workspace.files
    cleaned = files.cleaned_manifest is not None
    named = {
        _archive_option(workspace, cleaned): files.archive,
        "--manifest": files.cleaned_manifest,
        "--annotations": files.annotations,
    }
    for option, path in named.items():
        if path is not None and not path.is_file():
            raise ConfigError(
                f"data set {workspace.settings.name}: expected a file at {path}, found none; "
                f"give another with {option}",
                code="input_missing",
            )


def _archive_option(workspace: Workspace, cleaned: bool) -> str:
    if cleaned:
        return "--from-cleaned"
    return "--products" if workspace.settings.source == "products" else "--raw"


@contextmanager
def _only_build(workspace: Workspace) -> Iterator[None]:
    """Holds the data set's build lock, so that two builds never mix their artifacts."""
    workspace.store.root.mkdir(parents=True, exist_ok=True)
    with (workspace.store.root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(
                f"data set {workspace.settings.name}: another build of it is running; wait for it",
                code="build_running",
            ) from error
        yield


def _materializations(events: list[dg.DagsterEvent]) -> Iterator[dg.DagsterEvent]:
    return (event for event in events if event.is_step_materialization)


def _stages(events: list[dg.DagsterEvent]) -> Iterator[StageResult]:
    for event in _materializations(events):
        values: dict[str, Any] = {
            name: item.value
            for name, item in event.step_materialization_data.materialization.metadata.items()
        }
        asset = event.asset_key.to_user_string() if event.asset_key else ""
        yield StageResult(
            asset, values["dagster/row_count"], values["sha256"], values["seconds"], values["unchanged"]
        )


def _release_metadata(events: list[dg.DagsterEvent]) -> dict[str, Any]:
    for event in _materializations(events):
        if event.asset_key == dg.AssetKey("release"):
            metadata = event.step_materialization_data.materialization.metadata
            return {name: item.value for name, item in metadata.items()}
    return {}


def _was_built(asset: str, events: list[dg.DagsterEvent]) -> bool:
    """Whether this run wrote the artifact; an older one is not reported."""
    return any(event.asset_key == dg.AssetKey(asset) for event in _materializations(events))


def _baseline(workspace: Workspace, events: list[dg.DagsterEvent]) -> dict[str, Any]:
    if not _was_built("search_baseline", events):
        return {}
    return dict(read_json(workspace.store.path("search_baseline")))


def _published_baseline(workspace: Workspace, metrics: Mapping[str, Any]) -> list[Figure]:
    """The published search table against what this run measured."""
    published = workspace.settings.published_baseline
    if published is None or not metrics:
        return []
    return compare_baseline(published, metrics["search_baseline"])


def _ingest_report(workspace: Workspace, events: list[dg.DagsterEvent]) -> dict[str, Any]:
    if not _was_built("raw_products", events):
        return {}
    raw = workspace.store.path("raw_products")
    mapping = read_mapping(raw)
    mapped = {} if mapping is None else {"mapping": mapping.counts()}
    return {**read_report(raw).as_dict(), **mapped}


def _published(workspace: Workspace, events: list[dg.DagsterEvent]) -> list[Figure]:
    """The published figures against what this run wrote, as far as it came."""
    files = {
        name: workspace.store.path(asset)
        for name, asset in PUBLISHED_NAMES.items()
        if _was_built(asset, events)
    }
    return compare_figures(workspace.settings.published, files)
