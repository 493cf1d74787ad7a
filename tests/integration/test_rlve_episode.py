"""The episode: turns, budgets, endings, and what is shown when."""

import json
from collections.abc import Iterator

import pytest
from rlve_world import DONE, IDLE, find_seed, played, sample_market

from shopsim_env.errors import EpisodeError, UsageError
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


def call(name: str, **args: object) -> dict[str, object]:
    return {"name": name, "args": args}


def test_the_start_shows_the_opening_and_the_budgets(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 4, 0))
    seen = episode.observation()
    assert [message["role"] for message in seen["conversation"]] == ["user"]
    # T_max(4) = 6, B_tool(4) = 3 by the published formulas.
    assert (seen["turn"], seen["turns_left"], seen["tool_budget"]) == (0, 6, 3)
    assert (seen["env_id"], seen["done"], seen["reward"], seen["tool_results"]) == ("PD", False, 0.0, [])
    assert "difficulty" not in json.dumps(seen)


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ("hello", "format_invalid"),
        ("[]", "format_invalid"),
        ('```json\n{"assistant_message":"hi"}\n```', "format_invalid"),
        ('{"assistant_message":"x","tool_calls":[{"name":"cart.view","args":"a"}]}', "format_invalid"),
        (
            '{"assistant_message":"x","answer":{"policy_answer":{"kind":"days","value":NaN},"done":true}}',
            "format_invalid",
        ),
        ({**DONE, "answer": {"done": True, "env": "SUB"}}, "format_invalid"),
        ({**IDLE, "tool_calls": [call("cart.fly")]}, "tool_invalid"),
        ({**IDLE, "tool_calls": [call("catalog.search", query="x", color="red")]}, "tool_invalid"),
    ],
)
def test_an_unreadable_turn_or_an_illegal_call_ends_the_episode_at_once(
    market: Market, turn: object, reason: str
) -> None:
    step = Episode(market, EpisodeKey("PD", 0, 0)).step(turn)  # type: ignore[arg-type]
    assert (step.done, step.reward, step.info["reason"]) == (True, -1.0, reason)
    assert step.info["reward"]["success"] is False
    assert step.info["fault"]["message"]


def test_an_illegal_call_runs_none_of_the_others(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 4, 0))
    episode.step(
        {**IDLE, "tool_calls": [call("catalog.search", query="", filters={"in_stock": True}), call("x.y")]}
    )
    assert episode.overlay.searches == 0


def test_people_are_told_and_may_try_again(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 0, 0), strict=False)
    step = episode.step({**IDLE, "tool_calls": [call("cart.fly")]})
    assert (step.done, step.info["fault"]["code"]) == (False, "unknown_tool")
    assert episode.observation()["turn"] == 0
    assert episode.step(IDLE).observation["turn"] == 1


def test_people_need_not_say_anything(market: Market) -> None:
    wordless = {"tool_calls": [call("datetime.now")]}
    step = Episode(market, EpisodeKey("PD", 0, 0), strict=False).step(wordless)
    assert (step.observation["turn"], "fault" in step.info) == (1, False)
    assert step.observation["tool_results"][0]["name"] == "datetime.now"
    assert Episode(market, EpisodeKey("PD", 0, 0)).step(wordless).info["reason"] == "format_invalid"


def test_a_call_above_the_budget_is_not_executed(market: Market) -> None:
    # The published case: B_tool(4) = 3, the fourth call of a turn gets a budget error.
    episode = Episode(market, EpisodeKey("PD", 4, 0))
    step = episode.step({**IDLE, "tool_calls": [call("datetime.now")] * 4})
    codes = [result["result"].get("error", {}).get("code") for result in step.observation["tool_results"]]
    assert codes == [None, None, None, "tool_budget"]
    assert not step.done


def test_the_last_turn_ends_the_episode(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 0, 0))
    steps = [episode.step(IDLE) for _ in range(4)]
    assert [step.done for step in steps] == [False, False, False, True]
    assert steps[-1].info["reason"] == "t_max"
    assert steps[-1].reward < 0


def test_after_the_end_nothing_is_played(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 0, 0))
    episode.step(DONE)
    with pytest.raises(EpisodeError) as caught:
        episode.step(IDLE)
    assert caught.value.code == "episode_over"


def test_the_goal_is_shown_after_the_end_alone(market: Market) -> None:
    episode = Episode(market, EpisodeKey("POLICY", 2, 1))
    with pytest.raises(EpisodeError) as caught:
        episode.goal()
    assert caught.value.code == "episode_running"
    episode.step(DONE)
    assert episode.goal()["answer"]


def test_the_first_clarification_is_free_and_its_repetition_is_not(market: Market) -> None:
    # T_max(4) = 6. Turns: a question that is answered (free), the same again (charged), an empty answer
    # (charged).
    episode = find_seed(
        market, "POLICY", 4, lambda one: len(one.task.brief.pending) == 1 and one.task.brief.revision is None
    )
    ask = {"assistant_message": "请问还有什么要求吗？"}
    for turn in (ask, ask, DONE):
        step = episode.step(turn)
    reward = step.info["reward"]
    assert (reward["turns"], reward["exempt_turns"], reward["effective_turns"]) == (3, 1, 2)
    # 1 - 2 * (2 - 1) / (6 - 1)
    assert reward["efficiency"] == pytest.approx(0.6)


def test_a_change_of_mind_counts_once_it_was_said(market: Market) -> None:
    episode = find_seed(market, "POLICY", 8, lambda one: one.task.brief.revision is not None)
    key = episode.key
    before, after = episode.task.goal()["answer"], episode.task.goal()["changed"]["answer"]
    assert before != after or episode.task.goal()["rule"] != episode.task.goal()["changed"]["rule"]
    # An answer in the first turn comes before the change; the same answer in the second comes after it.
    rule = episode.task.goal()["rule"]
    value = {"kind": before["kind"], "value": before["value"], "currency": before["currency"]}
    if value["kind"] == "amount":
        value["value"] = f"{int(before['value']) / 100:.2f}"
    turn = {**DONE, "answer": {"done": True, "policy_answer": value, "policy_rule_id": rule}}
    assert Episode(market, key).step(turn).info["reward"]["success"] is True
    late = Episode(market, key)
    late.step(IDLE)
    assert late.step(turn).info["reward"]["success"] is False


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"env_id": "XX"}, "unknown_environment"),
        ({"language": "fr"}, "unknown_language"),
        ({"seed": -1}, "bad_seed"),
        ({"seed": True}, "bad_seed"),
        ({"difficulty": -1}, "bad_difficulty"),
        ({"overrides": {"speed": 1}}, "unknown_axis"),
    ],
)
def test_wrong_keys_are_refused(market: Market, wrong: dict[str, object], code: str) -> None:
    values = {"env_id": "PD", "difficulty": 0, "seed": 0, **wrong}
    with pytest.raises(UsageError) as caught:
        Episode(market, EpisodeKey(**values))  # type: ignore[arg-type]
    assert caught.value.code == code


def test_an_overridden_axis_is_real(market: Market) -> None:
    episode = Episode(market, EpisodeKey("PD", 4, 0, overrides={"B_tool": 1, "T_max": 9}))
    seen = episode.observation()
    assert (seen["turns_left"], seen["tool_budget"]) == (9, 1)


@pytest.mark.parametrize("env_id", ["PD", "POLICY"])
def test_what_scripted_agents_see_is_what_was_said(market: Market, env_id: str) -> None:
    """Every need in a sight occurs verbatim in the conversation, and no other need's words do."""
    for seed in range(10):
        episode = Episode(market, EpisodeKey(env_id, 6, seed))
        agent = oracle(env_id)
        while not episode.done:
            said = "".join(m["content"] for m in episode.observation()["conversation"] if m["role"] == "user")
            needs = {need.id: need.value for need in episode.task.brief.needs}
            for id_, value in needs.items():
                revised = episode.task.brief.revision
                if id_ in episode.sight().needs and not (revised and revised.need.id == id_):
                    assert value in said
                elif id_ not in episode.sight().needs:
                    assert value not in said
            episode.step(agent.act(episode.sight()))


def test_oracles_ids_are_all_seen(market: Market) -> None:
    episode = played(Episode(market, EpisodeKey("PD", 3, 5)), oracle("PD"))
    assert episode.reward is not None
    assert (episode.reward.used > 0, episode.reward.unseen, episode.reward.hallucination) == (True, 0, 0.0)
