"""Group `splits`: the project's persona splits, the clean variants of all splits, and what splits share."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets._code_version import code_version
from assets._inputs import active_asins, document, findings, split_members
from assets._materialize import OWNERS, PREVIEW_ROWS, Facts, fields_of, materialize
from assets.cleaned import ARCHIVE_NAME, MANIFEST_NAME, SOURCE_SPLITS_NAME
from pipelines.resources.workspace import Workspace, WorkspaceResource
from pipelines.stages.audit.findings import quarantine_codes
from pipelines.stages.audit.run import counts_by_split
from pipelines.stages.clean_splits import CLEAN, build_clean_splits
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.contamination import contamination_report, shared_values
from pipelines.stages.persona_groups import read_persona_records
from pipelines.stages.project_splits import PARTS, SplitSources, build_project_splits
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.split_allocation import SplitPolicy
from shopsim_env.canonical import pretty_json

SPLITS = code_version("persona_splits", "pipelines.stages.project_splits")
CLEAN_SPLITS = code_version(
    "clean_splits",
    "pipelines.stages.clean_splits",
    "pipelines.stages.audit.findings",
    "pipelines.stages.audit.run",
)
CONTAMINATION = code_version("contamination", "pipelines.stages.contamination")
for _part in PARTS:
    code_version(f"split/{_part}", "pipelines.stages.project_splits")
_UPSTREAM = ("cleaned_v2", "clean_manifest", "source_splits")


def _spec(key: list[str], description: str, deps: tuple[str, ...]) -> dg.AssetSpec:
    return dg.AssetSpec(
        dg.AssetKey(key),
        deps=list(deps),
        description=description,
        group_name="splits",
        owners=OWNERS,
        kinds={"python", "json"},
        code_version=SPLITS,
    )


@dg.multi_asset(
    specs=[
        _spec(["persona_splits"], "The three project splits in the published manifest format.", _UPSTREAM),
        *(
            _spec(["split", part], f"Task ids of the project split `{part}`.", ("persona_splits",))
            for part in PARTS
        ),
    ]
)
def splits(workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult]:
    """Deals linked groups of persona tasks to train, val and test; one computation decides all three."""
    work = workspace.open()

    def write_manifest(path: Path) -> Facts:
        built = _build(work)
        PublishedJson.of(built).write(path)
        return _manifest_facts(built)

    yield materialize(
        work, "persona_splits", "persona_splits.v1.json", SPLITS, write_manifest, parents=_UPSTREAM
    )
    for part in PARTS:

        def write_part(path: Path, part: str = part) -> Facts:
            split = document(work, "persona_splits")["splits"][part]
            path.write_bytes(pretty_json(split).encode("utf-8"))
            return _part_facts(split)

        yield materialize(
            work, f"split/{part}", f"split_{part}.json", SPLITS, write_part, parents=("persona_splits",)
        )


_CLEAN_PARENTS = ("audit", "source_splits", "persona_splits", "task_ids", "price_axis_exclusions")


@dg.asset(
    deps=list(_CLEAN_PARENTS),
    group_name="splits",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=CLEAN_SPLITS,
)
def clean_splits(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Each published split without the quarantined tasks; and how many tasks of a split have which code."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        found, members, asins = findings(work), split_members(work), active_asins(work)
        built = build_clean_splits(members, quarantine_codes(found, asins))
        built["counts"] = counts_by_split(found, members, asins)
        path.write_bytes(pretty_json(built).encode("utf-8"))
        return _clean_facts(built, members)

    return materialize(work, "clean_splits", "clean_splits.json", CLEAN_SPLITS, write, parents=_CLEAN_PARENTS)


def _clean_facts(built: dict[str, Any], members: dict[str, list[int]]) -> Facts:
    sizes = {name: len(ids) for name, ids in built["splits"].items()}
    return Facts(
        len(sizes),
        numbers={
            "quarantined_tasks": len(built["quarantined_task_ids"]),
            "codes_by_split": dg.MetadataValue.json(built["counts"]),
        },
        preview=[
            {"split": name, "tasks": len(ids), "clean": sizes[f"{name}{CLEAN}"]}
            for name, ids in members.items()
        ],
        bars={f"tasks of {name} by code": counts for name, counts in built["counts"].items()},
        columns=fields_of(built),
    )


_SHARED_PARENTS = ("cleaned_v2", "audit", "source_splits", "persona_splits")


@dg.asset(
    deps=list(_SHARED_PARENTS),
    group_name="splits",
    owners=OWNERS,
    kinds={"python", "json"},
    code_version=CONTAMINATION,
)
def contamination(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """What splits share that must not: products, texts, personas, users; near texts. Project splits: none."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        records = read_persona_records(iter_cleaned(work.store.path("cleaned_v2")))
        report = contamination_report(records, split_members(work), findings(work))
        path.write_bytes(pretty_json(report).encode("utf-8"))
        return _shared_facts(report)

    return materialize(
        work, "contamination", "contamination.json", CONTAMINATION, write, parents=_SHARED_PARENTS
    )


def _shared_facts(report: dict[str, Any]) -> Facts:
    pairs = report["near_duplicates"]["pairs"]
    preview = [
        {"splits": name, **{key: found["values"] for key, found in counts.items()}}
        for name, counts in report["shared"].items()
    ]
    near = Counter(f"{pair['family']}: near-duplicate instructions" for pair in pairs)
    return Facts(
        len(report["shared"]),
        numbers={
            "near_duplicate_pairs": len(pairs),
            "shared_in_project": len(shared_values(report, "project")),
        },
        preview=preview,
        bars={"pairs of tasks across splits": dict(near)},
        columns=fields_of(report),
    )


def _manifest_facts(built: dict[str, Any]) -> Facts:
    sizes = {name: built["splits"][name]["task_count"] for name in PARTS}
    return Facts(
        sum(sizes.values()),
        numbers=built["grouping"],
        preview=[{"split": name, "tasks": size} for name, size in sizes.items()],
        bars={"tasks by split": sizes},
        columns=fields_of(built),
    )


def _part_facts(split: dict[str, Any]) -> Facts:
    return Facts(
        split["task_count"],
        numbers={"task_ids_sha256": split["task_ids_sha256"], "groups": split["group_count"]},
        preview=[{"task_id": task_id} for task_id in split["task_ids"][:PREVIEW_ROWS]],
        bars={"tasks by source split": split["source_split_counts"]},
        columns=fields_of(split),
    )


def _build(work: Workspace) -> dict[str, Any]:
    cleaned, source = document(work, "clean_manifest"), document(work, "source_splits")
    return build_project_splits(
        read_persona_records(iter_cleaned(work.store.path("cleaned_v2"))),
        source,
        SplitPolicy(**work.settings.project_splits.model_dump()),
        _sources(cleaned, source),
    )


def _sources(cleaned: dict[str, Any], source: dict[str, Any]) -> SplitSources:
    manifest, splits = PublishedJson.of(cleaned), PublishedJson.of(source)
    return SplitSources(
        cleaned_archive=ARCHIVE_NAME,
        cleaned_archive_sha256=cleaned["output_archive_sha256"],
        cleaned_data_sha256=cleaned["output_data_sha256"],
        clean_dataset_manifest=MANIFEST_NAME,
        clean_dataset_manifest_sha256=manifest.sha256,
        clean_dataset_manifest_crlf_sha256=manifest.crlf_sha256,
        source_split_manifest=SOURCE_SPLITS_NAME,
        source_split_manifest_sha256=splits.sha256,
        source_split_manifest_crlf_sha256=splits.crlf_sha256,
    )
