"""Group `cleaned`: the cleaned v2 archive, its manifest, the source splits, and title nouns."""

from collections import Counter
from heapq import nsmallest
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import audit_records, document, excluded_indices, task_rows
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.settings import AnnotatorSettings
from pipelines.stages.annotation.protocol import FALLBACK_KIND
from pipelines.stages.clean_manifest import Annotator, CleanFiles, build_clean_manifest
from pipelines.stages.cleaning import CleanedReport, describe_cleaned, iter_cleaned, write_cleaned
from pipelines.stages.ingest import iter_records, read_report
from pipelines.stages.nouns import read_nouns, tag_titles, write_nouns
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.splits import SourceBounds, build_source_splits

ARCHIVE_NAME = "fine_items_eval_train_all.cleaned.v2.json.gz"
MANIFEST_NAME = "clean_dataset_manifest.v2.json"
SOURCE_SPLITS_NAME = "task_splits.cleaned.v2.json"
CLEANED = code_version("cleaned_v2", "pipelines.stages.cleaning")
CLEAN_MANIFEST = code_version("clean_manifest", "pipelines.stages.clean_manifest")
NOUNS = code_version("title_nouns", "pipelines.stages.nouns", "pipelines.resources.tagger")
SOURCE_SPLITS = code_version("source_splits", "pipelines.stages.splits")
_UPSTREAM = ("raw_products", "task_ids", "price_axis_exclusions", "price_annotations")


@dg.asset(
    deps=list(_UPSTREAM), group_name="cleaned", owners=OWNERS, kinds={"python", "json"}, code_version=CLEANED
)
def cleaned_v2(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """The archive without excluded products, with task ids and price ceilings written in."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        audit, raw = audit_records(work), work.store.path("raw_products")
        report = write_cleaned(
            work.tracked("cleaned_v2", iter_records(raw), read_report(raw).product_count),
            task_rows(work),
            excluded_indices(work),
            audit,
            path,
        )
        return _cleaned_facts(path, report, sum(record.annotation.has_ceiling for record in audit))

    return materialize(work, "cleaned_v2", ARCHIVE_NAME, CLEANED, write, parents=_UPSTREAM)


def _cleaned_facts(path: Path, report: CleanedReport, ceilings: int) -> Facts:
    head = next(iter_cleaned(path), {})
    counts = {"products": report.product_count, "tasks": report.task_count, "price ceilings": ceilings}
    return Facts(
        report.product_count,
        numbers={"tasks": report.task_count, "data_sha256": report.data_sha256},
        preview=[{"count": name, "value": value} for name, value in counts.items()],
        bars={
            "tasks by annotated price ceiling": {"ceiling": ceilings, "none": report.task_count - ceilings}
        },
        columns=fields_of(head),
    )


@dg.asset(
    deps=["task_ids", "price_axis_exclusions"],
    group_name="cleaned",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=SOURCE_SPLITS,
)
def source_splits(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Where each active task came from (source train or eval); for tracing, not for experiments."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        configured = work.settings.source_splits
        bounds = [SourceBounds(name, **bound.model_dump()) for name, bound in configured.items()]
        splits = build_source_splits(task_rows(work), excluded_indices(work), bounds or None)
        published = PublishedJson.of(splits)
        published.write(path)
        return _source_split_facts(splits, published)

    parents = ("task_ids", "price_axis_exclusions")
    return materialize(work, "source_splits", SOURCE_SPLITS_NAME, SOURCE_SPLITS, write, parents=parents)


def _source_split_facts(splits: dict[str, Any], published: PublishedJson) -> Facts:
    sizes = {name: len(split["task_ids"]) for name, split in splits["splits"].items()}
    return Facts(
        len(sizes),
        numbers={"sha256_crlf": published.crlf_sha256, "active_tasks": splits["active_task_count"]},
        preview=[{"split": name, "tasks": size} for name, size in sizes.items()],
        bars={"tasks by source split": sizes},
        columns=fields_of(splits),
    )


@dg.asset(
    deps=["cleaned_v2", "source_splits", *_UPSTREAM],
    group_name="cleaned",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=CLEAN_MANIFEST,
)
def clean_manifest(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Hashes, counts and annotation facts of the cleaned archive, in the published format."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        manifest = _clean_manifest(work)
        PublishedJson.of(manifest).write(path)
        counts = {key: value for key, value in manifest.items() if key.endswith("_count")}
        preview = [{"count": name, "value": value} for name, value in counts.items()]
        return Facts(len(manifest), preview=preview, bars={"counts": counts}, columns=fields_of(manifest))

    parents = ("cleaned_v2", "source_splits", *_UPSTREAM)
    return materialize(work, "clean_manifest", MANIFEST_NAME, CLEAN_MANIFEST, write, parents=parents)


def _clean_manifest(work: Workspace) -> dict[str, Any]:
    audit = audit_records(work)
    asked = any(record.annotation.kind != FALLBACK_KIND for record in audit)
    # Nobody annotated what was left to the run-time parser altogether.
    annotator = work.settings.annotator if asked else AnnotatorSettings()
    return build_clean_manifest(
        source=read_report(work.store.path("raw_products")),
        cleaned=describe_cleaned(work.store.path("cleaned_v2"), ARCHIVE_NAME),
        tasks=task_rows(work),
        exclusions=document(work, "price_axis_exclusions"),
        audit=audit,
        annotator=Annotator(**annotator.model_dump()),
        files=CleanFiles(
            exclusions=PublishedJson.of(document(work, "price_axis_exclusions")),
            task_splits=PublishedJson.of(document(work, "source_splits")),
            persona_price_audit=PublishedJson.of(document(work, "price_annotations")),
        ),
    )


@dg.asset(
    deps=["cleaned_v2"],
    group_name="cleaned",
    owners=OWNERS,
    kinds={"python", "parquet"},
    code_version=NOUNS,
)
def title_nouns(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Nouns of every title by the configured tagger, so that the type reward needs no tagger at run time."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        tagger = work.tagger()
        records = work.tracked("title_nouns", iter_cleaned(work.store.path("cleaned_v2")))
        titles = ((record["asin"], record["title"]) for record in records)
        rows = write_nouns(path, tag_titles(titles, tagger), tagger)
        return _noun_facts(path, rows)

    return materialize(work, "title_nouns", "title_nouns.parquet", NOUNS, write, parents=("cleaned_v2",))


def _noun_facts(path: Path, rows: int) -> Facts:
    tagged = read_nouns(path)
    sizes = Counter(min(len(nouns), 10) for nouns in tagged.nouns.values())
    head = nsmallest(PREVIEW_ROWS, tagged.nouns.items())  # by asin: source order would tell goals
    return Facts(
        rows,
        numbers={"tagger": tagged.tagger_name, "fingerprint": tagged.tagger_fingerprint},
        preview=[{"asin": asin, "nouns": len(nouns)} for asin, nouns in head],
        bars={"titles by number of nouns (10 and more as 10)": {str(n): sizes[n] for n in sorted(sizes)}},
    )
