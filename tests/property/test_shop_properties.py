"""Whatever an agent does, the Shop world stays within its documented pages and never raises."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop_world import SmallRelease, shop_release

from shopsim_env.shop.actions import Click, Search
from shopsim_env.shop.display import one_line
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.feedback import REASONS
from shopsim_env.shop.pages import ProductDetail, SearchResults, clickable
from shopsim_env.shop.render import render_observation_state

PAGES = {"search_home", "search_results", "product_detail", "terminal"}
SETTINGS = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TEXT = st.text(max_size=40)
JUNK = st.one_of(
    TEXT,
    st.none(),
    st.integers(),
    TEXT.map(lambda text: f"search[{text}]"),
    TEXT.map(lambda text: f"click[{text}]"),
    TEXT.map(Click),
    st.dictionaries(st.sampled_from(["name", "function", "arguments"]), TEXT),
    st.fixed_dictionaries({"name": st.sampled_from(["search", "click"]), "arguments": TEXT}),
    st.lists(st.dictionaries(TEXT, TEXT), max_size=2),
)
QUERIES = st.one_of(
    st.sampled_from(["帐篷", "毛毡 彩色", "星野台灯", "古怪风铃", "双生积木", "多色颜料"]), TEXT
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("properties"))
    yield small
    small.close()


def next_action(data, state):
    kind = data.draw(st.integers(0, 9))
    if kind == 0:
        return data.draw(JUNK), False
    if state["search_available"]:
        return Search(data.draw(QUERIES)), False
    value = data.draw(st.sampled_from(state["actions"]))
    spellings = [
        Click(value),
        f"click[{value}]",
        {"name": "click", "arguments": json.dumps({"value": value})},
        {"type": "function", "function": {"name": "click", "arguments": {"value": value}}},
    ]
    return spellings[kind % 4], True


@SETTINGS
@given(st.data())
def test_random_play(release, data):
    env = ShopEnv(release)
    state = env.reset(3).observation_state
    for count in range(1, 31):
        action, shown = next_action(data, state)
        before, step = state, env.step(action)
        state = step.observation_state
        assert state["page_type"] in PAGES
        assert step.info["action_count"] == count
        assert step.action_feedback["reason"] in REASONS
        assert step.action_feedback["valid"] == (step.action_feedback["reason"] == "executed")
        if shown:
            assert step.action_feedback["valid"]
        if not step.action_feedback["valid"] and not step.done:
            assert {**state, "last_action": 0} == {**before, "last_action": 0}
        assert step.observation == render_observation_state(json.loads(json.dumps(state)))
        step.observation.encode("utf-8")
        assert step.done == (state["page_type"] == "terminal")
        assert len(state["actions"]) == len(set(state["actions"]))
        if step.done:
            break
    assert step.done
    assert 0 <= step.reward <= 1


NAMES = st.text(max_size=8)
VALUES = st.lists(
    st.one_of(st.text(max_size=12), st.sampled_from(["a=b", "]", "】ｘ", "= ", "\n", ""])), max_size=4
)


@SETTINGS
@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_every_product_can_be_bought_whatever_its_options_hold(tmp_path_factory, options):
    record = {"asin": "700000000001", "title": "任意 商品", "customization_options": options}
    release = SmallRelease(tmp_path_factory.mktemp("any"), [record])
    release.add(1, "700000000001", "买任意商品")
    try:
        env = ShopEnv(release, max_actions=1_000)
        env.reset(1)
        env.step("search[任意商品]")
        step = env.step("click[700000000001]")
        while missing := step.observation_state["missing_option_axes"]:
            value = step.observation_state["available_options"][missing[0]][-1]
            step = env.step(f"click[{one_line(missing[0])}={value}]")
            assert step.action_feedback["valid"]
            assert missing[0] not in step.observation_state["missing_option_axes"]
        assert step.observation_state["options_complete"]
        assert env.step(Click("buy now")).termination_reason == "purchase"
    finally:
        release.close()


@given(st.integers(0, 400), st.integers(1, 21))
def test_pages_cut_the_hits_without_loss(hits, number):
    asins = tuple(str(index) for index in range(hits))
    pages = [
        SearchResults("词", asins, page) for page in range(1, SearchResults("词", asins).total_pages + 1)
    ]
    assert tuple(asin for page in pages for asin in page.shown) == asins
    assert all(len(page.shown) <= 20 for page in pages)
    assert ("next >" in clickable(pages[-1])) is False


def test_each_listed_value_is_valid_on_every_page_of_the_shop(release):
    """All values of all hand-made products, clicked as text and as typed action."""
    env = ShopEnv(release, max_actions=10_000)
    for asin in (record for record in ("700000000101", "700000000103", "700000000104", "700000000105")):
        page = ProductDetail.open(release.product(asin), SearchResults("词", (asin,)))
        env.reset(3)
        env.step(Search(release.product(asin).title))
        env.step(Click(asin))
        for label in clickable(page)[2:]:
            step = env.step(f"click[{label}]")
            assert step.action_feedback["valid"], label
