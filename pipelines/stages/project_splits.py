"""Project splits: train, val and test over all persona tasks, groups never broken.

Belongs here: the manifest in the published format. Groups are made in `persona_groups` and dealt out in
`split_allocation`. Source: seed section on project splits, prior art section 5.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.errors import DatasetError
from pipelines.stages.persona_groups import (
    GROUP_KEYS,
    NORMALIZATION,
    Group,
    PersonaRecord,
    group_tasks,
)
from pipelines.stages.split_allocation import (
    ALLOCATION_ORDER,
    SplitPolicy,
    allocate,
    check_policy,
    target_sizes,
)
from shopsim_env.canonical import compact_json, sha256_text

PARTS = ("train", "val", "test")
PROJECT_SPLITS_VERSION = "shopsimrl-persona-splits-v1"
EXACT_POLICY = "exact-linked-components-v1"
PROPORTIONAL_POLICY = "proportional-linked-components-v1"


@dataclass(frozen=True, slots=True)
class SplitSources:
    """Names and hashes of the files that the splits were made from; CRLF hashes as in decision 0003."""

    cleaned_archive: str
    cleaned_archive_sha256: str
    cleaned_data_sha256: str
    clean_dataset_manifest: str
    clean_dataset_manifest_sha256: str
    clean_dataset_manifest_crlf_sha256: str
    source_split_manifest: str
    source_split_manifest_sha256: str
    source_split_manifest_crlf_sha256: str


def build_project_splits(
    records: Sequence[PersonaRecord],
    source_splits: Mapping[str, Any],
    policy: SplitPolicy,
    sources: SplitSources,
) -> dict[str, Any]:
    """The manifest `persona_splits.v1.json`.

    Args:
        records: All active persona tasks.
        source_splits: Result of `splits.build_source_splits`.
        policy: Seed and sizes.
        sources: What the splits were made from.

    Raises:
        ConfigError: Sizes that cannot be met, exclusions that are no persona tasks.
        DatasetError: The persona source splits do not cover the persona tasks exactly once.
    """
    origin = _origins(records, source_splits)
    groups = group_tasks(records)
    sizes = target_sizes(policy, len(records))
    check_policy(policy, sizes, origin.keys())
    parts = allocate(groups, policy, sizes)
    names = [name for name, split in source_splits["splits"].items() if split["persona"] is True]
    return {
        "schema_version": PROJECT_SPLITS_VERSION,
        "version": PROJECT_SPLITS_VERSION,
        "source": asdict(sources) | {"persona_task_count": len(records)},
        "policy": _policy_record(policy, parts),
        "grouping": _group_counts(groups),
        "splits": {name: _split_record(name, part, origin, names) for name, part in parts.items()},
        "checks": _checks(parts, origin.keys(), policy),
    }


def task_ids_sha256(task_ids: Sequence[int]) -> str:
    """SHA-256 over the compact JSON array of the ids."""
    return sha256_text(compact_json(list(task_ids)))


def _origins(records: Sequence[PersonaRecord], source_splits: Mapping[str, Any]) -> dict[int, str]:
    """Source split of every persona task."""
    origin: dict[int, str] = {}
    for name, split in source_splits["splits"].items():
        if split["persona"] is True:
            for task_id in split["task_ids"]:
                if task_id in origin:
                    raise DatasetError(
                        f"task {task_id} is in two persona source splits: {origin[task_id]} and {name}",
                        code="source_splits_overlap",
                    )
                origin[task_id] = name
    expected = {record.task_id for record in records}
    if origin.keys() != expected:
        raise DatasetError(
            f"expected the persona source splits to hold exactly the {len(expected)} persona tasks, found "
            f"{len(expected - origin.keys())} missing and {len(origin.keys() - expected)} extra",
            code="source_splits_differ",
        )
    return origin


def _ids(groups: Sequence[Group]) -> list[int]:
    return sorted(task_id for group in groups for task_id in group.task_ids)


def _group_counts(groups: Sequence[Group]) -> dict[str, int]:
    return {
        "group_count": len(groups),
        "multi_task_group_count": sum(len(group) > 1 for group in groups),
        "max_group_size": max((len(group) for group in groups), default=0),
    }


def _policy_record(policy: SplitPolicy, parts: Mapping[str, Sequence[Group]]) -> dict[str, Any]:
    return {
        "version": PROPORTIONAL_POLICY if policy.proportional else EXACT_POLICY,
        "seed": policy.seed,
        "allocation_order": list(ALLOCATION_ORDER),
        "validation_size": len(_ids(parts["val"])),
        "test_size": len(_ids(parts["test"])),
        "held_out_max_group_size": policy.held_out_max_group_size,
        "normalization": NORMALIZATION,
        "group_keys": list(GROUP_KEYS),
        "test_excluded_task_ids": sorted(policy.test_excluded_task_ids),
    }


def _split_record(
    name: str, groups: Sequence[Group], origin: Mapping[int, str], source_names: Sequence[str]
) -> dict[str, Any]:
    task_ids = _ids(groups)
    counts = Counter(origin[task_id] for task_id in task_ids)
    return {
        "persona": True,
        "role": name,
        "task_ids": task_ids,
        "task_count": len(task_ids),
        "task_ids_sha256": task_ids_sha256(task_ids),
        "source_split_counts": {source: counts[source] for source in source_names},
        **_group_counts(groups),
    }


def _checks(
    parts: Mapping[str, Sequence[Group]], task_ids: Collection[int], policy: SplitPolicy
) -> dict[str, Any]:
    dealt = Counter(task_id for groups in parts.values() for task_id in _ids(groups))
    group_uses = Counter(group.group_id for groups in parts.values() for group in groups)
    banned = set(policy.test_excluded_task_ids)
    return {
        "complete_coverage": dealt.keys() == set(task_ids),
        "pairwise_task_disjoint": all(uses == 1 for uses in dealt.values()),
        "linked_groups_disjoint": all(uses == 1 for uses in group_uses.values()),
        "test_exclusions_respected": banned.isdisjoint(_ids(parts["test"])),
        "persona_task_count": len(task_ids),
    }
