"""Agents without skill on the hand-made shop: which texts they click, and what they may know."""

from typing import Any

import pytest
from shop_world import LAMP, PLAIN

from shopsim_env.shop.actions import Click, Search
from shopsim_env.shop.baselines import (
    BASELINES,
    Buyer,
    NoOp,
    Start,
    cheapest,
    first,
    gold_title,
    keyword_query,
    search_keywords,
    titled,
)
from shopsim_env.shop.env import ShopEnv

PERSONA = {
    "地区信息": {"城市": "杭州"},
    "行为特征": {"最近14天搜索关键词": ["竹制杯垫", " ", "素面杯垫", "竹制杯垫"], "最近14天收藏商品": ["灯"]},
    "recent_search": {"words": ["隔热垫"]},
}
HITS = [
    {"asin": "a", "title": "帐篷", "price": "39.0 to 59.0", "rank": 1},
    {"asin": "b", "title": "两行 字", "price": None, "rank": 2},
    {"asin": "c", "title": "台灯", "price": "9.5 to 100.0", "rank": 3},
    {"asin": "d", "title": "台灯", "price": "9.5", "rank": 4},
]


def play(env: ShopEnv, task_id: int, make: Any) -> list[Any]:
    """The actions of one episode, each checked to be one that the page offers."""
    reset = env.reset(task_id)
    agent = make(Start(task_id, reset.task_instruction, reset.user_persona))
    state, actions, done = reset.observation_state, [], False
    while not done:
        action = agent.act(state)
        if isinstance(action, Click):
            assert action.value in state["actions"]
        step = env.step(action)
        actions.append(action)
        state, done = step.observation_state, step.done
    return actions


def test_the_first_result_is_bought_with_the_first_value_of_every_axis(release):
    actions = play(ShopEnv(release), 3, BASELINES["first-result"])
    assert actions[:2] == [Search("找个星野便携台灯"), Click(LAMP)]
    assert {action.value for action in actions[2:4]} == {"颜色分类=雾蓝", "套装=单灯"}
    assert actions[4:] == [Click("buy now")]


def test_a_product_without_options_is_bought_at_once(release):
    assert play(ShopEnv(release), 7, BASELINES["first-result"]) == [
        Search("买一个素面竹制杯垫"),
        Click(PLAIN),
        Click("buy now"),
    ]


def test_picks():
    assert first(HITS)["asin"] == "a"
    assert cheapest(HITS)["asin"] == "c"  # equal lower ends: the better rank
    assert cheapest(HITS[1:2])["asin"] == "b"
    assert titled("台灯")(HITS)["asin"] == "c"
    assert titled("两行\u2028字")(HITS)["asin"] == "b"
    assert titled("不存在")(HITS)["asin"] == "a"


def test_the_keyword_copier_searches_what_the_persona_searched():
    assert search_keywords(PERSONA) == ("竹制杯垫", "素面杯垫", "隔热垫")
    assert keyword_query(Start(1, "买个垫子", PERSONA)) == "竹制杯垫 素面杯垫 隔热垫"
    assert keyword_query(Start(1, "买个垫子", {"地区信息": {"城市": "杭州"}})) == "买个垫子"
    assert BASELINES["persona-keywords"](Start(1, "买个垫子", PERSONA)).act({"search_available": True}) == (
        Search("竹制杯垫 素面杯垫 隔热垫")
    )


def test_the_title_agent_searches_the_title(release):
    title = release.goal(8).product.title
    assert play(ShopEnv(release), 8, lambda _start: gold_title(title))[:2] == [Search(title), Click(LAMP)]


def test_no_op_runs_into_the_limit(release):
    assert play(ShopEnv(release), 7, lambda _start: NoOp()) == ["noop"] * 30


def test_a_search_without_hits_is_repeated_until_the_limit(release):
    actions = play(ShopEnv(release), 7, lambda _start: Buyer("钢琴", first))
    assert actions == [Search("钢琴"), Click("back to search")] * 15


def test_the_random_agent_depends_on_seed_and_task_alone(release):
    env = ShopEnv(release)
    random_agent = BASELINES["random"]
    games = [play(env, task_id, random_agent) for task_id in (3, 3, 8)]
    assert games[0] == games[1]
    assert games[0][0] == Search("找个星野便携台灯")
    pages = [{"search_available": False, "actions": [str(number) for number in range(50)]}] * 5

    def clicks(task_id: int, seed: int) -> list[Any]:
        agent = random_agent(Start(task_id, "灯", {}, seed))
        return [agent.act(page) for page in pages]

    assert clicks(3, 0) == clicks(3, 0)
    assert len({tuple(clicks(task_id, seed)) for task_id in (3, 8) for seed in (0, 1)}) == 4


@pytest.mark.parametrize("name", [name for name in BASELINES if name not in ("no-op", "random")])
def test_every_buyer_ends_with_a_purchase(release, name):
    assert play(ShopEnv(release), 9, BASELINES[name])[-1] == Click("buy now")
