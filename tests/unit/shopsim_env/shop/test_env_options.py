"""Options for trainers: page size, compact text, refused actions in a row."""

import pytest
from shop_world import LAMP, LAMP_RECORD

from shopsim_env.errors import ObservationError, UsageError
from shopsim_env.pool import EnvPool
from shopsim_env.shop.anchor import anchor_key
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.render import render_observation_state
from shopsim_env.shop.styles import render_compact


def test_page_size_cuts_the_same_ranking_into_smaller_pages(release):
    """170 products match, 150 are kept: 22 pages of 7, the last with 3."""
    env, usual = ShopEnv(release, page_size=7), ShopEnv(release)
    env.reset(3)
    usual.reset(3)
    ranking = []
    for _ in range(8):
        step = usual.step("search[毛毡]") if not ranking else usual.step("click[next >]")
        ranking += [product["asin"] for product in step.observation_state["products"]]
    step = env.step("search[毛毡]")
    state = step.observation_state
    assert (state["page"], state["total_pages"], state["total_results"]) == (1, 22, 150)
    assert [product["asin"] for product in state["products"]] == ranking[:7]
    state = env.step("click[next >]").observation_state
    assert (state["rank_start"], state["rank_end"]) == (8, 14)
    assert [product["rank"] for product in state["products"]] == list(range(8, 15))
    assert state["actions"] == ["back to search", "< prev", "next >", *ranking[7:14]]


def test_page_size_survives_going_home_and_back(release):
    env = ShopEnv(release, page_size=3)
    env.reset(3)
    env.step("search[毛毡]")
    asin = env.step("click[next >]").observation_state["products"][0]["asin"]
    env.step(f"click[{asin}]")
    assert env.step("click[< prev]").observation_state["page"] == 2
    env.step("click[back to search]")
    assert len(env.step("search[毛毡]").observation_state["products"]) == 3


def test_options_build_an_equal_environment(release):
    env = ShopEnv(release, page_size=3, max_invalid=2, observation_style="compact", option_match="paper")
    assert env.options == {
        "task_mode": "persona",
        "interaction_mode": "single_turn",
        "option_match": "paper",
        "max_actions": 30,
        "page_size": 3,
        "observation_style": "compact",
        "max_invalid": 2,
        "persona_view": "default",
    }
    assert ShopEnv(release, **env.options).options == env.options


def test_refused_actions_are_counted_in_all_and_in_a_row(release):
    env = ShopEnv(release)
    env.reset(3)
    counts = []
    for action in ("x", "search[]", "search[毛毡]", "search[毛毡]", "click[next >]"):
        info = env.step(action).info
        counts.append((info["invalid_actions"], info["consecutive_invalid"]))
    assert counts == [(1, 1), (2, 2), (2, 0), (3, 1), (3, 0)]


def test_the_cut_off_ends_with_action_limit_after_that_many_in_a_row(release):
    env = ShopEnv(release, max_invalid=3)
    env.reset(3)
    for action in ("x", "x", "search[毛毡]", "x", "x"):
        assert not env.step(action).done
    step = env.step("x")
    assert (step.termination_reason, step.truncated, step.terminated) == ("action_limit", True, False)
    assert (step.reward, step.reward_detail["r_success"]) == (0.0, 0)
    assert step.info["action_count"] == 6
    assert step.observation_state["page_type"] == "terminal"


def test_without_a_cut_off_refused_actions_go_on_to_the_limit(release):
    env = ShopEnv(release)
    env.reset(3)
    assert [env.step("x").done for _ in range(30)] == [False] * 29 + [True]


def test_compact_text_of_each_page(release):
    env = ShopEnv(release, observation_style="compact", page_size=1)
    assert env.reset(3).observation == "搜索首页\n可搜索\n"
    step = env.step("search[]")
    assert step.observation == "搜索首页\n无效：搜索内容不能为空（empty_argument）\n可搜索\n"
    step = env.step("search[星野台灯]")
    assert step.observation == (
        f"搜索结果 1/150 共150：星野台灯\n1 [{LAMP}] {LAMP_RECORD['title']} ￥39.0 to 59.0\n"
        "可点击：[ASIN]\n- back to search\n- next >\n"
    )
    step = env.step(f"click[{LAMP}]")
    assert step.observation == (
        f"商品 [{LAMP}] 星野 便携 台灯；￥39.0 to 59.0；山野小店；户外用品›照明›台灯；可充电；防水\n"
        "待选：套装、颜色分类\n可点击：\n- back to search\n- < prev\n"
        "- 套装=单灯\n- 套装=灯 | 支架 xl\n- 颜色分类=雾蓝\n- 颜色分类=沙色\n"
    )
    step = env.step("click[颜色分类=雾蓝]")
    assert "已选：颜色分类=雾蓝\n待选：套装\n" in step.observation
    assert "￥39.0；" in step.observation
    env.step("click[套装=单灯]")
    assert env.step("click[buy now]").observation == "任务已终止\n"


def test_compact_and_full_text_have_the_same_state_and_show_every_click(release):
    full, compact = ShopEnv(release), ShopEnv(release, observation_style="compact")
    full.reset(3)
    compact.reset(3)
    for action in ("search[毛毡]", "click[next >]", "click[back to search]", "search[古怪风铃]"):
        one, other = full.step(action), compact.step(action)
        assert one.observation_state == other.observation_state
        assert len(other.observation) < len(one.observation)
        for text in other.observation_state["actions"]:
            assert f"- {text}\n" in other.observation or f"[{text}]" in other.observation


def test_compact_refuses_what_the_full_renderer_refuses(release):
    state = ShopEnv(release).reset(3).observation_state
    with pytest.raises(ObservationError):
        render_compact({**state, "goal": "secret"})
    assert render_observation_state(state) != render_compact(state)


def test_anchor_key_forgets_how_a_page_was_reached(release):
    env = ShopEnv(release)
    start = anchor_key(env.reset(3).observation_state)
    assert anchor_key(env.step("nonsense").observation_state) == start
    first = anchor_key(env.step("search[毛毡]").observation_state)
    assert first != start
    second = anchor_key(env.step("click[next >]").observation_state)
    assert second != first
    assert anchor_key(env.step("click[< prev]").observation_state) == first
    assert anchor_key(env.step("click[back to search]").observation_state) == start


def test_a_persona_without_searches(release):
    usual = ShopEnv(release).reset(3)
    fewer = ShopEnv(release, persona_view="without_searches").reset(3)
    assert usual.user_persona == {
        "地区信息": {"省份": "浙江"},
        "行为特征": {"近期搜索": ["星野台灯"], "偏好": ["简约"]},
    }
    assert fewer.user_persona == {"地区信息": {"省份": "浙江"}, "行为特征": {"偏好": ["简约"]}}
    assert (fewer.task_instruction, fewer.observation) == (usual.task_instruction, usual.observation)
    fewer.user_persona.clear()
    assert ShopEnv(release, persona_view="without_searches").reset(3).user_persona
    assert ShopEnv(release, persona_view="without_searches", task_mode="standard").reset(3).user_persona == {}
    assert ShopEnv(release, persona_view="without_searches").reset(7).user_persona == {}


@pytest.mark.parametrize("wrong", ["", "all", None, ["default"], 1])
def test_another_persona_view_is_wrong_use(release, wrong):
    with pytest.raises(UsageError, match="persona_view: expected one of"):
        ShopEnv(release, persona_view=wrong)
    with pytest.raises(UsageError, match="persona_view"):
        EnvPool(release, 1, persona_view=wrong)


@pytest.mark.parametrize("wrong", ["", None, ["single_turn"]])
def test_another_interaction_mode_is_wrong_use(release, wrong):
    with pytest.raises(UsageError, match="interaction_mode: expected one of"):
        ShopEnv(release, interaction_mode=wrong)
