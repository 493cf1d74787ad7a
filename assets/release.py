"""Group `release`: the one artifact that the runtime reads, written after every blocking check."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import dagster as dg
import pyarrow as pa

from assets._charts import bar_chart
from assets._code_version import CODE_VERSIONS, code_version
from assets._failures import intended_failures
from assets._inputs import document, findings, task_rows
from assets._materialize import OWNERS, announce, table
from assets._playable import playable_parts
from assets._recipe import recipe
from assets.checks.modules import required_checks
from pipelines.errors import ArtifactError
from pipelines.resources.artifact_store import Artifact
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.audit.labels import read_labels
from pipelines.stages.audit.public import public_marks
from pipelines.stages.evidence import Evidence
from pipelines.stages.nouns import read_nouns
from pipelines.stages.published_figures import OK, compare_figures
from pipelines.stages.release import (
    EXPORTS,
    PUBLISHED_NAMES,
    Provenance,
    ReleaseParts,
    ReleaseReport,
    is_intact,
    publish_release,
    tool_versions,
)
from shopsim_env.release import layout

RELEASE = code_version("release", "pipelines.stages.release")
PARENTS = (
    "raw_products",
    "catalogue_quality",
    "human_exclusions",
    "task_ids",
    "price_axis_exclusions",
    "price_annotations",
    "cleaned_v2",
    "clean_manifest",
    "source_splits",
    "title_nouns",
    "audit",
    "task_labels",
    "exclusion_lineage",
    "persona_splits",
    "split/train",
    "split/val",
    "split/test",
    "clean_splits",
    "contamination",
    "search_index",
    "search_arrays",
    "search_baseline",
    "rlve_world",
    "witnesses",
)


# Edges of the graph: what nothing else leads to. Everything in PARENTS is read, and `require_checks` refuses
# an artifact whose own inputs have moved on, so nothing can go stale between them. The drift report is no
# part of a release, but it compares with the last one, so it comes before the next.
LEAVES = (
    *(
        "catalogue_quality",
        "clean_manifest",
        "exclusion_lineage",
        "contamination",
        "search_baseline",
        "witnesses",
    ),
    "rlve_world",
    *("split/train", "split/val", "split/test", "annotation_drift"),
)


@dg.asset(
    deps=[dg.AssetKey(name.split("/")) for name in LEAVES],
    group_name="release",
    owners=OWNERS,
    kinds={"python", "sqlite"},
    code_version=RELEASE,
)
def release(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """The verified release: staged, hashed, opened, checked, then renamed into place as one folder."""
    work, started = workspace.open(), time.perf_counter()
    code = recipe(__name__, "release")
    with intended_failures():
        required = {name: required_checks(name) for name in PARENTS}
        judged = work.store.require_checks(required, CODE_VERSIONS)
        metadata = _unchanged(work, code)
        if metadata is None:
            work.memos.forget("release")
            return _result(work, _anew(work, judged, required, code), started, False)
    return _result(work, metadata, started, True)


def _result(
    work: Workspace, metadata: Mapping[str, Any], started: float, unchanged: bool
) -> dg.MaterializeResult:
    seconds, sha256 = round(time.perf_counter() - started, 3), metadata["sha256"]
    announce(work, "release", metadata["dagster/row_count"], sha256, seconds, unchanged)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(sha256),
        metadata={**metadata, "seconds": seconds, "unchanged": unchanged},
    )


def _unchanged(work: Workspace, code: str) -> dict[str, Any] | None:
    """What was published from the very same artifacts, if it is current and every byte is right."""
    kept = None if work.rerun or work.out else work.memos.recall("release", code)
    if kept is None or not is_intact(work.releases, kept["folder"], kept["sha256"]):
        return None
    path = dg.MetadataValue.path(str(work.releases / kept["folder"]))  # the data folder may have moved
    return {**dg.deserialize_value(kept["metadata"], dict), "release_path": path}


def _anew(
    work: Workspace, judged: Mapping[str, Artifact], required: Mapping[str, list[str]], code: str
) -> dict[str, Any]:
    report = _publish(work, judged, required)
    metadata = {**_metadata(work.settings.name, report), **_published(work)}
    if work.out is None:
        kept = {
            "folder": report.path.name,
            "sha256": report.manifest_sha256,
            "metadata": dg.serialize_value(metadata),
        }
        work.memos.keep("release", code, work.reads, kept)
    return metadata


def _publish(
    work: Workspace, judged: Mapping[str, Artifact], required: Mapping[str, list[str]]
) -> ReleaseReport:
    """Publishes what passed its checks, unless another build replaced any of it meanwhile."""

    def confirm() -> None:
        if work.store.require_checks(required, CODE_VERSIONS) != judged:
            raise ArtifactError(
                "artifacts changed while the release was composed; nothing was published. Build again, one "
                "build of a data set at a time.",
                code="artifact_stale",
            )

    settings, tools = work.settings, tool_versions(pyarrow=pa.__version__)
    return publish_release(
        _parts(work),
        Provenance(
            dataset=settings.name,
            licence=settings.licence,
            currency=settings.currency,
            assets=_assets(judged),
            tools=tools,
            human_exclusions=work.exclusions.identity(),
        ),
        root=work.releases,
        out=work.out,
        force=work.force,
        confirm=confirm,
    )


def _metadata(name: str, report: ReleaseReport) -> dict[str, Any]:
    files = json.loads((report.path / layout.MANIFEST).read_text(encoding="utf-8"))["files"]
    rows = [
        {"file": file, "bytes": entry["bytes"], "visibility": entry["visibility"]}
        for file, entry in files.items()
    ]
    return {
        "dagster/row_count": report.counts["products"],
        "data_set": name,
        "release_id": report.id,
        "release_path": dg.MetadataValue.path(str(report.path)),
        "sha256": report.manifest_sha256,
        "bytes": report.bytes,
        "files": report.files,
        "counts": dg.MetadataValue.json(dict(report.counts)),
        "preview": dg.MetadataValue.md(table(rows, len(rows))),
        "plot: bytes by file": dg.MetadataValue.md(
            bar_chart("bytes by file", {row["file"]: row["bytes"] for row in rows})
        ),
    }


def _published(work: Workspace) -> dict[str, Any]:
    """The data set's published figures, expected and found; empty where it has none."""
    files = {name: work.store.path(asset) for name, asset in PUBLISHED_NAMES.items()}
    figures = compare_figures(work.settings.published, files)
    if not figures:
        return {}
    verdicts = Counter(figure.status for figure in figures)
    rows = [{name: str(value) for name, value in asdict(figure).items()} for figure in figures]
    return {
        "published_figures": dg.MetadataValue.md(table(rows, len(rows))),
        "published_figures_reproduced": verdicts[OK],
        "published_figures_by_verdict": dg.MetadataValue.json(dict(sorted(verdicts.items()))),
    }


def _parts(work: Workspace) -> ReleaseParts:
    clean, found = document(work, "clean_splits"), findings(work)
    labels = list(read_labels(work.store.path("task_labels")))
    nouns = read_nouns(work.store.path("title_nouns"))
    return ReleaseParts(
        playable=playable_parts(work, nouns),
        tagger={
            "name": nouns.tagger_name,
            "version": nouns.tagger_version,
            "fingerprint": nouns.tagger_fingerprint,
        },
        witnesses=work.store.path("witnesses"),
        world=work.store.path("rlve_world"),
        metrics={
            **document(work, "search_baseline"),
            "audit": clean["counts"],
            "contamination": document(work, "contamination"),
        },
        marks=public_marks(found, labels, clean["quarantined_task_ids"]),
        evidence=Evidence(found, labels, document(work, "exclusion_lineage"), task_rows(work)),
        exports={name: work.store.path(asset) for name, asset in EXPORTS.items()},
    )


def _assets(judged: Mapping[str, Artifact]) -> dict[str, Any]:
    """Code version, data version and parents of every asset that went in."""
    return {
        name: {
            "code_version": artifact.code_version,
            "data_version": artifact.sha256,
            "parents": dict(artifact.parents),
        }
        for name, artifact in judged.items()
    }
