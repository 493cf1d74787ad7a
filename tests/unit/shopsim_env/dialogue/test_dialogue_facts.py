from decimal import Decimal

import pytest

from shopsim_env.catalog.product import Axis, read_axes
from shopsim_env.dialogue.facts import category_word, money, shop_facts


def facts(what="台灯", options=(), attributes=(), ceiling=None, **more):
    return shop_facts(what, options, attributes, ceiling, **more)


def by_id(found):
    return {fact.id: fact for fact in found}


@pytest.mark.parametrize(
    ("category", "nouns", "texts", "word"),
    [
        ("户外用品›照明›台灯", (), (), "台灯"),
        ("a > b >  折 屏 ", (), (), "折 屏"),
        ("零食/坚果›饼干/米饼", (), (), "饼干/米饼"),
        ("››", ("台灯",), ("要台灯",), "台灯"),
        ("", ("星野", "便携", "台灯"), ("想要星野便携台灯，雾蓝的",), "台灯"),
        ("", ("便携", "台灯"), ("", "便携一点的东西"), "便携"),
        ("", ("落地灯",), ("想要台灯",), ""),
        ("", ("灯", "一二三四五六七八九"), ("灯，一二三四五六七八九",), ""),
        ("", ("usb",), ("要 USB 充电器",), "usb"),
    ],
)
def test_category_word(category, nouns, texts, word):
    assert category_word(category, nouns, texts) == word


def test_each_part_is_one_fact_in_order():
    found = facts(options=("雾蓝", "单灯"), attributes=("防水", "学生"), ceiling=Decimal("40.00"))
    assert [(fact.id, fact.value) for fact in found] == [
        ("category", "台灯"),
        ("option:0", "雾蓝"),
        ("option:1", "单灯"),
        ("attribute:0", "防水"),
        ("attribute:1", "学生"),
        ("budget", "40元"),
    ]


def test_blank_parts_are_no_facts():
    assert facts(what="", options=(" ", "\x00"), attributes=("",)) == ()


@pytest.mark.parametrize(
    ("amount", "text"),
    [("275", "275"), ("97.90", "97.9"), ("1E+3", "1000"), ("100", "100"), ("0", "0"), ("0.50000000", "0.5")],
)
def test_money_has_no_exponent_and_no_trailing_zeros(amount, text):
    assert money(Decimal(amount)) == text


def test_an_option_is_asked_for_by_its_axis_and_by_what_its_value_looks_like():
    axes = read_axes({"颜色分类": ["雾蓝", "沙色 大号"], "套餐类型": ["A"], "": ["无名"]})
    found = by_id(facts(options=("沙色 大号", "a", "无名"), axes=axes))
    assert found["option:0"].label == "颜色分类"
    assert {"colour", "size", "options"} <= found["option:0"].topics
    assert "flavour" not in found["option:0"].topics
    assert (found["option:1"].label, found["option:1"].topics) == ("套餐类型", {"pack", "options"})
    assert found["option:2"].label == ""


def test_a_value_of_no_special_topic_answers_questions_about_every_option():
    found = by_id(facts(options=("Z9",), axes=[Axis("规格", ())]))
    assert {"colour", "size", "flavour", "options"} <= found["option:0"].topics
    assert "material" not in found["option:0"].topics


def test_attributes_answer_questions_about_features_and_their_own_topic():
    found = by_id(facts(attributes=("铝合金外壳", "学生", "海澜", "静音"), brand="海澜"))
    assert found["attribute:0"].topics == {"features", "material"}
    assert found["attribute:1"].topics == {"features", "people"}
    assert found["attribute:2"].topics == {"features", "brand"}
    assert found["attribute:3"].topics == {"features"}


def test_parts_of_a_composite_value_stand_for_it():
    found = by_id(facts(options=("【250g两袋装】香辣", "雾蓝")))
    assert found["option:0"].names == ("250g两袋装", "香辣")
    assert found["option:1"].names == ()


def test_a_fact_inside_another_one_is_told_with_it():
    found = by_id(facts(options=("学生款 40寸", "40寸"), attributes=("学生", "学生", "台灯", "0寸")))
    assert sorted(found) == ["attribute:3", "category", "option:0"]
    assert {"options", "people", "features"} <= found["option:0"].topics
    assert "features" in found["category"].topics
    # 0寸 is no part of 40寸: numbers are whole.
    assert found["attribute:3"].value == "0寸"


def test_title_and_id_are_never_told():
    never = ("星野 便携 台灯", "700000000101")
    found = facts(
        options=("星野便携台灯 雾蓝", "沙色"), attributes=("型号700000000101", "便携"), never=(*never, "")
    )
    assert [fact.value for fact in found] == ["台灯", "沙色", "便携"]


def test_a_title_that_is_the_category_gives_nothing_away():
    assert [fact.value for fact in facts(never=("台灯",))] == ["台灯"]
