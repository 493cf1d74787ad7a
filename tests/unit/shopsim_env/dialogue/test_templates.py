import re

import pytest

from shopsim_env.dialogue.ledger import Fact
from shopsim_env.dialogue.templates import WORDINGS, fact_clause, pick
from shopsim_env.dialogue.topics import BY_NAME

GAPS = {"what": "台灯", "value": "雾蓝", "label": "颜色", "topic": "预算"}


@pytest.mark.parametrize("slot", WORDINGS)
def test_every_slot_has_several_wordings_that_fill_without_rest(slot):
    assert len(set(WORDINGS[slot])) == len(WORDINGS[slot]) >= 3
    found = {pick(str(key), slot, **GAPS) for key in range(100)}
    assert len(found) == len(WORDINGS[slot])
    assert not any("{" in text or "}" in text for text in found)


@pytest.mark.parametrize("slot", WORDINGS)
def test_no_wording_holds_digits_or_letters_of_its_own(slot):
    for text in WORDINGS[slot]:
        assert not re.search("[0-9０-９A-Za-z]", re.sub(r"\{[a-z]+\}", "", text))


def test_the_key_alone_decides():
    assert pick("a", "opening", what="灯") == pick("a", "opening", what="灯")
    # SHA-256 of "a|opening" begins with the four bytes that follow; worked out with sha256sum.
    assert pick("a", "opening", what="灯") == WORDINGS["opening"][0x64F66B4A % 6].format(what="灯")


def test_wordings_with_the_text_of_a_hidden_fact_are_avoided():
    hidden = [Fact("a", "attribute", "麻烦", frozenset())]
    found = {pick(str(key), "opening", hidden, what="灯") for key in range(100)}
    assert found == {text.format(what="灯") for text in WORDINGS["opening"] if "麻烦" not in text}


def test_a_text_in_every_wording_cannot_be_avoided():
    hidden = [Fact("a", "attribute", "灯", frozenset())]
    assert "灯" in pick("a", "opening", hidden, what="灯")


def test_values_with_braces_stay_as_they_are():
    fact = Fact("o", "option", "{0}{value}", frozenset(), "{label}")
    assert "{0}{value}" in fact_clause("k", fact)


def test_an_axis_name_with_a_hidden_text_is_left_out():
    fact = Fact("o", "option", "红轴", frozenset(), "轴体名称")
    assert "轴体名称" in fact_clause("k", fact)
    assert "轴体" not in fact_clause("k", fact, [Fact("a", "attribute", "轴体", frozenset())])


def test_topic_labels_are_distinct():
    assert len({topic.label for topic in BY_NAME.values()}) == len(BY_NAME)
