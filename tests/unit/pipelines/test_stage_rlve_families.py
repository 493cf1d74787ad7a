"""Families of a category, and what a product's texts say of them."""

from typing import Any

import pytest

from pipelines.stages.rlve_families import FAMILY_IDS, attributes_of, families_of, family_rows, value_rows
from pipelines.stages.rlve_lexicon import CATEGORIES, NAMES, NUMBERS, OTHER_CATEGORIES, WORDS
from shopsim_env.catalog.product import Product
from shopsim_env.rlve.schema import number_name

WORD_NAMES = {(family, value): name for family, value, name, *_ in value_rows()}


def said(family: str, **fields: Any) -> dict[str, str]:
    """Name of each value to its origin."""
    found = attributes_of(Product.from_record({"asin": "1", **fields}), [family])
    return {
        number_name(value) if family in NUMBERS else str(WORD_NAMES[FAMILY_IDS[family], value]): origin
        for _, value, origin in found
    }


@pytest.mark.parametrize(
    ("path", "families"),
    [
        ("影音设备›耳机", "connector_type color"),
        ("Electronics›Headphones", "connector_type color"),
        ("女装/精选›外套›防晒衣", "size color"),
        ("Women's Clothing›Dresses", "size color"),
        ("厨具/锅具›锅具›煎锅", "material color"),
        ("Home & Kitchen›Cookware", "material color"),
        ("女鞋›靴子›马丁靴", "shoe_size color"),
        ("零食/坚果/特产›肉类零食", "flavor net_weight"),
        ("护肤/美体›面部护理", "skin_type item_form"),
        ("图书/期刊", "edition"),
        ("Furniture›Chairs", "color material"),  # no hair in a chair
        ("Home›Carpets", "color material"),  # no pet in a carpet
        ("", "color material"),
    ],
)
def test_the_category_decides_the_families_and_their_order(path: str, families: str) -> None:
    assert families_of(path)[: len(families.split())] == tuple(families.split())


def options(axis: str, *values: str) -> dict[str, Any]:
    return {"customization_options": {axis: [{"value": value} for value in values]}}


def test_the_first_origin_counts() -> None:
    record = {"title": "黑色 白色 音箱", "attribute": ["白色", "银色"], **options("颜色分类", "银色")}
    assert said("color", **record) == {"black": "title", "white": "attribute", "silver": "option"}


@pytest.mark.parametrize(
    ("family", "value", "names"),
    [
        ("color", "荧光黄 宽楦款", {"yellow"}),
        ("color", "黑/白", {"black", "white"}),
        ("color", "红茶", set()),
        ("color", "原木色", set()),
        ("color", "Matte Black", {"black"}),
        ("color", "blackberry", set()),
        ("material", "原木色", set()),
        ("material", "胡桃木 大号", {"wood"}),
        ("material", "304不锈钢", {"stainless_steel"}),
        ("scent", "玫瑰金", set()),
        ("scent", "玫瑰 200g", {"rose"}),
        ("connector_type", "Type-C 快充", {"usb_c"}),
        ("connector_type", "ＵＳＢ－Ｃ", {"usb_c"}),
        ("connector_type", "USB-C", {"usb_c"}),
        ("connector_type", "2.4G", {"wireless"}),
        ("connector_type", "12.4G", set()),
        ("skin_type", "混油皮", {"combination"}),
        ("wattage", "65W氮化镓", {"65"}),
        ("wattage", "1.5kw", {"1500"}),
        ("wattage", "65wh", set()),
        ("net_weight", "500g*2袋 净含量1.25kg", {"500", "1250"}),
        ("net_weight", "2斤装", {"1000"}),
        ("net_weight", "3公斤", {"3000"}),
        ("volume", "0.5L/350毫升", {"500", "350"}),
        ("screen_size", "15.6英寸", {"15.6"}),
        ("battery", "20000mAh", {"20000"}),
        ("battery", "0mAh", set()),
        ("net_weight", "9999999999999克", set()),
        ("net_weight", "999999999999千克", set()),
    ],
)
def test_an_option_value_is_read(family: str, value: str, names: set[str]) -> None:
    assert set(said(family, **options("颜色分类", value))) == names


def test_sizes_are_read_from_axes_of_that_name_alone() -> None:
    assert said("size", **options("尺码", "M 170/88A", "XXL", "2XL", "均码", "XS")) == {
        "m": "option",
        "xxl": "option",
        "free": "option",
        "xs": "option",
    }
    assert said("size", title="M 号 大衣", attribute=["XL"], **options("颜色分类", "L")) == {}
    assert said("shoe_size", **options("鞋码", "38", "39码", "40.5", "138")) == {
        "38": "option",
        "39": "option",
    }


def test_a_colour_of_one_character_needs_an_option() -> None:
    assert said("color", title="小白 跑鞋") == {}
    assert said("color", **options("款式", "小白")) == {"white": "option"}


def test_tables_name_every_family_and_value_once() -> None:
    assert set(NAMES) == set(WORDS) | set(NUMBERS)
    assert len(WORD_NAMES) == len(value_rows())
    listed = {name for _, families in CATEGORIES for name in families.split()} | set(OTHER_CATEGORIES.split())
    assert listed <= set(NAMES)
    assert [row[1] for row in family_rows()] == list(NAMES)
    for family in WORDS:
        rows = [row for row in value_rows() if row[0] == FAMILY_IDS[family]]
        assert [row[1] for row in rows] == list(range(1, len(rows) + 1))
        assert len({row[2] for row in rows}) == len({row[3] for row in rows}) == len(rows)
    for words, _ in CATEGORIES:
        assert len(words.split()) == len(set(words.split()))


def test_numbers_for_variants_have_their_unit_in_both_languages() -> None:
    rows = {row[1]: row[2:] for row in value_rows() if row[0] == FAMILY_IDS["wattage"]}
    assert rows[65_000] == ("65", "65瓦", "65 W")
    assert len(rows) >= 3
