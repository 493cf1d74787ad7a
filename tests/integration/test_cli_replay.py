"""`shopsim play --trace` and `shopsim replay --verify`."""

import json
import sys
from pathlib import Path

import pytest
from places import ROOT
from rlve_world import DONE, IDLE, sample_market

from shopsim_env import AskShopper, load_release
from shopsim_env.cli import main
from shopsim_env.dialogue.wording import ModelWording
from shopsim_env.recording import TracedEnv
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.trace import TracedEpisode
from shopsim_env.trace import TraceWriter

GOLDEN = ROOT / "tests" / "golden" / "sample.jsonl"


def shopsim(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_played_episodes_are_appended_and_verified(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, script = tmp_path / "t.jsonl", tmp_path / "actions.txt"
    script.write_text("search[露营帐篷]\nclick[700000000003]\nclick[颜色分类=雾蓝]\nclick[buy now]\n")
    play = ("play", "--task", "2", "--standard", "--release", small_release, "--trace", trace, "--brief")
    assert shopsim(capsys, *play, "--script", script)[0] == 0
    assert shopsim(capsys, *play, "--oracle")[0] == 0
    script.write_text("search[露营帐篷]\n")
    assert shopsim(capsys, *play, "--script", script)[0] == 1, "left unfinished"
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    assert [(line["reward"], line["ended_by"], len(line["actions"])) for line in lines] == [
        (1.0, "action", 4),
        (1.0, "action", 4),
        (None, None, 1),
    ]
    code, out, _ = shopsim(capsys, "replay", "--verify", trace, "--release", small_release)
    assert (code, out) == (0, f"ok  3 episodes, 9 actions, {trace}\n")
    code, out, _ = shopsim(capsys, "replay", "--verify", trace, "--release", small_release, "--json")
    report = json.loads(out)
    assert (code, report["ok"], report["episodes"], report["differences"]) == (0, True, 3, [])


class Polite:
    """A language model that rewords every sentence."""

    name = "polite"

    def complete(self, messages: list[dict[str, str]]) -> str:
        return "嗯，" + str(json.loads(messages[-1]["content"])["句子"]) + "谢谢"


def test_episodes_that_a_model_worded_are_verified_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.jsonl"
    with load_release() as release, TraceWriter(trace) as writer:
        env = TracedEnv(
            release,
            writer=writer,
            interaction_mode="multi_turn",
            shopper_wording=ModelWording(Polite()),
            persona_view="without_searches",
        )
        for task in list(release.tasks)[:3]:
            env.reset(task, seed=1)
            for question in ("规格有什么要求？", "预算多少？", "功能呢？"):
                env.step(AskShopper(question))
            env.terminate("generation_length")
    records = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    assert all(record["wordings"] for record in records)
    code, out, _ = shopsim(capsys, "replay", "--verify", trace)
    assert (code, out) == (0, f"ok  3 episodes, 9 actions, {trace}\n")
    trace.write_text(trace.read_text(encoding="utf-8").replace("谢谢", "多谢"), encoding="utf-8")
    assert shopsim(capsys, "replay", "--verify", trace)[0] == 1


def test_play_shows_a_persona_without_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.jsonl"
    play = ("play", "--oracle", "--persona-view", "without_searches", "--trace", trace)
    code, out, _ = shopsim(capsys, *play)
    assert (code, "搜索关键词" in out) == (0, False)
    assert "搜索关键词" in shopsim(capsys, "play", "--oracle")[1]
    assert json.loads(trace.read_text(encoding="utf-8"))["environment"]["persona_view"] == "without_searches"
    assert shopsim(capsys, "replay", "--verify", trace)[0] == 0
    with pytest.raises(SystemExit) as caught:
        shopsim(capsys, "play", "--persona-view", "all")
    assert caught.value.code == 2


def test_an_altered_trace_names_episode_and_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines(keepends=True)[:2]
    record = json.loads(lines[1])
    wrong = "0" * 64
    lines[1] = lines[1].replace(record["observations"][2], wrong)
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(lines) + '{"actions":["sea', encoding="utf-8")
    code, out, _ = shopsim(capsys, "replay", "--verify", trace)
    assert code == 1
    assert f"episode 2, step 2: observations: recorded {wrong}, played {record['observations'][2]}\n" in out
    assert "the last line is unfinished (16 bytes) and was not compared\n" in out
    assert "1 differ  2 episodes" in out
    code, out, _ = shopsim(capsys, "replay", "--verify", trace, "--json")
    report = json.loads(out)
    assert (code, report["ok"], report["torn_bytes"]) == (1, False, 16)
    assert report["differences"][0] == {
        "episode": 2,
        "step": 2,
        "field": "observations",
        "recorded": wrong,
        "played": record["observations"][2],
    }


def test_many_differences_are_counted(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sample's episodes on another release: every one names the release."""
    code, out, _ = shopsim(capsys, "replay", "--verify", GOLDEN, "--release", small_release)
    assert (code, out.count(": release: recorded")) == (1, 20)
    assert "more episodes" in out
    (tmp_path / "empty.jsonl").write_bytes(b"")
    code, out, _ = shopsim(capsys, "replay", "--verify", tmp_path / "empty.jsonl")
    assert (code, out.startswith("nothing to compare")) == (1, True)


def test_files_that_are_no_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shopsim(capsys, "replay", "--verify", tmp_path / "none")
    assert (code, out) == (1, "")
    assert "trace_missing" in err
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n")
    code, _, err = shopsim(capsys, "play", "--oracle", "--brief", "--trace", notes)
    assert (code, notes.read_text()) == (1, "mine\n")
    assert "not_a_trace" in err
    with pytest.raises(SystemExit) as caught:
        shopsim(capsys, "replay")
    assert caught.value.code == 2


def test_play_reports_what_it_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(b'{"actions":["se')
    code, _, err = shopsim(capsys, "play", "--oracle", "--brief", "--trace", trace)
    assert (code, "cut off an unfinished last line of 15 bytes" in err) == (0, True)
    assert shopsim(capsys, "replay", "--verify", trace)[0] == 0


def test_episodes_of_both_worlds_are_verified_in_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "both.jsonl"
    with sample_market() as market:
        played = TracedEpisode(market, EpisodeKey("POLICY", 2, 5))
        for turn in (IDLE, DONE):
            played.step(turn)
    line = played.record.line()
    trace.write_bytes(GOLDEN.read_bytes().splitlines(keepends=True)[0] + line)
    code, out, _ = shopsim(capsys, "replay", "--verify", trace)
    assert (code, out.split("  ")[0]) == (0, "ok")
    assert "2 episodes" in out
    trace.write_bytes(
        line.replace(json.dumps(IDLE["assistant_message"], ensure_ascii=False).encode(), '"？"'.encode())
    )
    code, out, _ = shopsim(capsys, "replay", "--verify", trace, "--json")
    (found,) = json.loads(out)["differences"]
    assert (code, found["episode"], found["field"]) == (1, 1, "observations")
    monkeypatch.setitem(sys.modules, "pydantic", None)
    code, _, err = shopsim(capsys, "replay", "--verify", trace)
    assert (code, "missing_extra" in err) == (2, True)
