import json

import pytest

from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.shopper import answer, open_talk
from shopsim_env.dialogue.wording import PROBLEMS, Draft, ModelWording, TemplateWording, wording_problem
from shopsim_env.errors import UsageError

FACTS = shop_facts("台灯", ("雾蓝", "【香辣】3包"), ("防水", "学生"), None)
COLOUR, FLAVOUR, WATER, STUDENT = FACTS[1:]
DRAFT = Draft("规格选雾蓝。", (COLOUR,), (FLAVOUR, WATER, STUDENT), ("colour",))


class Scripted:
    """A model that answers from a list."""

    name = "scripted"

    def __init__(self, *texts):
        self.texts = list(texts)
        self.asked = []

    def complete(self, messages):
        self.asked.append(messages)
        return self.texts.pop(0)


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
        ("要雾蓝，两件", ""),
        ("要雾蓝，预备2件", "added_digits"),
        ("要雾蓝，三百元的", "added_digits"),
        ("要雾蓝，价格便宜些", "added_topic"),
        ("要雾蓝，材质好一点", "added_topic"),
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


def test_every_problem_is_in_the_list():
    assert set(PROBLEMS) >= {"empty", "undisclosed_fact", "added_topic"}


def test_a_good_text_is_used_and_recorded():
    wording = ModelWording(Scripted("就要雾蓝的\n哦"))
    worded = wording.word(DRAFT)
    assert (worded.text, worded.source, worded.problem) == ("就要雾蓝的 哦。", "model", "")
    assert worded.raw == "就要雾蓝的\n哦"
    (row,) = wording.recorded()
    assert row == {
        "request": worded.request,
        "version": "shop-wording-v1",
        "model": "scripted",
        "raw": "就要雾蓝的\n哦",
    }


def test_a_bad_text_gives_way_to_the_template_and_says_why():
    worded = ModelWording(Scripted("要雾蓝，还要防水")).word(DRAFT)
    assert (worded.text, worded.source, worded.problem) == (DRAFT.text, "template", "undisclosed_fact")
    assert worded.raw == "要雾蓝，还要防水"


def test_the_model_sees_the_sentence_and_nothing_hidden():
    model = Scripted("雾蓝")
    ModelWording(model).word(DRAFT)
    text = json.dumps(model.asked, ensure_ascii=False)
    assert "雾蓝" in text
    assert not any(fact.value in text for fact in DRAFT.hidden)


def test_one_request_is_asked_once():
    model = Scripted("要雾蓝")
    wording = ModelWording(model)
    assert wording.word(DRAFT) == wording.word(DRAFT)
    assert len(model.asked) == 1


def test_records_replay_without_a_model():
    recorded = ModelWording(Scripted("要雾蓝"))
    first = recorded.word(DRAFT)
    rows = json.loads(json.dumps(recorded.recorded()))
    replay = ModelWording(records=rows)
    assert replay.word(DRAFT) == first
    assert replay.recorded() == rows
    with pytest.raises(UsageError, match="not recorded") as error:
        replay.word(Draft("我看重防水。", (WATER,)))
    assert error.value.code == "wording_not_recorded"


def test_only_sentences_that_tell_are_worded_by_the_model():
    model = Scripted("就是雾蓝啦")
    wording = ModelWording(model)
    talk = open_talk(FACTS, "k")
    for message in ("你好", "可以下单吗", "什么口味呢，不对，材质呢"):
        talk = answer(talk, message, ModelWording(Scripted("就要【香辣】3包")))
    talk = answer(talk, "颜色？可以下单吗", wording)
    assert model.texts == []
    assert talk.exchanges[-1].answer.startswith("就是雾蓝啦。")
    assert talk.exchanges[-1].intent == "objection"
    assert talk.exchanges[-1].worded.source == "model"


def test_the_template_wording_is_the_draft():
    assert TemplateWording().word(DRAFT).text == DRAFT.text
