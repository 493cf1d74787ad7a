"""What became of excluded products: their axes and prices, the tasks that left with them, and their splits.

Belongs here: one row per excluded product. Where a persona task would have gone is worked out by dealing all
persona tasks again, the excluded ones among them, by the same policy; the published splits stay as they are.
A cleaned archive tells less of what had left before: such rows say what is unknown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pipelines.errors import ConfigError
from pipelines.stages.audit.options import axis_prices
from pipelines.stages.ingest import RawRow
from pipelines.stages.persona_groups import PersonaRecord, group_tasks, read_persona_records
from pipelines.stages.price_axes import excluded_products
from pipelines.stages.split_allocation import SplitPolicy, allocate, target_sizes
from pipelines.stages.splits import SourceBounds, build_source_splits
from pipelines.stages.task_ids import TaskRow, left_out
from shopsim_env.catalog.product import Product

UNDETERMINED = "project/undetermined"


def build_lineage(
    rows: Iterable[RawRow],
    tasks: Sequence[TaskRow],
    exclusions: Sequence[Mapping[str, Any]],
    bounds: Sequence[SourceBounds] | None,
    policy: SplitPolicy,
    left_before: Collection[int] = (),
) -> list[dict[str, Any]]:
    """One row per excluded product, in the order of the exclusion list.

    Args:
        rows: Products of the raw archive.
        tasks: All tasks of the raw corpus.
        exclusions: The published exclusion list.
        bounds: Source bounds as for `build_source_splits`.
        policy: The policy of the project splits.
        left_before: Source indices of products that a cleaned archive had left out already.

    Returns:
        `asin`, `source_product_index`, `price_affecting_axes`, `axes` (name, values, number and list of
        distinct prices), `task_ids`, `would_have_gone` (task id as text to split names; none for tasks that
        were quarantined). Rows of `left_before` have no axes, only the source splits that follow from bounds,
        and `unknown`, which names what is missing. Where such products had tasks, nobody can deal all persona
        tasks again, so every project split is undetermined.
    """
    axes: dict[int, list[dict[str, Any]]] = {}
    personas: list[dict[str, Any]] = []
    excluded = excluded_products(exclusions)
    people = _persona_tasks(tasks)
    for row in rows:
        if row.source_product_index in excluded:
            axes[row.source_product_index] = axis_prices(Product.from_record(row.record))
        if row.source_product_index in people:
            personas.append(_persona_product(row, people[row.source_product_index]))
    lost = any(item["task_ids"] for item in exclusions if item["source_product_index"] in left_before)
    # Without bounds the tag decides, which left together with the product.
    tagless = frozenset() if bounds else frozenset(left_before)
    known = [task for task in tasks if not left_out(task) and task.source_product_index not in tagless]
    would = _source_splits(known, bounds)
    for task_id, name in _project_splits(read_persona_records(personas), policy, lost).items():
        would.setdefault(task_id, []).append(name)
    unknown = ["axes", "project_splits"] if bounds else ["axes", "project_splits", "source_splits"]
    missing = {index: {"unknown": unknown} for index in left_before}
    return [_row(item, axes, would) | missing.get(item["source_product_index"], {}) for item in exclusions]


def _row(
    item: Mapping[str, Any], axes: Mapping[int, list[dict[str, Any]]], would: Mapping[int, list[str]]
) -> dict[str, Any]:
    """One excluded product; `axes` has nothing of those whose rows are not in the archive."""
    return {
        "asin": item["asin"],
        "source_product_index": item["source_product_index"],
        "price_affecting_axes": item["price_affecting_axes"],
        "axes": axes.get(item["source_product_index"], []),
        "task_ids": item["task_ids"],
        "would_have_gone": {str(task_id): sorted(would.get(task_id, [])) for task_id in item["task_ids"]},
    }


def _persona_tasks(tasks: Iterable[TaskRow]) -> dict[int, list[TaskRow]]:
    """Persona tasks by product, those of excluded products too; quarantined ones stay out."""
    found: dict[int, list[TaskRow]] = {}
    for task in tasks:
        if task.persona and not task.quarantine:
            found.setdefault(task.source_product_index, []).append(task)
    return found


def _persona_product(row: RawRow, tasks: Iterable[TaskRow]) -> dict[str, Any]:
    """What the grouping reads of a product, with the ids of its tasks."""
    given = row.record["instructions"]
    return {
        "asin": row.asin,
        "source_product_index": row.source_product_index,
        "user_persona": row.record["user_persona"],
        "instructions": [{**given[task.instruction_index], "task_id": task.task_id} for task in tasks],
    }


def _source_splits(tasks: Sequence[TaskRow], bounds: Sequence[SourceBounds] | None) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for name, split in build_source_splits(tasks, frozenset(), bounds)["splits"].items():
        for task_id in split["task_ids"]:
            names.setdefault(task_id, []).append(f"source/{name}")
    return names


def _project_splits(
    records: Sequence[PersonaRecord], policy: SplitPolicy, incomplete: bool
) -> dict[int, str]:
    """Split of every persona task when the excluded ones are dealt too.

    `project/undetermined` for all where the records are incomplete, or where no set of whole groups has the
    exact size, as in a tiny archive.
    """
    if incomplete:
        return {record.task_id: UNDETERMINED for record in records}
    try:
        parts = allocate(group_tasks(records), policy, target_sizes(policy, len(records)))
    except ConfigError:
        return {record.task_id: UNDETERMINED for record in records}
    return {
        task_id: f"project/{name}"
        for name, groups in parts.items()
        for group in groups
        for task_id in group.task_ids
    }
