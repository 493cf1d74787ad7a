"""Whatever is asked: nothing raises, two facts a question at most, disclosure grows, hidden stays hidden."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop_world import shop_release

from shopsim_env.catalog.product import Axis
from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.ledger import mentions, plain
from shopsim_env.dialogue.shopper import INTENTS, answer, open_talk
from shopsim_env.shop.actions import AskShopper
from shopsim_env.shop.env import ShopEnv

SETTINGS = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
QUESTIONS = st.sampled_from(
    [
        "颜色？",
        "规格？",
        "功能？",
        "预算多少？",
        "给谁用？",
        "还有吗",
        "可以下单吗",
        "你好",
        "这款行吗，材质呢",
        "口味",
    ]
)
MESSAGES = st.lists(st.one_of(QUESTIONS, st.text(max_size=60)), max_size=12)
# Letters of another script, so that no wording holds them by accident.
VALUES = st.lists(st.text("가나다라마바사 /【】", max_size=6), max_size=5)
ANY = st.lists(st.text(max_size=8), max_size=5)


def talks(facts, messages, key):
    talk = open_talk(facts, key)
    yield talk
    for message in messages:
        talk = answer(talk, message)
        yield talk


@SETTINGS
@given(
    st.text(max_size=6), ANY, ANY, st.none() | st.decimals(0, 10**9, places=2), MESSAGES, st.text(max_size=4)
)
def test_any_facts_and_any_messages(what, options, attributes, ceiling, messages, key):
    facts = shop_facts(what, options, attributes, ceiling, axes=[Axis("颜色", ())], never=("t",))
    before = frozenset()
    for talk in talks(facts, messages, key):
        assert before <= talk.ledger.disclosed
        assert len(talk.ledger.disclosed - before) <= 2
        before = talk.ledger.disclosed
        for exchange in talk.exchanges[-1:]:
            assert exchange.intent in INTENTS
            assert exchange.answer
            assert "\n" not in exchange.answer
            assert all(fact.value in exchange.answer for fact in (*exchange.told, *exchange.repeated))
            assert len(exchange.told) + len(exchange.repeated) <= 2


@SETTINGS
@given(VALUES, VALUES, st.sampled_from([None, Decimal("7654321")]), MESSAGES, st.integers(0, 9))
def test_hidden_facts_are_not_said(options, attributes, ceiling, messages, seed):
    facts = shop_facts("台灯", options, attributes, ceiling)
    for talk in talks(facts, messages, str(seed)):
        said = [plain(talk.opening), *(plain(exchange.answer) for exchange in talk.exchanges)]
        for fact in talk.ledger.hidden:
            assert not any(mentions(text, plain(fact.value)) for text in said)
        assert talk.confirmed <= talk.ledger.complete


@SETTINGS
@given(VALUES, VALUES)
def test_every_fact_can_be_asked_for(options, attributes):
    facts = shop_facts("台灯", options, attributes, Decimal(40))
    questions = ["规格？"] * 5 + ["功能？"] * 5 + ["预算？"]
    assert list(talks(facts, questions, "k"))[-1].ledger.complete


@SETTINGS
@given(st.lists(st.text(max_size=6), max_size=6))
def test_no_fact_lies_inside_another(values):
    found = [plain(fact.value) for fact in shop_facts("台灯", values[::2], values[1::2], None)]
    for text in found:
        assert not any(mentions(other, text) for other in found if other is not text)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("dialogue"))
    yield small
    small.close()


@SETTINGS
@given(MESSAGES, st.integers(0, 3))
def test_episodes_take_any_message(release, messages, seed):
    env = ShopEnv(release, interaction_mode="multi_turn")
    env.reset(3, seed=seed)
    for count, message in enumerate(messages, start=1):
        step = env.step(AskShopper(message))
        step.observation.encode("utf-8")
        assert step.valid
        assert step.info["action_count"] == count
        assert step.observation_state["page_type"] == "search_home"


@SETTINGS
@given(st.lists(st.text(max_size=30).map(lambda text: f"ask_shopper[{text}]"), max_size=6))
def test_single_turn_knows_no_shopper_whatever_is_asked(release, actions):
    env = ShopEnv(release)
    start = env.reset(3, seed=1).observation_state
    for action in actions:
        state = env.step(action).observation_state
        assert {**state, "last_action": 0} == {**start, "last_action": 0}
        assert not state["last_action"]["valid"]
