"""The check of reworded sentences: exactly the intended facts and nothing else."""

import pytest

from shopsim_env.dialogue.check import PROBLEMS, Draft, wording_problem
from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.harmless import COMMON, KIND_WORDS, made_of
from shopsim_env.dialogue.ledger import Fact

FACTS = shop_facts("台灯", ("雾蓝", "【香辣】3包"), ("防水", "学生"), None)
COLOUR, FLAVOUR, WATER, STUDENT = FACTS[1:]
DRAFT = Draft("规格选雾蓝。", (COLOUR,), (FLAVOUR, WATER, STUDENT), ("colour",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("我想要雾蓝的哦", ""),
        ("颜色的话，雾蓝 就好！", ""),
        ("颜色的话，雾 蓝 就好！", "missing_fact"),
        ("", "empty"),
        ("  ", "empty"),
        ("雾蓝" + "啊" * 100, "too_long"),
        ("蓝色的就好", "missing_fact"),
        ("不要雾蓝", "negated_fact"),
        ("除了雾蓝都行", "negated_fact"),
        ("要雾蓝，还要防水", "undisclosed_fact"),
        ("要雾蓝，香辣的", "undisclosed_fact"),
        ("要雾蓝，两件", "added_words"),
        ("要雾蓝，预备2件", "added_digits"),
        ("要雾蓝，三百元的", "added_digits"),
        ("要雾蓝，价格便宜些", "added_topic"),
        ("要雾蓝，材质好一点", "added_topic"),
        ("要雾蓝，不透明的", "added_words"),
        ("要雾蓝，大一点的", "added_words"),
        ("要雾蓝，发顺丰", "added_words"),
        ("雾蓝也行", "added_words"),
        ("要雾蓝吗", "added_words"),
        ("要雾蓝？", "added_words"),
        ("麻烦帮我选“雾蓝”，谢谢您！", ""),
        ("嗯，颜色呢，就要雾蓝", ""),
        ("要雾蓝\ue000", "added_words"),
    ],
)
def test_the_text_has_to_tell_exactly_the_intended_facts(text, problem):
    assert wording_problem(text, DRAFT) == problem


def test_topics_of_the_question_may_be_named():
    draft = Draft("我看重防水。", (WATER,), (), ("features", "budget"))
    assert wording_problem("功能上要防水", draft) == ""
    assert wording_problem("预算先不说，要防水", draft) == ""
    assert wording_problem("颜色先不说，要防水", draft) == "added_topic"


def test_digits_of_told_values_are_no_additions():
    draft = Draft("规格选【香辣】3包。", (FLAVOUR,), (COLOUR,))
    assert wording_problem("我要【香辣】3包", draft) == ""
    assert wording_problem("我要【香辣】3包，来3份", draft) == "added_digits"
    assert wording_problem("我要【香辣】13包", draft) == "missing_fact"


BUDGET = Fact("budget", "budget", "40元", frozenset({"budget"}))
SIZE = Fact("option:1", "option", "XL", frozenset({"size", "options"}), "尺码")
SHADE = Fact("option:0", "option", "雾蓝", frozenset({"colour", "options"}), "颜色分类")
TWO = Draft("颜色分类要雾蓝，尺码选XL。", (SHADE, SIZE))
PRICED = Draft("尺码要XL，价格不超过40元。", (SIZE, BUDGET))


@pytest.mark.parametrize(
    ("draft", "text", "problem"),
    [
        (TWO, "颜色分类我想要雾蓝，尺码呢选XL", ""),
        (TWO, "颜色分类要雾蓝，尺码要XL，谢谢", ""),
        (TWO, "颜色分类要XL，尺码要雾蓝", "added_words"),
        (TWO, "颜色要雾蓝，尺寸选XL", ""),
        (TWO, "颜色要XL，尺寸选雾蓝", "added_words"),
        (TWO, "雾蓝和XL", ""),
        (TWO, "颜色分类，雾蓝，XL", "added_words"),
        (PRICED, "尺码要XL，预算最多40元", ""),
        (PRICED, "尺码要XL以内，40元", "added_words"),
        (PRICED, "尺码要XL，价格40元以下", ""),
        (PRICED, "尺码要XL，40元，最高", "added_words"),
    ],
)
def test_each_value_stays_with_its_label_and_a_limit_with_the_budget(draft, text, problem):
    assert wording_problem(text, draft) == problem


@pytest.mark.parametrize("text", ["价格40元起", "价格超过40元", "价格40元左右", "价格最低40元"])
def test_a_ceiling_stays_a_ceiling(text):
    draft = Draft("价格不超过40元。", (BUDGET,))
    assert wording_problem(text, draft) in ("added_words", "changed_budget")
    assert wording_problem("预算呢，控制在40元以内就好", draft) == ""


def test_made_of_needs_whole_words():
    words = frozenset({"我", "我想要", "要的"})
    assert made_of("", words)
    assert made_of("我我想要要的", words)
    assert not made_of("我想", words)
    assert not made_of("要", words)


def test_no_word_is_a_requirement():
    """What would weaken, negate, compare or ask is in no list."""
    every = COMMON.union(*KIND_WORDS.values())
    bad = {
        "不",
        "也行",
        "都行",
        "随便",
        "可以",
        "行",
        "或",
        "或者",
        "吗",
        "左右",
        "超过",
        "最低",
        "好",
        "大",
        "便宜",
    }
    assert not every & bad


def test_every_problem_is_in_the_list():
    assert set(PROBLEMS) >= {"empty", "undisclosed_fact", "added_topic", "added_words", "changed_budget"}
