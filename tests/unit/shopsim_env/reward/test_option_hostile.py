"""Values that would make a careless matcher try every way: right answers, and they come at once."""

import pytest

from shopsim_env.catalog.product import Product
from shopsim_env.reward.option import count_matches, match_option


def product(axes: int, *values: str) -> Product:
    options = {f"轴{number}": [{"value": value} for value in values] for number in range(axes)}
    return Product.from_record({"asin": "1", "title": "x", "customization_options": options})


def test_many_lost_symbols_anchor_nothing() -> None:
    """More than three lost symbols say nothing; joiners alone are no symbols to lose."""
    assert not match_option("?" * 20 + "尾", "x", ["\u200d" * 40 + "头"]).match
    assert match_option("送?", "送🎐", ["送🎐", "送"]).match


@pytest.mark.parametrize(("axes", "required", "met"), [(10, 11, 10), (40, 60, 40), (12, 5, 5)])
def test_equal_requirements_take_an_axis_each(axes: int, required: int, met: int) -> None:
    item = product(axes, "红")
    selected = {f"轴{number}": "红" for number in range(axes)}
    assert count_matches(["红"] * required, selected, item) == met


def test_parts_of_combined_values_are_used_once() -> None:
    """Ten axes hold 大 and 红 each; ten times 大 红 fits, ten times 大 蓝 does not."""
    item = product(10, "大红")
    selected = {f"轴{number}": "大 红" for number in range(10)}
    assert count_matches(["大 红"] * 6 + ["大 蓝"] * 5, selected, item) == 6
