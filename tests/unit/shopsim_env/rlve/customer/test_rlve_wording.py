"""A language model's words: taken where they tell exactly the told needs, recorded, replayed."""

import json

import pytest

from shopsim_env.dialogue.check import Draft, wording_problem
from shopsim_env.dialogue.harmless import made_of
from shopsim_env.errors import UsageError
from shopsim_env.rlve.customer.customer import Customer
from shopsim_env.rlve.customer.manners import MANNERS, model_wording
from shopsim_env.rlve.customer.needs import Brief, Need
from shopsim_env.rlve.customer.words import WORDINGS
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws

PRICE = Need("price", "constraint", "价格不超过300元", frozenset({"price"}))
BRAND = Need("brand", "constraint", "品牌是屿岚", frozenset({"brand"}))
PRICE_EN = Need("price", "constraint", "a price of at most 300", frozenset({"price"}))
COLOR_EN = Need("color", "constraint", "color: dark red", frozenset({"color"}))
BRIEF = Brief("PD", "我想买一副耳机", (PRICE, BRAND), frozenset({"brand"}))
BRIEF_EN = Brief("PD", "I want a phone case.", (PRICE_EN, COLOR_EN), frozenset({"color"}))


class Writer:
    """A model that puts the texts it must keep into a frame of its own."""

    name = "writer"

    def __init__(self, frame: str, joint: str) -> None:
        self.frame, self.joint = frame, joint
        self.asked = 0

    def complete(self, messages: list[dict[str, str]]) -> str:
        self.asked += 1
        content = json.loads(messages[1]["content"])
        return self.frame.format(self.joint.join(content.get("原文") or content.get("verbatim")))


def problem(language: str, text: str, *told: Need, hidden: tuple[Need, ...] = ()) -> str:
    return wording_problem(text, Draft("x" * 40, told, hidden), MANNERS[language].vocabulary)


def test_a_models_words_are_taken_recorded_and_replayed() -> None:
    writer = Writer("你好呀，{}，谢谢", "，还有")
    wording = model_wording("zh", writer)
    customer = Customer(BRIEF, Draws("w"), axes(0), "zh", wording)
    opening = customer.open()
    assert opening.text.startswith("你好呀，我想买一副耳机，还有价格不超过300元，谢谢。")
    assert "一" in opening.text.split("谢谢。")[1]
    reply = customer.answer("品牌呢？")
    assert reply.text == "你好呀，品牌是屿岚，谢谢。"
    assert [worded.source for worded in customer.worded] == ["model", "model"]

    again = Customer(BRIEF, Draws("w"), axes(0), "zh", model_wording("zh", None, wording.recorded()))
    assert (again.open(), again.answer("品牌呢？")) == (opening, reply)
    assert writer.asked == 2


def test_english_words_of_a_model() -> None:
    customer = Customer(BRIEF_EN, Draws("w"), axes(0), "en", model_wording("en", Writer("Well, {}", " and ")))
    assert customer.open().text.startswith("Well, I want a phone case. and a price of at most 300. ")
    assert customer.answer("Which color?").text == "Well, color: dark red."


def test_typing_errors_come_after_the_model_and_leave_values_alone() -> None:
    for seed in range(30):
        writer = Writer("你好你好你好你好，{}，谢谢谢谢", "，")
        customer = Customer(
            BRIEF, Draws("w", seed), axes(0, {"p_noise": 0.5}), "zh", model_wording("zh", writer)
        )
        assert PRICE.value in customer.open().text
        assert customer.worded[0].source == "model"
        assert BRAND.value in customer.answer("品牌呢？").text


def test_other_words_are_refused_for_the_template() -> None:
    writer = Writer("{}，最好是红色的", "，")
    customer = Customer(BRIEF, Draws("w"), axes(0), "zh", model_wording("zh", writer))
    plain = Customer(BRIEF, Draws("w"), axes(0), "zh")
    assert customer.open() == plain.open()
    assert customer.worded[0].problem == "added_words"
    assert customer.worded[0].source == "template"


def test_an_unrecorded_request_without_a_model_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Customer(BRIEF, Draws("w"), axes(0), "zh", model_wording("zh", None)).open()
    assert caught.value.code == "wording_not_recorded"


@pytest.mark.parametrize(
    ("language", "told", "hidden", "text", "found"),
    [
        ("zh", PRICE, BRAND, "我要价格不超过300元的，谢谢", ""),
        ("zh", PRICE, BRAND, "价格方面，价格不超过300元", ""),
        ("zh", PRICE, BRAND, "不要价格不超过300元", "negated_fact"),
        ("zh", PRICE, BRAND, "价格不超过200元", "missing_fact"),
        ("zh", PRICE, BRAND, "价格不超过300元，品牌是屿岚", "undisclosed_fact"),
        ("zh", PRICE, BRAND, "价格不超过300元，要2个", "added_digits"),
        ("zh", PRICE, BRAND, "价格不超过300元，也行", "added_words"),
        ("zh", PRICE, BRAND, "价格不超过300元，屿岚", "added_words"),
        ("en", PRICE_EN, COLOR_EN, "Hi, I'd like a price of at most 300, please!", ""),
        ("en", PRICE_EN, COLOR_EN, "The price: a price of at most 300.", ""),
        ("en", PRICE_EN, COLOR_EN, "a price of at most 300, color: dark red", "undisclosed_fact"),
        ("en", PRICE_EN, COLOR_EN, "not a price of at most 300", "added_words"),
        ("en", COLOR_EN, PRICE_EN, "color: dark red or so", "added_words"),
        ("en", PRICE_EN, COLOR_EN, "a price of at most 300, two of them", "added_words"),
        ("en", PRICE_EN, COLOR_EN, "a price of at most 300, red", "added_words"),
        ("en", PRICE_EN, COLOR_EN, "a price of at most 300?", "added_words"),
        ("en", COLOR_EN, PRICE_EN, "The color is color: dark red", ""),
    ],
)
def test_the_check(language: str, told: Need, hidden: Need, text: str, found: str) -> None:
    assert problem(language, text, told, hidden=(hidden,)) == found


@pytest.mark.parametrize("language", ["zh", "en"])
def test_our_own_words_for_told_needs_pass(language: str) -> None:
    need = PRICE if language == "zh" else PRICE_EN
    for wording in (*WORDINGS[language]["needs"],):
        assert problem(language, wording.format(needs=need.value), need) == "", wording


def test_a_latin_word_is_a_whole_one() -> None:
    words = frozenset({"the", "me", "好"})
    assert made_of("the", words)
    assert not made_of("theme", words)
    assert made_of("好the好", words)
