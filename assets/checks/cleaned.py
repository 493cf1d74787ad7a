"""What must hold of the cleaned archive, its manifest, the source splits and the title nouns."""

from collections.abc import Iterator
from decimal import Decimal

from assets._inputs import audit_records, document, excluded_indices, origin, task_rows
from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.cleaned_source import CleanedOrigin
from pipelines.stages.cleaning import describe_cleaned, iter_cleaned
from pipelines.stages.ingest import iter_records
from pipelines.stages.json_archive import data_sha256
from pipelines.stages.nouns import read_nouns
from pipelines.stages.price_axes import MAX_PRICE_AXES
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import active_tasks
from shopsim_env.catalog.price_axes import price_axes


@blocking_check("cleaned_v2")
def no_multi_price_product_left(work: Workspace) -> Iterator[str]:
    """No product with two or more price-varying axes remains, and no other product is lost."""
    excluded = excluded_indices(work)
    expected = {
        row.source_product_index
        for row in iter_records(work.store.path("raw_products"))
        if row.source_product_index not in excluded
    }
    for record in iter_cleaned(work.store.path("cleaned_v2")):
        index = record["source_product_index"]
        if index not in expected:
            yield f"record {index}: excluded, repeated or not in the archive"
        expected.discard(index)
        if len(price_axes(record)) > MAX_PRICE_AXES:
            yield f"record {index}: has several price-varying axes"
    yield from (f"record {index}: lost" for index in sorted(expected))


@blocking_check("cleaned_v2")
def ceilings_follow_annotations(work: Workspace) -> Iterator[str]:
    """Persona tasks carry the annotated ceiling, standard tasks null, and every active task is there once."""
    uppers = {record.task.task_id: record.annotation.price_upper for record in audit_records(work)}
    active = {task.task_id: task for task in active_tasks(task_rows(work), excluded_indices(work))}
    for record in iter_cleaned(work.store.path("cleaned_v2")):
        for instruction in record.get("instructions") or ():
            task = active.pop(instruction["task_id"], None)
            if task is None or instruction["task_uid"] != task.task_uid:
                yield f"task {instruction['task_id']}: not active, repeated or with another uid"
                continue
            found = instruction["price_upper"]
            upper = uppers.get(task.task_id) if task.persona else None
            if (None if found is None else Decimal(str(found))) != upper:
                yield f"task {task.task_id}: price_upper does not follow from its annotation"
    yield from (f"task {task_id}: lost" for task_id in sorted(active))


@blocking_check("clean_manifest")
def manifest_matches_archive(work: Workspace) -> Iterator[str]:
    """The manifest's hashes and counts are those of the archive, and its counts add up."""
    manifest = document(work, "clean_manifest")
    cleaned = describe_cleaned(work.store.path("cleaned_v2"), manifest["output_archive"])
    facts = {
        "output_archive_sha256": cleaned.archive_sha256,
        "output_data_sha256": cleaned.data_sha256,
        "cleaned_product_count": cleaned.product_count,
        "active_task_count": cleaned.task_count,
    }
    for name, found in facts.items():
        if manifest[name] != found:
            yield f"{name}: expected {found}, found {manifest[name]}"
    parts = ("active_task_count", "excluded_task_count", "quarantined_task_count")
    total = sum(manifest[name] for name in parts)
    if total != manifest["source_task_count"]:
        yield f"source_task_count: expected {total}, found {manifest['source_task_count']}"
    expected = work.settings.expected
    counts = {
        "active_products": manifest["cleaned_product_count"],
        "active_persona_tasks": manifest["persona_task_count"],
        "active_standard_tasks": manifest["standard_regex_task_count"],
    }
    for name, found in counts.items():
        wanted = getattr(expected, name)
        if wanted is not None and wanted != found:
            yield f"{name}: expected {wanted}, found {found}"


@blocking_check("cleaned_v2")
def cleaned_archive_reproduced(work: Workspace) -> Iterator[str]:
    """The data are those of the cleaned archive that the build started from, if it started from one.

    With exclusions by hand or with other annotations a build is meant to differ from its source.
    """
    before = origin(work)
    if before is None or work.exclusions.entries or not _same_annotations(work, before):
        return
    wanted, found = before.manifest["output_data_sha256"], data_sha256(work.store.path("cleaned_v2"))
    if wanted != found:
        yield f"output_data_sha256: expected {wanted}, found {found}"


def _same_annotations(work: Workspace, before: CleanedOrigin) -> bool:
    audit = PublishedJson.of(document(work, "price_annotations"))
    return before.manifest.get("persona_price_audit_sha256") in (audit.sha256, audit.crlf_sha256)


@blocking_check("source_splits")
def source_splits_hold_active_tasks(work: Workspace) -> Iterator[str]:
    """Source splits name active tasks only, ascending, and together every one of them."""
    splits = document(work, "source_splits")
    active = {task.task_id for task in active_tasks(task_rows(work), excluded_indices(work))}
    covered: set[int] = set()
    for name, split in splits["splits"].items():
        ids = split["task_ids"]
        if ids != sorted(set(ids)):
            yield f"{name}: ids are not ascending and distinct"
        yield from (f"{name}: task {task_id} is not active" for task_id in sorted(set(ids) - active))
        covered |= set(ids)
    yield from (f"task {task_id}: in no source split" for task_id in sorted(active - covered))
    wanted = work.settings.expected.source_splits_sha256_crlf
    found = PublishedJson.of(splits).crlf_sha256
    if wanted is not None and wanted != found:
        yield f"source_splits_sha256_crlf: expected {wanted}, found {found}"


@blocking_check("title_nouns")
def every_title_tagged(work: Workspace) -> Iterator[str]:
    """Exactly the cleaned products have title nouns, made by the configured tagger."""
    nouns = read_nouns(work.store.path("title_nouns"))
    asins = {record["asin"] for record in iter_cleaned(work.store.path("cleaned_v2"))}
    yield from (f"product {asin}: no title nouns" for asin in sorted(asins - nouns.nouns.keys()))
    yield from (f"product {asin}: tagged but not cleaned" for asin in sorted(nouns.nouns.keys() - asins))
    tagger = work.tagger()
    expected = (tagger.name, tagger.version, tagger.fingerprint)
    found = (nouns.tagger_name, nouns.tagger_version, nouns.tagger_fingerprint)
    if found != expected:
        yield f"tagger: expected {' '.join(expected)}, found {' '.join(found)}"
