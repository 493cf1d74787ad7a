import json

import pytest
from shop_world import LAMP, PERSONA, PLAIN, PLAIN_RECORD, SmallRelease

from shopsim_env.errors import EpisodeError, SearchIndexError, TaskError, UnknownTaskError, UsageError
from shopsim_env.shop.actions import AskShopper, Click, Search
from shopsim_env.shop.env import ShopEnv


@pytest.fixture
def env(release):
    return ShopEnv(release, split="project/test")


def run(env, *actions):
    step = None
    for action in actions:
        step = env.step(action)
    return step


LAMP_PATH = ("search[星野台灯]", f"click[{LAMP}]")


def test_reset_shows_the_simple_text_and_the_persona(env):
    start = env.reset(3)
    assert start.task_instruction == "找个星野便携台灯"
    assert start.user_persona == PERSONA
    assert start.observation == "页面：搜索首页\n\n页面能力：\n- 支持商品搜索\n"
    assert start.observation_state["page_type"] == "search_home"
    assert (start.task_id, start.task_mode, start.interaction_mode) == (3, "persona", "single_turn")
    assert start.environment_version == "shopsimulator-paper-aligned-v9"


def test_standard_mode_shows_the_full_text_of_every_task(release):
    env = ShopEnv(release, task_mode="standard")
    start = env.reset(3)
    assert start.task_instruction == "想要星野便携台灯，雾蓝色单灯，预算不超过40元"
    assert start.user_persona == {}
    assert env.reset(7).task_instruction == "买一个素面竹制杯垫"


def test_a_standard_task_in_persona_mode_falls_back_to_its_full_text(env):
    start = env.reset(7)
    assert (start.task_instruction, start.user_persona) == ("买一个素面竹制杯垫", {})


def test_a_persona_task_without_simple_text_falls_back_to_the_full_text(tmp_path):
    release = SmallRelease(tmp_path, [PLAIN_RECORD])
    release.add(1, PLAIN, "买素面竹制杯垫", persona={"用户标签": ["茶"]})
    start = ShopEnv(release).reset(1)
    release.close()
    assert (start.task_instruction, start.user_persona) == ("买素面竹制杯垫", {"用户标签": ["茶"]})


def test_a_perfect_purchase(env):
    env.reset(3)
    step = run(env, *LAMP_PATH, "click[颜色分类=雾蓝]", "click[套装=单灯]")
    assert (step.reward, step.done, step.termination_reason, step.reward_detail) == (0.0, False, None, {})
    step = run(env, "click[buy now]")
    assert (step.reward, step.terminated, step.truncated, step.done) == (1.0, True, False, True)
    assert (step.termination_reason, step.valid, step.failure_kind) == ("purchase", True, None)
    assert step.reward_detail["r_success"] == 1
    assert step.action_feedback["message"] == "购买已执行"
    assert step.observation_state["page_type"] == "terminal"
    assert step.observation_state["actions"] == []
    assert step.info == {
        "action_count": 5,
        "max_actions": 30,
        "invalid_actions": 0,
        "consecutive_invalid": 0,
        "purchase": {
            "asin": LAMP,
            "selected_options": {"套装": "单灯", "颜色分类": "雾蓝"},
            "price": 39.0,
        },
    }
    json.dumps(step.reward_detail)


def test_half_of_the_options(env):
    # One of two options: strict 1 * 1 * 1/2 * 1, loose (2 + 1 + 1) / (2 + 2 + 1).
    env.reset(3)
    step = run(env, *LAMP_PATH, "click[颜色分类=雾蓝]", "click[套装=灯 | 支架 xl]", "click[buy now]")
    assert step.reward == 0.5
    assert step.reward_detail["r_strict"] == 0.5
    assert step.reward_detail["r_loose"] == pytest.approx(0.8)
    assert step.reward_detail["r_success"] == 0


def test_every_action_counts_and_the_limit_ends_the_episode(env):
    env.reset(3)
    for number in range(1, 30):
        step = env.step("finish" if number % 2 else Search("灯"))
        assert (step.done, step.info["action_count"]) == (False, number)
    step = env.step(Click("nothing"))
    assert (step.done, step.truncated, step.terminated) == (True, True, False)
    assert (step.termination_reason, step.reward, step.valid) == ("action_limit", 0.0, True)
    assert (step.reward_detail["r_loose"], step.reward_detail["r_success"]) == (0, 0)
    assert step.reward_detail["termination_reason"] == "action_limit"
    assert step.observation_state["page_type"] == "terminal"
    assert step.action_feedback["reason"] == "unavailable_action"


def test_multi_turn_has_40_actions(release):
    env = ShopEnv(release, interaction_mode="multi_turn")
    assert env.reset(3).interaction_mode == "multi_turn"
    for _ in range(39):
        step = env.step(AskShopper("预算多少？"))
        assert step.action_feedback["reason"] == "executed"
        assert not step.done
    assert env.step(AskShopper("预算多少？")).termination_reason == "action_limit"


def test_a_purchase_on_the_last_action_is_scored(release):
    env = ShopEnv(release, max_actions=3)
    env.reset(7)
    step = run(env, "search[竹制杯垫]", f"click[{PLAIN}]", "click[buy now]")
    assert (step.termination_reason, step.reward, step.truncated) == ("purchase", 1.0, False)


def test_the_reward_is_r_strict_and_a_purchase_tells_more(env):
    extra = {
        "category_match",
        "title_score",
        "num_attr_matches",
        "num_option_matches",
        "price_upper",
        "price_resolution",
    }
    env.reset(8)
    bought = run(env, *LAMP_PATH, "click[颜色分类=沙色]", "click[套装=单灯]", "click[buy now]")
    assert bought.reward == bought.reward_detail["r_strict"] == 0.0  # 59 yuan, ceiling 45
    assert bought.reward_detail["r_loose"] == 0.5  # (0 + 1 + 0) / (0 + 1 + 1)
    assert extra <= set(bought.reward_detail)
    env.reset(8)
    assert not extra & set(env.terminate("action_limit").reward_detail)


@pytest.mark.parametrize("reason", ["action_limit", "generation_length"])
def test_terminate(env, reason):
    env.reset(3)
    run(env, *LAMP_PATH)
    step = env.terminate(reason)
    assert (step.reward, step.truncated, step.terminated, step.done) == (0.0, True, False, True)
    assert (step.termination_reason, step.action_feedback) == (reason, None)
    assert step.observation_state["page_type"] == "terminal"
    assert step.info["action_count"] == 2
    with pytest.raises(EpisodeError, match="after the end"):
        env.terminate(reason)


def test_calls_out_of_order_are_typed_and_change_nothing(env):
    for call in (lambda: env.step("search[灯]"), lambda: env.terminate("action_limit"), env.tools):
        with pytest.raises(EpisodeError) as caught:
            call()
        assert caught.value.code == "not_started"
    env.reset(3)
    with pytest.raises(UsageError):
        env.terminate("purchase")
    env.terminate("action_limit")
    for _ in range(2):
        with pytest.raises(EpisodeError) as caught:
            env.step("search[灯]")
        assert caught.value.code == "ended"
    assert env.tools() == []
    assert env.reset(7).task_id == 7
    assert env.step("search[灯]").info["action_count"] == 1


def test_close(env):
    env.reset(3)
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step("search[灯]"), env.tools):
        with pytest.raises(EpisodeError) as caught:
            call()
        assert caught.value.code == "closed"


@pytest.mark.parametrize("task_id", [4, -1, "7", "task-999", "", 3.0, True])
def test_unknown_tasks_are_refused_and_leave_the_episode_alone(env, task_id):
    env.reset(3)
    run(env, *LAMP_PATH)
    with pytest.raises(TaskError):
        env.reset(task_id)
    assert env.step("click[颜色分类=雾蓝]").action_feedback["valid"] is True


def test_a_tasks_table_with_its_own_error_keeps_it(env, release, monkeypatch):
    class Table(dict):
        def __missing__(self, key):
            raise UnknownTaskError(f"task {key} was excluded: multiple_price_affecting_axes")

    monkeypatch.setattr(release, "tasks", Table(release.tasks))
    with pytest.raises(UnknownTaskError, match="multiple_price_affecting_axes"):
        env.reset(5)


def test_drawing_from_a_split_depends_on_the_seed_alone(release):
    def draws(seed):
        env = ShopEnv(release, split="project/test")
        return [env.reset(seed=seed).task_id, *(env.reset().task_id for _ in range(20))]

    assert draws(1) == draws(1)
    assert set(draws(1)) == {3, 7, 8, 9}
    assert draws(1) != draws(2)


def test_drawing_needs_a_split_and_a_first_seed(release, env):
    with pytest.raises(UsageError) as caught:
        env.reset()
    assert caught.value.code == "no_seed"
    with pytest.raises(UsageError) as caught:
        ShopEnv(release).reset(seed=1)
    assert caught.value.code == "no_task"
    with pytest.raises(UsageError, match="seed"):
        env.reset(seed="1")


@pytest.mark.parametrize(
    "arguments",
    [
        {"task_mode": "simple"},
        {"interaction_mode": "chat"},
        {"option_match": "fuzzy"},
        {"max_actions": 0},
        {"max_actions": True},
        {"page_size": 0},
        {"page_size": 21},
        {"observation_style": "html"},
        {"max_invalid": 0},
    ],
)
def test_wrong_arguments(release, arguments):
    with pytest.raises(UsageError):
        ShopEnv(release, **arguments)


@pytest.mark.parametrize(("split", "code"), [("test", "unknown_split"), ("project/none", "empty_split")])
def test_wrong_splits(release, split, code):
    with pytest.raises(TaskError) as caught:
        ShopEnv(release, split=split)
    assert caught.value.code == code


def test_tools_follow_the_page(env):
    env.reset(3)
    assert [tool["function"]["name"] for tool in env.tools()] == ["search"]
    step = env.step("search[帐篷]")
    (click,) = env.tools()
    enum = click["function"]["parameters"]["properties"]["value"]["enum"]
    assert enum == step.observation_state["actions"]
    assert [tool["function"]["name"] for tool in env.tools(dynamic=False)] == ["search", "click"]


def test_returned_values_are_copies(env):
    start = env.reset(3)
    start.user_persona.clear()
    start.observation_state["search_available"] = False
    step = env.step("search[星野台灯]")
    step.observation_state["actions"].clear()
    step.action_feedback.clear()
    assert env.step(f"click[{LAMP}]").action_feedback["valid"] is True
    assert env.reset(3).user_persona != {}


def test_a_failing_catalogue_is_an_error_and_no_step(tmp_path):
    release = SmallRelease(tmp_path, [PLAIN_RECORD])
    release.add(1, PLAIN, "买素面竹制杯垫")
    env = ShopEnv(release, max_actions=3)
    env.reset(1)
    env.step("search[杯垫]")
    release.close()
    with pytest.raises(SearchIndexError, match="did not count"):
        env.step(f"click[{PLAIN}]")
    assert [tool["function"]["name"] for tool in env.tools()] == ["click"]
    step = env.terminate("generation_length")
    assert step.info["action_count"] == 1


def test_no_step_shows_private_text(env):
    env.reset(3)
    steps = [
        env.step(action)
        for action in (*LAMP_PATH, "click[颜色分类=雾蓝]", "click[套装=单灯]", "click[buy now]")
    ]
    shown = json.dumps(
        [[s.observation, s.observation_state, s.reward_detail, s.info, s.action_feedback] for s in steps],
        ensure_ascii=False,
    )
    assert "预算不超过40元" not in shown
    assert "shopsim-000" not in shown


def test_the_same_actions_give_the_same_bytes(release):
    def play():
        env = ShopEnv(release)
        start = env.reset(3)
        steps = [env.step(action) for action in (*LAMP_PATH, "x", "click[套装=单灯]", "click[buy now]")]
        return json.dumps([start.observation, *((s.observation, s.observation_state, s.info) for s in steps)])

    assert play() == play()


@pytest.mark.parametrize(
    ("rule", "version"), [("anchored", "shopsim-reward-v1"), ("paper", "shopsimulator-paper-reward-v2")]
)
def test_a_forced_end_names_the_reward_version_of_its_rule(
    release: SmallRelease, rule: str, version: str
) -> None:
    env = ShopEnv(release, option_match=rule)
    env.reset(next(iter(release.tasks)))
    assert env.terminate("generation_length").reward_detail["reward_version"] == version
