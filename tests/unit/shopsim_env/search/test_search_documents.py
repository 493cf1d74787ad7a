"""Seven searched fields: what feeds them, and what must not."""

import pytest

from shopsim_env.search.documents import document_fields, options_text


def test_all_fields_of_a_record() -> None:
    record = {
        "asin": "1",
        "title": "索尼WH-1000XM5 蓝牙5.3耳机",
        "shop_name": "声音店",
        "category": "数码›耳机/耳麦",
        "attribute": ["降噪", "降噪", "无线"],
        "customization_options": {"颜色": [{"value": " 雾蓝 ", "price": 39}]},
        "sub_title": "大促",
        "full_description": "不进索引",
    }
    assert document_fields(record) == {
        "title": "索尼 蓝牙 耳机 wh-1000xm5 5.3",
        "brand": "声音 音店",
        "category": "数码 耳机 耳麦",
        "model": "wh-1000xm5",
        "attributes": "降噪 无线",
        "options": "颜色 雾蓝",
        "bullets": "大促",
    }


def test_model_holds_title_tokens_with_letter_and_digit() -> None:
    fields = document_fields({"title": "索尼WH-1000XM5 蓝牙5.3耳机 A4纸 70g USB A4"})
    assert fields["model"] == "wh-1000xm5 a4 70g"


def test_brand_wins_over_shop_name() -> None:
    assert document_fields({"brand": "华为", "shop_name": "小店"})["brand"] == "华为"
    assert document_fields({"brand": "", "shop_name": "小店"})["brand"] == "小店"


def test_bullets_take_the_first_source_that_has_text() -> None:
    assert document_fields({"small_description": ["防水"], "sub_title": "大促"})["bullets"] == "防水"
    assert document_fields({"small_description": [], "sub_title": "大促"})["bullets"] == "大促"
    assert document_fields({"sub_title": "", "BulletPoints": ["轻便"]})["bullets"] == "轻便"


def test_nested_attributes_give_sorted_keys_and_values() -> None:
    fields = document_fields({"attribute": [{"重量": 500, "材质": ["棉", None]}, "轻"]})
    assert fields["attributes"] == "材质 棉 重量 轻 500"


def test_missing_fields_are_empty() -> None:
    names = ("title", "brand", "category", "model", "attributes", "options", "bullets")
    assert document_fields({"asin": "1", "title": None}) == dict.fromkeys(names, "")


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # 套 U+5957 sorts before 颜 U+989C
        (
            {
                "customization_options": {
                    "颜色": [{"value": "雾蓝", "price": 39, "image": "u", "asin": "v"}],
                    "套装": ["单灯"],
                }
            },
            "套装 单灯 颜色 雾蓝",
        ),
        ({"options": {"颜色": ["红"]}}, "颜色 红"),
        (
            {"customization_options": {"颜色": [{"value": None}, " 红/M ", None, ""], "尺码": None}},
            "尺码 颜色 红/M",
        ),
        ({"customization_options": None}, ""),
        ({"customization_options": ["红"]}, ""),
    ],
)
def test_options_text(record: dict[str, object], expected: str) -> None:
    assert options_text(record) == expected
