"""Exclusions: which products leave the catalogue, in the published format."""

from pathlib import Path
from typing import Any

import pytest
from raw_records import axis, instruction, product, raw_rows

from pipelines.stages.price_axes import excluded_products, find_exclusions
from pipelines.stages.task_ids import assign_task_ids

TWO_VARYING = {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 1), ("m", 3))}


def exclusions(folder: Path, *records: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    rows = raw_rows(folder, list(records), **options)
    return find_exclusions(rows, assign_task_ids(rows))


def test_an_exclusion_has_the_published_keys_and_source_axis_order(tmp_path: Path) -> None:
    three = {"Z": axis(("a", 1), ("b", 2)), "常": axis(("x", 5), ("y", 5)), **TWO_VARYING}
    assert exclusions(
        tmp_path,
        product("1"),
        product("2", customization_options=TWO_VARYING, instructions=[instruction("甲"), instruction("乙")]),
        product("3", customization_options=three),
    ) == [
        {
            "asin": "2",
            "price_affecting_axes": ["颜色", "尺码"],
            "reason": "multiple_price_affecting_axes",
            "source_product_index": 1,
            "task_ids": [1, 2],
        },
        {
            "asin": "3",
            "price_affecting_axes": ["Z", "颜色", "尺码"],
            "reason": "multiple_price_affecting_axes",
            "source_product_index": 2,
            "task_ids": [3],
        },
    ]


@pytest.mark.parametrize(
    "options",
    [
        None,
        {},
        {"颜色": None, "尺码": axis(("s", 1), ("m", 2))},
        {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 7), ("m", 7))},
        {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 10), ("m", 10.0))},
        {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 10), ("m", None))},
        {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("", 1), ("m", 2))},
        {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("S", 1), ("s ", 2))},
    ],
)
def test_one_varying_axis_at_most_stays(tmp_path: Path, options: Any) -> None:
    assert exclusions(tmp_path, product(customization_options=options)) == []


@pytest.mark.parametrize("second", [axis(("s", 10), ("m", 10.0000001)), axis(("s", 0), ("m", "3"))])
def test_exact_comparison_zero_and_numeric_text_count(tmp_path: Path, second: Any) -> None:
    options = {"颜色": axis(("a", 1), ("b", 2)), "尺码": second}
    assert len(exclusions(tmp_path, product(customization_options=options))) == 1


def test_products_without_tasks_and_quarantined_tasks_are_listed(tmp_path: Path) -> None:
    found = exclusions(
        tmp_path,
        product("1", customization_options=TWO_VARYING, instructions=None),
        product("2", customization_options=TWO_VARYING, instructions=[instruction("甲", "简单")]),
        lenient=True,
    )
    assert [exclusion["task_ids"] for exclusion in found] == [[], [0]]
    assert excluded_products(found) == {0, 1}
