"""Products with two or more price-varying axes: their price cannot be known, so they leave the catalogue.

Belongs here: the exclusion list in the published format. What makes an axis price-varying is one rule for
both halves and lives in `shopsim_env.catalog.price_axes`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pipelines.stages.human_exclusions import HUMAN_EXCLUSION
from pipelines.stages.ingest import RawRow
from pipelines.stages.task_ids import TaskRow
from shopsim_env.catalog.price_axes import price_axes

EXCLUSION_REASON = "multiple_price_affecting_axes"
MAX_PRICE_AXES = 1


def find_exclusions(
    rows: Iterable[RawRow], tasks: Iterable[TaskRow], by_hand: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Exclusions in product order, as the published file lists them.

    Each is `{asin, price_affecting_axes, reason, source_product_index, task_ids}`; axis names are the
    source's own, in source order; `task_ids` are all tasks of the product, quarantined ones too. A product
    with an asin of `by_hand` is listed with the reason `human_exclusion`, unless the rule excludes it anyway.
    Source: seed section on prices and filtering, prior art section 2.2, contract 7.20.
    """
    task_ids: defaultdict[int, list[int]] = defaultdict(list)
    for task in tasks:
        task_ids[task.source_product_index].append(task.task_id)
    exclusions = []
    for row in rows:
        axes = price_axes(row.record)
        several = len(axes) > MAX_PRICE_AXES
        if several or row.asin in by_hand:
            exclusions.append(
                {
                    "asin": row.asin,
                    "price_affecting_axes": list(axes),
                    "reason": EXCLUSION_REASON if several else HUMAN_EXCLUSION,
                    "source_product_index": row.source_product_index,
                    "task_ids": task_ids[row.source_product_index],
                }
            )
    return exclusions


def excluded_products(exclusions: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """Source product indices of an exclusion list."""
    return frozenset(exclusion["source_product_index"] for exclusion in exclusions)


def exclusion_reasons(exclusions: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Source product index to the reason code for which the product is excluded."""
    return {exclusion["source_product_index"]: exclusion["reason"] for exclusion in exclusions}
