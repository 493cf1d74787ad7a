"""`shopsim/Shop-v9` by Gymnasium's own rules."""

import json
from dataclasses import replace

import pytest

from shopsim_env.errors import EpisodeError, UsageError
from shopsim_env.release import load_release
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.oracle import solve_any

gymnasium = pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from shopsim_env.adapters.gymnasium import ENV_ID, ShopGymEnv, UnicodeText, register_envs  # noqa: E402


@pytest.fixture
def env():
    made = gymnasium.make(ENV_ID)
    yield made
    made.close()


def test_registered_once() -> None:
    register_envs()
    assert ENV_ID == "shopsim/Shop-v9"
    gymnasium.make(f"shopsim_env.adapters.gymnasium:{ENV_ID}").close()
    assert gymnasium.spec(ENV_ID).entry_point == "shopsim_env.adapters.gymnasium:ShopGymEnv"


@pytest.mark.parametrize("options", [{}, {"task_mode": "standard", "observation_style": "compact"}])
def test_passes_the_checker_without_a_warning(options) -> None:
    made = gymnasium.make(ENV_ID, render_mode="ansi", **options)
    check_env(made.unwrapped)
    made.close()


def test_plays_as_the_native_environment(env) -> None:
    observation, info = env.reset(seed=7)
    with load_release() as release:
        native = ShopEnv(release, split="project/train")
        start = native.reset(seed=7)
        assert (info["task_id"], observation["page"]) == (start.task_id, start.observation)
        assert observation["instruction"] == start.task_instruction
        assert json.loads(observation["persona"]) == start.user_persona
        for action in ("search[收纳]", "click[next >]", "nonsense", "click[back to search]"):
            step = native.step(action)
            observation, reward, terminated, truncated, info = env.step(action)
            assert (observation["page"], reward) == (step.observation, step.reward)
            assert (terminated, truncated) == (step.terminated, step.truncated)
            assert info["is_action_valid"] == step.action_feedback["valid"]
            assert info["reason"] == step.action_feedback["reason"]
            assert env.unwrapped.observation_state == step.observation_state
    assert env.observation_space.contains(observation)


def test_the_persona_view_is_an_option() -> None:
    with load_release() as release:
        task = next(number for number, task in release.tasks.items() if task.has_persona)
        made = gymnasium.make(ENV_ID, release=release, persona_view="without_searches")
        observation, _ = made.reset(seed=1, options={"task_id": task})
        native = ShopEnv(release, persona_view="without_searches").reset(task)
        assert json.loads(observation["persona"]) == native.user_persona
        assert native.user_persona != release.tasks[task].user_persona
        made.close()
    with pytest.raises(UsageError, match="persona_view"):
        gymnasium.make(ENV_ID, persona_view="all")


def test_a_win_is_told_by_info(env) -> None:
    with load_release() as release:
        task = next(iter(release.tasks))
        actions = solve_any(release, ShopEnv(release), task).actions
    env.reset(seed=1, options={"task_id": task})
    for action in actions[:-1]:
        *_, info = env.step(action)
        assert not info["won"]
    _, reward, terminated, truncated, info = env.step(actions[-1])
    assert (reward, terminated, truncated, info["won"], info["r_strict"]) == (1.0, True, False, True, 1.0)
    assert info["termination_reason"] == "purchase"


def test_tool_calls_as_json_text(env) -> None:
    env.reset(seed=1)
    assert [tool["function"]["name"] for tool in env.unwrapped.tools()] == ["search"]
    *_, info = env.step('{"name": "search", "arguments": {"query": "收纳"}}')
    assert info["reason"] == "executed"
    *_, info = env.step("{broken")
    assert (info["reason"], info["consecutive_invalid"]) == ("invalid_format", 1)


def test_anchor_groups_equal_states(env) -> None:
    _, start = env.reset(seed=1)
    *_, first = env.step("search[收纳]")
    *_, back = env.step("click[back to search]")
    assert start["anchor"] == back["anchor"] != first["anchor"]


def test_draws_go_on_without_a_seed(env) -> None:
    def draws():
        first = env.reset(seed=3)[1]["task_id"]
        return [first, *(env.reset()[1]["task_id"] for _ in range(5))]

    assert draws() == draws()
    assert len(set(draws())) > 1


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(mode) -> None:
    extra = {"vector_kwargs": {"shared_memory": False}} if mode == "async" else {}
    vector = gymnasium.make_vec(ENV_ID, 3, vectorization_mode=mode, max_actions=2, **extra)
    try:
        observation, info = vector.reset(seed=5)
        assert len(observation["instruction"]) == 3
        assert len(set(info["task_id"].tolist())) > 1
        _, rewards, terminated, truncated, info = vector.step(["search[收纳]", "x", "search[]"])
        assert info["reason"].tolist() == ["executed", "invalid_format", "empty_argument"]
        assert (rewards.tolist(), terminated.any(), truncated.any()) == ([0.0] * 3, False, False)
        truncated = vector.step(["x"] * 3)[3]
        assert truncated.tolist() == [True] * 3
        observation = vector.step(["x"] * 3)[0]  # the step after the end resets
        assert all(page.startswith("页面：搜索首页") for page in observation["page"])
    finally:
        vector.close()


def test_a_release_of_the_caller_stays_open() -> None:
    with load_release() as release:
        made = ShopGymEnv(release, split="project/val")
        assert made.render() is None
        with pytest.raises(EpisodeError):
            _ = made.observation_state
        made.reset(seed=1)
        made.close()
        assert release.search("收纳").hits
        with pytest.raises(UsageError):
            ShopGymEnv(release, page_size=99)


def test_text_space() -> None:
    space = UnicodeText(5, seed=1)
    assert space == UnicodeText(5)
    assert space != UnicodeText(6)
    assert [space.contains(x) for x in ("颜色[]", "", "123456", 3)] == [True, True, False, False]
    assert repr(space) == "UnicodeText(5)"
    assert not space.is_np_flattenable
    with pytest.raises(EpisodeError):
        space.sample(mask=1)


def test_an_invalid_step_is_an_error_and_no_reward(env, monkeypatch) -> None:
    env.reset(seed=1)
    inner = env.unwrapped._env
    step = inner.step("x")
    failed = replace(step, valid=False, reward=None, failure_kind="simulator_fault")
    monkeypatch.setattr(inner, "step", lambda _: failed)
    with pytest.raises(EpisodeError) as caught:
        env.step("x")
    assert caught.value.code == "invalid_step"
