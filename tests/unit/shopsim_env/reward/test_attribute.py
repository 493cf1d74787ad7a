"""Attribute reward: fuzzy attributes, texts, same numbers."""

from typing import Any

import pytest

from shopsim_env.catalog.product import Product
from shopsim_env.reward.attribute import count_attributes


def product(**record: Any) -> Product:
    return Product.from_record({"asin": "1", **record})


def test_attributes_titles_bullets_and_descriptions_are_searched() -> None:
    assert count_attributes(["可充电", "防水"], product(attribute=["可充电"], title="营地挂灯")) == 1
    assert count_attributes(["防水"], product(title="IPX5防水营地挂灯")) == 1
    assert count_attributes(["USB"], product(small_description=["带usb口"])) == 1
    assert count_attributes(["usb"], product(full_description="带USB口")) == 1


def test_options_and_category_are_not_searched() -> None:
    item = product(attribute=["x"], title="y", category="防水›灯", customization_options={"颜色": ["防水绿"]})
    assert count_attributes(["防水"], item) == 0


def test_no_targets() -> None:
    assert count_attributes([], product(attribute=["x"])) == 0


def test_texts_are_not_glued_together() -> None:
    assert count_attributes(["防水"], product(title="很防", full_description="水杯")) == 0


@pytest.mark.parametrize(
    ("target", "attribute", "anchored", "paper"),
    [
        ("14kg以内物品", "15kg以内物品", 0, 1),  # 7 of 8 signs: score 88
        ("PSV2000", "PSV1000", 0, 1),  # 2*6/14 = 86
        ("4000转/分", "4000转/分", 1, 1),
        ("防水", "防水 IPX5", 1, 1),
        ("防水 IPX5", "防水", 0, 1),  # containment is symmetric as published
    ],
)
def test_the_default_mode_asks_for_the_same_numbers(
    target: str, attribute: str, anchored: int, paper: int
) -> None:
    item = product(attribute=[attribute])
    assert count_attributes([target], item) == anchored
    assert count_attributes([target], item, option_match="paper") == paper


@pytest.mark.parametrize(
    ("target", "title", "anchored"),
    [
        ("14kg", "哑铃114kg", 0),
        ("14", "共14.5米", 0),
        ("5米", "1.5米长", 0),
        ("14kg", "114kg或14kg", 1),
        ("2", "2个", 1),
    ],
)
def test_a_number_in_a_text_counts_only_as_a_whole(target: str, title: str, anchored: int) -> None:
    assert count_attributes([target], product(title=title)) == anchored
    assert count_attributes([target], product(title=title), option_match="paper") == 1
