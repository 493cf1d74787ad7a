"""What must hold of the audit."""

from collections.abc import Iterator

from assets._inputs import active_asins, document, findings
from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.audit.cases import iter_cases
from pipelines.stages.audit.codes import CODES, MULTI_PRICE_AXES, PRODUCT, TASK
from pipelines.stages.audit.labels import LABELS, NOT_GRADED, PERSONA, STANDARD, read_labels
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.ingest import iter_records
from pipelines.stages.price_axes import MAX_PRICE_AXES

MIN_EXCLUDED_AXES = MAX_PRICE_AXES + 1


@blocking_check("audit")
def findings_fit_the_table_of_codes(work: Workspace) -> Iterator[str]:
    """Every code is in the table, about the kind of subject that it may be about, and the subject exists."""
    asins = {row.asin for row in iter_records(work.store.path("raw_products"))}
    active = active_asins(work)
    for item in findings(work):
        code = CODES.get(item.code)
        if code is None:
            yield f"product {item.asin}: unknown code {item.code}"
            continue
        if item.asin not in asins:
            yield f"product {item.asin}: {item.code}, but not in the archive"
        if item.task_id is not None and active.get(item.task_id) != item.asin:
            yield f"task {item.task_id}: {item.code}, but no active task of product {item.asin}"
        if code.subject == (TASK if item.task_id is None else PRODUCT):
            yield f"product {item.asin}, task {item.task_id}: {item.code} is about a {code.subject}"


@blocking_check("audit")
def excluded_products_are_found(work: Workspace) -> Iterator[str]:
    """The audit, which looks at every product anew, finds the excluded ones and no other."""
    found = {item.asin for item in findings(work) if item.code == MULTI_PRICE_AXES}
    listed = {item["asin"] for item in document(work, "price_axis_exclusions")}
    yield from (f"product {asin}: excluded, but not found" for asin in sorted(listed - found))
    yield from (f"product {asin}: several price axes, but not excluded" for asin in sorted(found - listed))


@blocking_check("exclusion_lineage")
def every_exclusion_has_a_lineage(work: Workspace) -> Iterator[str]:
    """Each excluded product is there with its tasks, and two of its axes or more have several prices."""
    expected = {item["asin"]: item["task_ids"] for item in document(work, "price_axis_exclusions")}
    for item in document(work, "exclusion_lineage"):
        if expected.pop(item["asin"], None) != item["task_ids"]:
            yield f"product {item['asin']}: not excluded, repeated or with other tasks"
        if sum(axis["distinct_prices"] > 1 for axis in item["axes"]) < MIN_EXCLUDED_AXES:
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
