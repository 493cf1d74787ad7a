"""What must hold of the project splits, the clean variants and the contamination report."""

from collections import Counter
from collections.abc import Iterator

from assets._inputs import active_asins, document, findings, split_members
from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.audit.findings import quarantine_codes
from pipelines.stages.clean_splits import CLEAN
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.contamination import shared_values
from pipelines.stages.persona_groups import group_tasks, read_persona_records
from pipelines.stages.project_splits import PARTS, task_ids_sha256


@blocking_check("persona_splits")
def splits_disjoint_and_complete(work: Workspace) -> Iterator[str]:
    """Each persona task is in exactly one of train, val and test, and the sizes are the configured ones."""
    splits = document(work, "persona_splits")["splits"]
    dealt = Counter(task_id for part in PARTS for task_id in splits[part]["task_ids"])
    expected = {
        record.task_id for record in read_persona_records(iter_cleaned(work.store.path("cleaned_v2")))
    }
    yield from (f"task {task_id}: in {count} splits" for task_id, count in dealt.items() if count > 1)
    yield from (f"task {task_id}: in no split" for task_id in sorted(expected - dealt.keys()))
    yield from (f"task {task_id}: no active persona task" for task_id in sorted(dealt.keys() - expected))
    policy = work.settings.project_splits
    for part, size in (("val", policy.validation_size), ("test", policy.test_size)):
        if size is not None and splits[part]["task_count"] != size:
            yield f"{part}: expected {size} tasks, found {splits[part]['task_count']}"


@blocking_check("persona_splits")
def groups_never_broken(work: Workspace) -> Iterator[str]:
    """Tasks that share product, text, persona or user are in one split."""
    splits = document(work, "persona_splits")["splits"]
    part_of = {task_id: part for part in PARTS for task_id in splits[part]["task_ids"]}
    records = read_persona_records(iter_cleaned(work.store.path("cleaned_v2")))
    for group in group_tasks(records):
        parts = {part_of.get(task_id, "none") for task_id in group.task_ids}
        if len(parts) > 1:
            yield f"{group.group_id}: spread over {sorted(parts)}"


@blocking_check("clean_splits")
def clean_splits_lack_exactly_the_quarantined(work: Workspace) -> Iterator[str]:
    """Quarantined tasks are those of the audit; each split has one clean variant, which lacks just them."""
    clean = document(work, "clean_splits")
    expected = set(quarantine_codes(findings(work), active_asins(work)))
    found = set(clean["quarantined_task_ids"])
    yield from (f"task {task_id}: quarantined, but not listed" for task_id in sorted(expected - found))
    yield from (f"task {task_id}: listed, but not quarantined" for task_id in sorted(found - expected))
    variants = dict(clean["splits"])
    for name, ids in split_members(work).items():
        if variants.pop(f"{name}{CLEAN}", None) != [item for item in ids if item not in expected]:
            yield f"{name}{CLEAN}: not the split without its quarantined tasks"
    yield from (f"{name}: variant of no split" for name in variants)


@blocking_check("contamination")
def project_splits_share_nothing(work: Workspace) -> Iterator[str]:
    """No product, text, persona or user id stands in two of the project splits."""
    yield from shared_values(document(work, "contamination"), "project")


def _part_matches(work: Workspace, part: str) -> Iterator[str]:
    split = document(work, f"split/{part}")
    if split != document(work, "persona_splits")["splits"][part]:
        yield f"{part}: differs from the manifest"
    if split["task_ids_sha256"] != task_ids_sha256(split["task_ids"]):
        yield f"{part}: task_ids_sha256 is not that of its ids"


@blocking_check("split/train")
def train_matches_manifest(work: Workspace) -> Iterator[str]:
    """The ids are those of the manifest and have its hash."""
    return _part_matches(work, "train")


@blocking_check("split/val")
def val_matches_manifest(work: Workspace) -> Iterator[str]:
    """The ids are those of the manifest and have its hash."""
    return _part_matches(work, "val")


@blocking_check("split/test")
def test_matches_manifest(work: Workspace) -> Iterator[str]:
    """The ids are those of the manifest and have its hash."""
    return _part_matches(work, "test")
