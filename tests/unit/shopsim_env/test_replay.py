"""Recording episodes and playing them again."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from shop_world import LAMP, shop_release

from shopsim_env.dialogue.wording import ModelWording, Worded
from shopsim_env.errors import EpisodeError, SimulatorError, TraceError, UsageError
from shopsim_env.recording import TracedEnv
from shopsim_env.replay import replay, verify_file, verify_line
from shopsim_env.shop.actions import AskShopper, Click, Search
from shopsim_env.shop.env import ShopEnv
from shopsim_env.trace import TraceReader, TraceWriter, read_record

PURCHASE = (
    Search("星野台灯"),
    f"click[{LAMP}]",
    {"name": "click", "arguments": '{"value": "颜色分类=雾蓝"}'},
    Click("套装=单灯"),
    "click[buy now]",
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("replay"))
    yield small
    small.close()


def recorded(release, *actions, task=3, seed=None, end=None, **options):
    env = TracedEnv(release, **options)
    env.reset(task, seed=seed)
    for action in actions:
        env.step(action)
    if end:
        env.terminate(end)
    env.close()
    (record,) = env.finished
    return record


def test_a_purchase_is_recorded_and_played_again(release):
    record = recorded(release, *PURCHASE, seed=4)
    assert (record.release, record.task_id, record.seed, record.ended_by) == ("small", 3, 4, "action")
    assert (record.reward, record.termination_reason, record.reward_detail["r_success"]) == (
        1.0,
        "purchase",
        1,
    )
    assert record.actions[0] == {"typed_action": "search", "query": "星野台灯"}
    assert record.actions[2] == {"name": "click", "arguments": '{"value": "颜色分类=雾蓝"}'}
    assert len(record.observations) == len(record.states) == 6
    assert record.versions["environment"] == "shopsimulator-paper-aligned-v9"
    assert replay(record, release) == record
    assert verify_line(record.line(), 1, release) is None


def test_hashes_are_those_of_text_and_canonical_state(release):
    record = recorded(release, "search[毛毡]")
    env = ShopEnv(release)
    start, step = env.reset(3), env.step("search[毛毡]")
    assert record.observations == [
        hashlib.sha256(item.observation.encode()).hexdigest() for item in (start, step)
    ]
    canonical = json.dumps(step.observation_state, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert record.states[1] == hashlib.sha256(canonical.encode()).hexdigest()
    assert record.instruction == hashlib.sha256("找个星野便携台灯".encode()).hexdigest()


@pytest.mark.parametrize(
    ("options", "actions", "end"),
    [
        ({}, ["x"] * 30, None),
        ({"max_invalid": 2}, ["x", "x"], None),
        ({"max_actions": 1}, ["search[毛毡]"], None),
        ({}, ["search[毛毡]"], "generation_length"),
        ({}, [], "action_limit"),
        ({}, ["search[毛毡]", "click[next >]"], None),
        ({"page_size": 4, "observation_style": "compact"}, ["search[毛毡]", "click[next >]"], None),
        ({"task_mode": "standard", "option_match": "paper"}, PURCHASE, None),
        ({"interaction_mode": "multi_turn"}, [AskShopper("要什么颜色？"), *PURCHASE], None),
        ({}, [None, 3, [], "\ud83d", {"name": "search", "arguments": {"query": "\ud83d灯"}}], None),
    ],
)
def test_every_kind_of_episode_can_be_played_again(release, options, actions, end):
    record = recorded(release, *actions, end=end, seed=2, **options)
    assert record.ended_by == ("caller" if end else "action" if record.reward is not None else None)
    assert verify_line(record.line(), 1, release) is None


def test_an_episode_without_actions_is_no_record(release):
    env = TracedEnv(release)
    env.reset(3)
    env.reset(3)
    env.step("x")
    env.reset(7)
    env.close()
    assert [(record.task_id, record.actions) for record in env.finished] == [(3, ["x"])]


def test_an_action_that_cannot_be_recorded_is_not_played(release):
    env = TracedEnv(release)
    env.reset(3)
    with pytest.raises(TraceError):
        env.step(("search[a]",))
    assert env.step("search[毛毡]").info["action_count"] == 1


def test_calls_outside_an_episode_are_errors_as_without_a_trace(release):
    env = TracedEnv(release)
    with pytest.raises(EpisodeError):
        env.step("x")
    env.close()
    assert env.finished == []


@pytest.mark.parametrize(
    ("change", "step", "field"),
    [
        (lambda r: r.update(release="other"), None, "release"),
        (lambda r: r["versions"].update(reward="v0"), None, "versions"),
        (lambda r: r.update(instruction="0"), 0, "instruction"),
        (lambda r: r.update(persona="0"), 0, "persona"),
        (lambda r: r["observations"].__setitem__(0, "0"), 0, "observations"),
        (lambda r: r["states"].__setitem__(3, "0"), 3, "states"),
        (lambda r: r["actions"].__setitem__(2, "click[颜色分类=沙色]"), 3, "observations"),
        (lambda r: r.update(reward=0.5), 5, "reward"),
        (lambda r: r["reward_detail"].update(r_type=0.5), 5, "reward_detail"),
        (lambda r: r.update(termination_reason="action_limit"), 5, "termination_reason"),
        (lambda r: r.update(ended_by=None), 5, "ended_by"),
        (lambda r: r.update(task_id=99), None, "environment"),
        (lambda r: r["environment"].update(colour="red"), None, "environment"),
        (lambda r: r["environment"].update(option_match="paper"), 5, "reward_detail"),
        (lambda r: r["actions"].__setitem__(1, {"typed_action": "fly"}), 2, "actions"),
    ],
)
def test_the_first_difference_is_named(release, change, step, field):
    values = json.loads(recorded(release, *PURCHASE).line())
    change(values)
    line = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    found = verify_line(line, 7, release)
    assert found is not None
    assert (found.episode, found.step, found.field) == (7, step, field)
    assert str(found).startswith("episode 7")


def test_an_action_after_the_end_is_named(release):
    values = json.loads(recorded(release, *PURCHASE).line())
    values["actions"].append("search[毛毡]")
    for name in ("observations", "states"):
        values[name].append("0")
    found = verify_line(json.dumps(values).encode(), 1, release)
    assert found is not None
    assert (found.step, found.field) == (6, "actions")


def test_other_bytes_of_equal_values_are_a_difference(release):
    line = recorded(release, *PURCHASE).line()
    loose = json.dumps(json.loads(line), ensure_ascii=False).encode() + b"\n"
    found = verify_line(loose, 1, release)
    assert found is not None
    assert (found.step, found.field) == (None, "line")


def test_a_file_is_verified_line_by_line(release, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        env = TracedEnv(release, writer=writer)
        for task in (3, 7):
            env.reset(task)
            env.step("search[毛毡]")
        env.close()
        assert env.finished == []
    result = verify_file(path, release)
    assert (result.ok, result.episodes, result.steps, result.torn) == (True, 2, 2, 0)
    path.write_bytes(path.read_bytes().replace(b'"task_id":7', b'"task_id":8') + b'{"actions":')
    result = verify_file(path, release)
    assert (result.ok, result.torn) == (False, 11)
    assert [found.episode for found in result.differences] == [2]
    path.write_bytes(b"")
    assert not verify_file(path, release).ok
    path.write_bytes(b"{}\n")
    with pytest.raises(TraceError, match="line 1"):
        verify_file(path, release)


def test_a_trace_holds_no_text_of_a_private_goal(release):
    goal = release.private().goal(3)
    text = recorded(release, *PURCHASE).line().decode()
    assert goal.instruction not in text
    assert goal.task_uid not in text
    assert not any(target in text for target in goal.attributes)


def test_a_refused_wording_replay_is_a_difference(release):
    """A row of `wordings` without its key cannot be replayed."""
    record = recorded(release, AskShopper("预算多少？"), interaction_mode="multi_turn")
    values = json.loads(record.line())
    values["wordings"] = [{"raw": "x"}]
    found = verify_line(json.dumps(values).encode(), 1, release)
    assert found is not None
    assert found.field == "environment"


class BrokenModel:
    """A language model that cannot be reached."""

    name = "broken"

    def complete(self, messages):
        raise SimulatorError(f"unreachable with {len(messages)} messages")


def test_a_step_that_did_not_happen_is_not_recorded(release):
    env = TracedEnv(release, interaction_mode="multi_turn", shopper_wording=ModelWording(BrokenModel()))
    env.reset(3)
    assert not env.step(AskShopper("预算多少？")).valid
    env.step("search[毛毡]")
    env.close()
    (record,) = env.finished
    assert record.actions == ["search[毛毡]"]
    assert verify_line(record.line(), 1, release) is None


class Parrot:
    """A language model that repeats the sentence, politely."""

    name = "parrot"
    calls = 0

    def complete(self, messages):
        self.calls += 1
        return "嗯，" + json.loads(messages[-1]["content"])["句子"]


def test_what_a_model_worded_is_in_the_trace_and_not_asked_again(release):
    model = Parrot()
    record = recorded(
        release,
        AskShopper("要什么颜色？"),
        AskShopper("预算多少？"),
        interaction_mode="multi_turn",
        shopper_wording=ModelWording(model),
    )
    asked = model.calls
    assert asked == len(record.wordings) > 0
    assert {row["model"] for row in record.wordings} == {"parrot"}
    assert verify_line(record.line(), 1, release) is None
    assert model.calls == asked
    assert read_record(record.line()) == record


def test_a_wording_that_was_changed_or_added_is_a_difference(release):
    record = recorded(
        release,
        AskShopper("要什么颜色？"),
        interaction_mode="multi_turn",
        shopper_wording=ModelWording(Parrot()),
    )
    (row,) = record.wordings
    other = replace(record, wordings=[{**row, "raw": "谢谢，" + row["raw"]}])
    assert verify_line(other.line(), 1, release).field == "observations"
    unused = replace(record, wordings=[row, {**row, "request": "0" * 64}])
    assert verify_line(unused.line(), 1, release).field == "wordings"
    without = replace(record, wordings=[])
    assert verify_line(without.line(), 1, release).field == "observations"


class Whisper:
    """Somebody's own wording, whose words no record holds."""

    def word(self, draft):
        return Worded(draft.text)


def test_a_wording_that_no_trace_can_carry_is_refused(release):
    with pytest.raises(UsageError) as caught:
        TracedEnv(release, interaction_mode="multi_turn", shopper_wording=Whisper())
    assert caught.value.code == "unrecordable_wording"


@pytest.mark.parametrize("view", ["default", "without_searches"])
def test_the_persona_view_is_recorded_and_replayed(release, view):
    record = recorded(release, "search[毛毡]", persona_view=view)
    assert record.environment["persona_view"] == view
    assert verify_line(record.line(), 1, release) is None
    other = {"default": "without_searches", "without_searches": "default"}[view]
    swapped = replace(record, environment={**record.environment, "persona_view": other})
    assert verify_line(swapped.line(), 1, release).field == "persona"
    wrong = replace(record, environment={**record.environment, "persona_view": "all"})
    assert verify_line(wrong.line(), 1, release).field == "environment"


def test_the_reader_counts_lines(release, tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(recorded(release, "x").line() * 3)
    assert [number for number, _ in TraceReader(path)] == [1, 2, 3]
