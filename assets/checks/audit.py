"""What must hold of the audit."""

from collections.abc import Iterator

from assets._inputs import active_asins, document, excluded_before, findings, task_rows
from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.codes import CODES, MULTI_PRICE_AXES, PRODUCT, TASK
from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.labels import LABELS, NOT_GRADED, PERSONA, STANDARD, read_labels
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.human_exclusions import HUMAN_EXCLUSION
from pipelines.stages.ingest import iter_records
from pipelines.stages.price_axes import EXCLUSION_REASON, MAX_PRICE_AXES

MIN_EXCLUDED_AXES = MAX_PRICE_AXES + 1


@blocking_check("audit")
def findings_fit_the_table_of_codes(work: Workspace) -> Iterator[str]:
    """Every code is in the table, about the kind of subject that it may be about, and the subject exists."""
    asins = {row.asin for row in iter_records(work.store.path("raw_products"))}
    asins |= {item["asin"] for item in document(work, "price_axis_exclusions")}
    every, active = {task.task_id: task.asin for task in task_rows(work)}, active_asins(work)
    for item in findings(work):
        code = CODES.get(item.code)
        if code is None:
            yield f"{_subject(item)}: unknown code {item.code}"
            continue
        if item.asin not in asins:
            yield f"{_subject(item)}: {item.code}, but its product is not in the archive"
        # People list tasks of all states; the rules look at active ones.
        known = every if item.code == HUMAN_EXCLUSION else active
        if item.task_id is not None and known.get(item.task_id) != item.asin:
            yield f"task {item.task_id}: {item.code}, but not with the product of this task"
        if code.subject == (TASK if item.task_id is None else PRODUCT):
            yield f"{_subject(item)}: {item.code} is about a {code.subject}"


def _subject(item: Finding) -> str:
    """The task or the product: naming both would give the goal away."""
    return f"product {item.asin}" if item.task_id is None else f"task {item.task_id}"


@blocking_check("audit")
def excluded_products_are_found(work: Workspace) -> Iterator[str]:
    """The audit, which looks at every product anew, finds the excluded ones and no other.

    Products that a cleaned archive left out before are not there to be looked at.
    """
    listed, before = document(work, "price_axis_exclusions"), excluded_before(work)
    here = [item for item in listed if item["source_product_index"] not in before]
    for code, reason in ((MULTI_PRICE_AXES, EXCLUSION_REASON), (HUMAN_EXCLUSION, HUMAN_EXCLUSION)):
        found = {item.asin for item in findings(work) if item.code == code and item.task_id is None}
        expected = {item["asin"] for item in here if item["reason"] == reason}
        # What a person lists may be excluded for its prices, now or before.
        allowed = expected if code == MULTI_PRICE_AXES else {item["asin"] for item in listed}
        yield from (
            f"product {asin}: excluded ({reason}), but not found" for asin in sorted(expected - found)
        )
        yield from (f"product {asin}: {code}, but not excluded" for asin in sorted(found - allowed))


@blocking_check("exclusion_lineage")
def every_exclusion_has_a_lineage(work: Workspace) -> Iterator[str]:
    """Each excluded product is there with its tasks, and its axes have prices that fit to the reason.

    Of products that a cleaned archive left out before the axes are unknown, and the row says so.
    """
    expected = {item["asin"]: item for item in document(work, "price_axis_exclusions")}
    before = excluded_before(work)
    for item in document(work, "exclusion_lineage"):
        listed = expected.pop(item["asin"], None)
        if listed is None or listed["task_ids"] != item["task_ids"]:
            yield f"product {item['asin']}: not excluded, repeated or with other tasks"
            continue
        gone = listed["source_product_index"] in before
        if gone != ("axes" in item.get("unknown", ())):
            yield f"product {item['asin']}: known and unknown axes are mistaken for each other"
        several = sum(axis["distinct_prices"] > 1 for axis in item["axes"])
        if not gone and listed["reason"] == EXCLUSION_REASON and several < MIN_EXCLUDED_AXES:
            yield f"product {item['asin']}: fewer than {MIN_EXCLUDED_AXES} axes have several prices"
    yield from (f"product {asin}: excluded, but without lineage" for asin in sorted(expected))


@blocking_check("task_labels")
def every_graded_fact_labelled(work: Workspace) -> Iterator[str]:
    """Each task has one row per mode, with a known label for each option, attribute and ceiling it grades."""
    found = {(row.task_id, row.mode): row for row in read_labels(work.store.path("task_labels"))}
    for case in iter_cases(iter_cleaned(work.store.path("cleaned_v2"))):
        goal = case.goal
        for mode in (STANDARD, PERSONA) if goal.has_persona else (STANDARD,):
            row = found.pop((goal.task_id, mode), None)
            if row is None:
                yield f"task {goal.task_id}: not labelled for {mode} mode"
                continue
            sizes = (len(row.option_labels), len(row.attribute_labels), row.budget_label != NOT_GRADED)
            if sizes != (len(goal.options), len(goal.attributes), goal.budget_upper is not None):
                yield f"task {goal.task_id}, {mode}: not one label per graded fact"
            if not {*row.option_labels, *row.attribute_labels, row.budget_label} <= {*LABELS, NOT_GRADED}:
                yield f"task {goal.task_id}, {mode}: an unknown label"
    yield from (f"task {task_id}: labelled for {mode} mode without having it" for task_id, mode in found)
