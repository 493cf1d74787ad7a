"""What must hold of the raw products, the task ids and the exclusions."""

from collections import Counter
from collections.abc import Iterator

from assets._inputs import document, exclusion_list, origin, task_rows
from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.human_exclusions import read_document
from pipelines.stages.ingest import iter_records, read_report
from pipelines.stages.published_json import PublishedJson
from pipelines.stages.task_ids import instruction_at, task_uid


@blocking_check("raw_products")
def asins_unique(work: Workspace) -> Iterator[str]:
    """Every product has an asin and a title, and no asin comes twice."""
    seen: Counter[str] = Counter()
    for row in iter_records(work.store.path("raw_products")):
        seen[row.asin.casefold()] += 1
        if not row.asin or not row.title.strip():
            yield f"record {row.source_product_index}: asin or title is blank"
    yield from (f"asin {asin} comes {count} times" for asin, count in seen.items() if count > 1)


@blocking_check("raw_products")
def archive_counts_expected(work: Workspace) -> Iterator[str]:
    """Products, tasks and persona tasks are as many as the data set's configuration says."""
    expected, before = work.settings.expected, origin(work)
    products = tasks = persona = 0
    for row in iter_records(work.store.path("raw_products")):
        products += 1
        tasks += row.instruction_count
        persona += row.instruction_count if row.has_persona else 0
    found = {"products": products, "tasks": tasks, "persona_tasks": persona}
    if before is not None:
        # What left before is known by number alone, so persona tasks cannot be told apart.
        products += len(before.exclusions)
        tasks += sum(len(item["task_ids"]) for item in before.exclusions)
        tasks += len(before.manifest.get("quarantined_tasks", ()))
        found = {"products": products, "tasks": tasks}
    for name, number in found.items():
        wanted = getattr(expected, name)
        if wanted is not None and wanted != number:
            yield f"{name}: expected {wanted}, found {number}"


@blocking_check("raw_products")
def report_matches_products(work: Workspace) -> Iterator[str]:
    """The report counts the products and quarantined rows that the table holds, and the archive is pinned."""
    report = read_report(work.store.path("raw_products"))
    rows = [row.quarantine for row in iter_records(work.store.path("raw_products"))]
    before = origin(work)
    products = len(rows) + (len(before.exclusions) if before is not None else 0)
    if report.product_count != products:
        yield f"product_count: expected {products}, found {report.product_count}"
    quarantined = dict(sorted(Counter(reason for reason in rows if reason).items()))
    if report.quarantined != quarantined:
        yield f"quarantined: expected {quarantined}, found {report.quarantined}"
    pin = work.settings.archive_sha256
    if pin is not None and report.archive_sha256 != pin:
        yield f"archive_sha256: expected {pin}, found {report.archive_sha256}"


@blocking_check("task_ids")
def ids_number_the_raw_corpus(work: Workspace) -> Iterator[str]:
    """Ids count from 0 over products and their instructions, without a gap, and uids are right and unique."""
    if origin(work) is not None:
        yield from _ids_of_a_cleaned_archive(work)
        return
    tasks = iter(task_rows(work))
    uids: set[str] = set()
    number = 0
    for row in iter_records(work.store.path("raw_products")):
        for position, instruction in enumerate(row.record.get("instructions") or ()):
            task = next(tasks, None)
            uid = task_uid(row.asin, position, instruction.get("instruction") or "")
            expected = (number, row.source_product_index, position, row.asin, uid)
            found = task and (
                task.task_id,
                task.source_product_index,
                task.instruction_index,
                task.asin,
                task.task_uid,
            )
            if found != expected:
                yield f"task {number}: not the one that has this number in the archive, or another uid"
            if uid in uids:
                yield f"task {number}: has the uid of an earlier task"
            uids.add(uid)
            number += 1
    if next(tasks, None) is not None:
        yield f"more than the {number} tasks of the archive"


def _ids_of_a_cleaned_archive(work: Workspace) -> Iterator[str]:
    """Every id of the source comes once, and each uid that the archive holds follows from its text."""
    tasks = task_rows(work)
    count = read_report(work.store.path("raw_products")).task_count
    if [task.task_id for task in tasks] != list(range(count)):
        yield f"expected the task ids 0 to {count - 1} once each, found {len(tasks)} others"
    rows = {row.source_product_index: row for row in iter_records(work.store.path("raw_products"))}
    for task in tasks:
        if task.task_uid:
            row = rows[task.source_product_index]
            text = instruction_at(row.record, task.instruction_index).get("instruction") or ""
            if task.task_uid != task_uid(row.asin, task.instruction_index, text):
                yield f"task {task.task_id}: its uid does not follow from its text"


@blocking_check("human_exclusions")
def list_is_the_configured_one(work: Workspace) -> Iterator[str]:
    """Versions and entries are those of configs/exclusions at this moment."""
    found = read_document(document(work, "human_exclusions")).identity()
    for name, expected in work.exclusions.identity().items():
        if found[name] != expected:
            yield f"{name}: expected {expected}, found {found[name]}"


@blocking_check("price_axis_exclusions")
def exclusions_are_exactly_the_multi_price_products(work: Workspace) -> Iterator[str]:
    """Exactly the products with two or more price-varying axes or excluded by hand are listed, with tasks."""
    expected = exclusion_list(work)
    found = document(work, "price_axis_exclusions")
    by_index = {item["source_product_index"]: item for item in found}
    for item in expected:
        if by_index.pop(item["source_product_index"], None) != item:
            yield f"record {item['source_product_index']}: missing or different in the list"
    yield from (f"record {index}: listed without a reason" for index in by_index)
    wanted = work.settings.expected.excluded_products
    if wanted is not None and wanted != len(found):
        yield f"excluded_products: expected {wanted}, found {len(found)}"


@blocking_check("price_axis_exclusions")
def exclusions_hash_expected(work: Workspace) -> Iterator[str]:
    """The list has the SHA-256 that the data set's configuration pins (over CRLF ends, as published)."""
    wanted = work.settings.expected.exclusions_sha256_crlf
    found = PublishedJson.of(document(work, "price_axis_exclusions")).crlf_sha256
    if wanted is not None and wanted != found:
        yield f"exclusions_sha256_crlf: expected {wanted}, found {found}"
