"""The customer tells what it is asked for, never more, and never takes anything back."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from shopsim_env.rlve.customer.customer import TOLD_PER_ANSWER, Customer
from shopsim_env.rlve.customer.needs import ACTS, Brief, Need, Remark, Revision
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws

# Topic, Chinese value, English value, what a program reads: names of values that no wording holds.
_FACTS = (
    ("price", "价格不超过317元", "a price of at most 317", 317),
    ("brand", "品牌是屿岚麓", "the brand Brufenmek", ("屿岚麓", "Brufenmek")),
    ("rating", "评分不低于4.5分", "a rating of at least 4.5", 4.5),
    ("color", "颜色是墨绿色", "color: teal green", ("墨绿", "teal")),
    ("material", "材质是碳纤维", "material: carbon fiber", ("碳纤维", "carbon")),
    ("quantity", "数量要7件", "a quantity of 7", 7),
    ("order", "订单号是ORD-7K2F", "the order ORD-7K2F", "ORD-7K2F"),
    ("connector_type", "接口是USB-C", "connector: USB-C", "USB-C"),
)
_MESSAGES = (
    "请问还有什么要求吗？",
    "品牌和颜色有要求吗？",
    "预算多少？",
    "数量和订单号呢？",
    "好的，正在为您处理，请稍等片刻，马上就好。",
    "Do you have any other requirements?",
    "Which material and which connector?",
    "What rating should it have?",
    "I have added the item to your cart, all set now.",
    "",
)


def needs_of(language: str) -> tuple[Need, ...]:
    return tuple(
        Need(topic, "fact", zh if language == "zh" else en, frozenset({topic}), data={"value": value})
        for topic, zh, en, value in _FACTS
    )


def words(need: Need) -> list[str]:
    """The value and the words of its data."""
    value = need.data["value"]
    return [need.value, *map(str, value if isinstance(value, tuple) else (value,))]


def says(text: str, word: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", text) is not None


@st.composite
def conversations(draw):
    """A customer and what the agent says to it."""
    language = draw(st.sampled_from(["zh", "en"]))
    needs = tuple(draw(st.permutations(needs_of(language)))[: draw(st.integers(0, len(_FACTS)))])
    pending = frozenset(need.id for need in needs if draw(st.booleans()))
    stated = [need for need in needs if need.id not in pending]
    revision = None
    if stated and draw(st.booleans()):
        new = "换成另外一种" if language == "zh" else "something quite different"
        revision = Revision(Need(stated[0].id, "fact", new, stated[0].topics, data={"value": new}))
    request = "我想买东西，请帮忙" if language == "zh" else "I want to buy something, please help"
    brief = Brief("PD", request, needs, pending, revision)
    noise = draw(st.sampled_from([0.0, 0.08, 0.125]))
    customer = Customer(brief, Draws("p", draw(st.integers(0, 10**6))), axes(5, {"p_noise": noise}), language)
    remarks = st.none() | st.builds(
        Remark, st.sampled_from(["correct", "confirm"]), st.sampled_from(["这个不对", "可以的"]), st.just(0.6)
    )
    turns = draw(st.lists(st.tuples(st.sampled_from(_MESSAGES), remarks), max_size=8))
    return customer, brief, turns


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_a_conversation(conversation) -> None:
    customer, brief, turns = conversation
    opening = customer.open()
    said = [opening]
    told = {need.id: need for need in opening.told}
    assert set(told) == {need.id for need in brief.needs} - brief.pending
    check(opening.text, brief, told, opening.told)
    for number, (message, remark) in enumerate(turns):
        reply = customer.answer(message, remark)
        said.append(reply)
        new = [need for need in reply.told if need.id not in told]
        assert len(new) <= TOLD_PER_ANSWER
        assert {need.id for need in new} <= brief.pending
        before = set(told)
        told.update({need.id: need for need in reply.told})
        assert customer.ledger.disclosed == set(told) >= before
        check(reply.text, brief, told, reply.told)
        assert (reply.act == "switch") is (number == 0 and brief.revision is not None)
        if reply.act == "clarify":
            assert new
        if remark is not None and remark.act == "correct":
            assert reply.act in ("correct", "switch")
    assert all(utterance.act in ACTS for utterance in said)


def check(text: str, brief: Brief, told: dict[str, Need], just_told: tuple[Need, ...]) -> None:
    assert text.strip()
    assert not re.search("[{}]|None", text)
    assert all(need.value in text for need in just_told)
    untold = [need for need in brief.needs if need.id not in told]
    assert not any(says(text, word) for need in untold for word in words(need))


@settings(max_examples=50, deadline=None)
@given(conversations(), st.text(max_size=300))
def test_any_message_gets_an_answer(conversation, message) -> None:
    customer, brief, _ = conversation
    customer.open()
    reply = customer.answer(message)
    assert reply.text
    assert {need.id for need in reply.told} <= {need.id for need in brief.needs}


@settings(max_examples=50, deadline=None)
@given(conversations())
def test_open_questions_reach_every_need(conversation) -> None:
    """As many as it takes at two needs an answer, whatever language they are in."""
    customer, brief, _ = conversation
    customer.open()
    for number in range(-(-len(brief.pending) // TOLD_PER_ANSWER)):
        customer.answer(_MESSAGES[0] if number % 2 else _MESSAGES[5])
    assert customer.ledger.complete
