"""`shopsim rlve play`: the oracle, scripts, people, traces."""

import io
import json
from pathlib import Path

import pytest

from shopsim_env.cli import main

PLAY = ["rlve", "play", "--environment", "POLICY", "--difficulty", "2", "--seed", "5"]


def test_the_oracle_wins_and_leaves_a_trace_that_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.jsonl"
    assert main([*PLAY, "--oracle", "--trace", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "ended: agent_done" in printed
    assert '"success": true' in printed
    assert printed.count("goal: ") == 1
    assert main(["replay", "--verify", str(path)]) == 0


def test_a_script_plays_as_an_agent_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turns.txt"
    path.write_text('你好\n{"assistant_message":"x","tool_calls":[{"name":"cart.fly"}]}\n', encoding="utf-8")
    assert main([*PLAY, "--script", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["done"] is True
    assert (found["info"]["reason"], found["info"]["reward"]["total"]) == ("tool_invalid", -1.0)
    assert found["goal"]["answer"]


def test_people_are_told_of_slips_and_see_no_goal_when_they_leave(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"assistant_message":"x","answer":{"colour":1}}\n'))
    assert main(PLAY) == 1
    printed = capsys.readouterr().out
    assert "refused: " in printed
    assert "goal: " not in printed


def test_a_missing_script_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAY, "--script", "/nowhere"]) == 2
    assert "expected a file" in capsys.readouterr().err
