"""`shopsim rlve`: the printed tables, the simulated policies, wrong use."""

import json

import pytest

from shopsim_env.cli import main


def test_difficulty_prints_every_level_and_axis(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rlve", "difficulty", "--to", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line] == ["d", "0", "1", "2", "3", "4"] * 2
    assert lines[5].split() == [
        *("4", "4", "4", "6", "0.5286", "0.04", "0.2265"),
        *("160", "0.08", "0.2", "3", "2", "3"),
    ]


def test_difficulty_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rlve", "difficulty", "--to", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["symbols"]["turn_budget"] == "T_max"
    assert [row["constraints"] for row in document["levels"]] == [1, 2]
    assert document["levels"][0]["cart_p_variant"] == 0


def schedule(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["rlve", "schedule", "--json", *words]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_a_perfect_agent_first_moves_after_one_block(capsys: pytest.CaptureFixture[str]) -> None:
    document = schedule(capsys, "--simulate", "perfect", "--episodes", "32")
    assert document["moves"] == [{"episode": 32, "env_id": "CART", "low": 0, "high": 1}]


def test_an_agent_stays_above_its_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--simulate", "ceiling:2", "--episodes", "3000", "--collection", "C2", "--seed", "5")
    document = schedule(capsys, *words)
    final = document["final"]
    assert isinstance(final, list)
    assert [(row["env_id"], row["low"], row["high"], row["plateau"]) for row in final] == [
        ("CART", 0, 3, True),
        ("PD", 0, 3, True),
    ]
    assert schedule(capsys, *words) == document
    assert schedule(capsys, *words[:-1], "6") != document


@pytest.mark.parametrize(("policy", "highest"), [("rate:0", 0), ("rate:1", 4)])
def test_rates(capsys: pytest.CaptureFixture[str], policy: str, highest: int) -> None:
    assert main(["rlve", "schedule", "--simulate", policy, "--episodes", "500"]) == 0
    window = capsys.readouterr().out.splitlines()[-1].split()[1]
    assert int(window.split("..")[1]) >= highest
    assert (window == "0..0") == (highest == 0)


@pytest.mark.parametrize(
    "policy", ["best", "ceiling:", "ceiling:-1", "rate:2", "rate:nan", "rate:x", "perfect:1"]
)
def test_other_policies_are_wrong_use(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rlve", "schedule", "--simulate", policy]) == 2
    assert "unknown_policy: --simulate: expected perfect" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["difficulty", "--to", "-1"], ["schedule", "--simulate", "perfect", "--episodes", "0"]],
)
def test_counts_below_the_least_are_wrong_use(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rlve", *words]) == 2
    assert "expected at least" in capsys.readouterr().err
