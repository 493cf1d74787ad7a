import json

import pytest

from shopsim_env.dialogue.check import Draft
from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.shopper import answer, open_talk
from shopsim_env.dialogue.wording import ModelWording, TemplateWording
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


def test_a_good_text_is_used_and_recorded():
    wording = ModelWording(Scripted("就要雾蓝的\n哦"))
    worded = wording.word(DRAFT)
    assert (worded.text, worded.source, worded.problem) == ("就要雾蓝的 哦。", "model", "")
    assert worded.raw == "就要雾蓝的\n哦"
    (row,) = wording.recorded()
    assert row == {
        "request": worded.request,
        "version": "shop-wording-v2",
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
