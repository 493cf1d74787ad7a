from decimal import Decimal

import pytest

from shopsim_env.catalog.product import read_axes
from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.shopper import INTENTS, answer, open_talk
from shopsim_env.dialogue.templates import WORDINGS

AXES = read_axes({"颜色分类": ["雾蓝", "沙色"], "套装": ["单灯", "双灯"]})
FACTS = shop_facts("台灯", ("雾蓝", "单灯"), ("防水", "可充电", "学生"), Decimal(40), axes=AXES)


def talk_of(*messages, facts=FACTS, key="k"):
    talk = open_talk(facts, key)
    for message in messages:
        talk = answer(talk, message)
    return talk


def last(*messages, **more):
    return talk_of(*messages, **more).exchanges[-1]


def values(exchange):
    return [fact.value for fact in exchange.told]


def test_the_opening_tells_the_category_alone():
    talk = talk_of()
    assert talk.ledger.disclosed == {"category"}
    assert talk.opening in [text.format(what="台灯") for text in WORDINGS["opening"]]


def test_without_a_category_the_opening_tells_nothing():
    talk = talk_of(facts=FACTS[1:])
    assert talk.opening in WORDINGS["opening_unknown"]
    assert talk.ledger.disclosed == frozenset()


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("预算多少？", ["40元"]),
        ("什么颜色？", ["雾蓝"]),
        ("套装呢", ["单灯"]),
        ("规格怎么选", ["雾蓝", "单灯"]),
        ("需要什么功能？", ["防水", "可充电"]),
        ("给谁用？", ["学生"]),
        ("预算和颜色分别是什么", ["40元", "雾蓝"]),
        ("功能、颜色、预算？", ["防水", "雾蓝"]),
        ("要雾蓝的吗", ["雾蓝"]),
        ("学生用的，预算多少", ["学生", "40元"]),
        ("还有什么要求", ["雾蓝"]),
        ("什么口味", []),
        ("你好", []),
        ("可以下单吗", []),
    ],
)
def test_what_is_told_is_what_was_asked(message, told):
    exchange = last(message)
    assert sorted(values(exchange)) == sorted(told)
    for fact in FACTS[1:]:
        assert (fact.value in exchange.answer) == (fact.value in told)


def test_named_facts_go_first():
    assert values(last("功能呢？要学生用的吗")) == ["学生", "防水"]


def test_a_topic_with_more_is_told_in_turns_and_says_so():
    talk = talk_of("功能？", "功能？", "功能？")
    first, second, third = talk.exchanges
    assert (values(first), values(second), values(third)) == (["防水", "可充电"], ["学生"], [])
    assert first.answer.endswith(WORDINGS["more"])
    assert second.answer.endswith(WORDINGS["no_more"])
    assert (third.intent, [fact.value for fact in third.repeated]) == ("repeated", ["防水", "可充电"])


def test_a_named_value_alone_says_nothing_about_the_rest():
    assert not last("要防水的吗").answer.endswith((*WORDINGS["more"], *WORDINGS["no_more"]))


def test_a_wrong_value_is_not_denied_the_fact_is_told():
    exchange = last("颜色要沙色的吗")
    assert values(exchange) == ["雾蓝"]
    assert "沙色" not in exchange.answer


def test_a_wrong_value_without_a_topic_is_neither_confirmed_nor_denied():
    assert last("要夜灯模式吗").intent == "unrecognised"


@pytest.mark.parametrize("message", ["你好", "", "asdf", "。"])
def test_unrecognised_messages_get_a_polite_answer_and_change_nothing(message):
    talk = talk_of(message)
    assert talk.exchanges[-1].intent == "unrecognised"
    assert talk.exchanges[-1].answer in WORDINGS["unrecognised"]
    assert talk.ledger == talk_of().ledger


def test_a_topic_without_facts_gets_no_judgement():
    exchange = last("什么口味")
    assert exchange.intent == "nothing"
    assert exchange.answer in [text.format(topic="口味") for text in WORDINGS["nothing"]]


def test_it_speaks_against_buying_until_everything_was_asked_and_then_agrees():
    talk = talk_of("可以下单吗？")
    assert (talk.exchanges[-1].intent, talk.objected, talk.confirmed) == ("objection", True, False)
    assert talk.exchanges[-1].answer in WORDINGS["objection"]
    for message in ("规格？", "功能？", "功能？"):
        talk = answer(talk, message)
    talk = answer(talk, "这款可以吗")
    assert talk.exchanges[-1].intent == "objection"
    talk = answer(talk, "预算多少，可以下单了吗")
    assert talk.exchanges[-1].intent == "confirmation"
    assert "40元" in talk.exchanges[-1].answer
    assert (talk.objected, talk.confirmed) == (False, True)


def test_an_objection_goes_with_the_facts_that_were_asked_in_the_same_breath():
    exchange = last("雾蓝单灯，可以下单吗？")
    assert exchange.intent == "objection"
    assert values(exchange) == ["雾蓝", "单灯"]
    assert exchange.answer.endswith(WORDINGS["objection"])


def test_when_all_is_told_an_open_question_gets_no_fact():
    messages = ["规格？", "功能？", "功能？", "预算？", "还有别的要求吗"]
    assert last(*messages).answer in WORDINGS["nothing_left"]


def test_open_questions_alone_reach_everything_one_fact_at_a_time():
    talk = talk_of(*["还有什么要求？"] * 6)
    assert [len(exchange.told) for exchange in talk.exchanges] == [1] * 6
    assert talk.ledger.complete


def test_equal_keys_give_equal_words_and_other_keys_other_words():
    messages = ("颜色？", "功能？", "预算？", "还有吗", "下单吗")
    assert talk_of(*messages) == talk_of(*messages)
    spoken = {
        tuple(exchange.answer for exchange in talk_of(*messages, key=str(key)).exchanges) for key in range(50)
    }
    assert len(spoken) == 50
    told = {
        tuple(tuple(values(exchange)) for exchange in talk_of(*messages, key=str(key)).exchanges)
        for key in range(50)
    }
    assert len(told) == 1


def test_answering_leaves_the_earlier_talk_alone():
    talk = talk_of()
    answer(talk, "颜色？")
    assert talk == talk_of()


def test_intents_are_a_closed_list():
    messages = [
        "颜色？",
        "颜色？",
        "口味？",
        "下单吗",
        "你好",
        "规格？",
        "功能？",
        "功能？",
        "预算？",
        "下单吗",
    ]
    assert {exchange.intent for exchange in talk_of(*messages).exchanges} == set(INTENTS)
