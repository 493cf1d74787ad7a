"""The schedule command: simulated policies, moves by hand, what is printed."""

import argparse
import json
from typing import Any

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.schedule_command import Move, add_schedule, parse_policy, simulate
from shopsim_env.rlve.scheduler import new_schedule

NAMES = ("PD", "JOURNEY")


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_schedule(parser.add_subparsers(required=True), NAMES)
    arguments = parser.parse_args(["schedule", *words])
    return int(arguments.handler(arguments))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert command(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_first_move_comes_after_32_prompts_of_the_environment():
    schedule, moves = simulate(new_schedule(NAMES), parse_policy("perfect"), 32)
    assert moves == [Move("PD", 32, (0, 0), (0, 1)), Move("JOURNEY", 32, (0, 0), (0, 1))]
    assert schedule.taken == ((0, 64),)


def test_a_perfect_policy_climbs_level_by_level(capsys: pytest.CaptureFixture[str]):
    report = printed(capsys, "--simulate", "perfect", "--episodes", "1200")
    assert (report["policy"], report["episodes"], report["seed"]) == ("perfect", 1200, 0)
    for name in NAMES:
        after = [tuple(move["after"]) for move in report["moves"] if move["environment"] == name]
        assert after == [(max(0, high - 4), high) for high in range(1, len(after) + 1)]
        assert len(after) >= 7
    assert [row["high"] for row in report["plateaus"]] == [
        sum(move["environment"] == name for move in report["moves"]) for name in NAMES
    ]


def test_a_ceiling_is_where_the_frontier_stalls(capsys: pytest.CaptureFixture[str]):
    """Level 2 is passed, so 3 opens and is never passed."""
    report = printed(capsys, "--simulate", "ceiling:2", "--episodes", "600")
    for row in report["plateaus"]:
        assert (row["low"], row["high"], row["success"], row["stalled"]) == (0, 3, 0.0, True)
        assert row["failed_blocks"] == row["prompts"] // 32 > 0


def test_rates_at_the_ends(capsys: pytest.CaptureFixture[str]):
    report = printed(capsys, "--simulate", "rate:0", "--episodes", "70")
    assert report["moves"] == []
    assert [(row["failed_blocks"], row["waited"], row["success"]) for row in report["plateaus"]] == [
        (2, 70, 0.0)
    ] * 2
    certain = printed(capsys, "--simulate", "rate:1", "--episodes", "300", "--seed", "5")
    perfect = printed(capsys, "--simulate", "perfect", "--episodes", "300", "--seed", "5")
    assert certain["moves"] == perfect["moves"]


def test_a_rate_is_met_and_depends_on_the_seed(capsys: pytest.CaptureFixture[str]):
    """2,000 draws at 0.5: four standard deviations are 0.045. Level 0 stays, so all prompts count."""
    words = ("--simulate", "rate:0.5", "--episodes", "2000")
    first = printed(capsys, *words)
    for row in first["plateaus"]:
        assert (row["high"], row["prompts"], row["stalled"]) == (0, 2000, True)
        assert abs(row["success"] - 0.5) <= 0.045
    assert printed(capsys, *words) == first
    assert printed(capsys, *words, "--seed", "1")["plateaus"] != first["plateaus"]


def test_the_text(capsys: pytest.CaptureFixture[str]):
    assert command("--simulate", "perfect", "--episodes", "32") == 0
    assert capsys.readouterr().out.splitlines() == [
        "perfect · 32 prompts of each environment · seed 0",
        "",
        "moves (window, and the prompt after which it opened)",
        "  PD        0..0 @0  0..1 @32",
        "  JOURNEY   0..0 @0  0..1 @32",
        "",
        "where the frontiers stand",
        "  environ.  window  waited  blocks  prompts  success  95 % interval   stalled",
        "  PD        0..1         0       0        0        -  -               no",
        "  JOURNEY   0..1         0       0        0        -  -               no",
    ]
    assert command("--simulate", "rate:0", "--episodes", "10") == 0
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "  JOURNEY   0..0        10       0       10    0.000  0.000 to 0.278  yes"
    )


@pytest.mark.parametrize(
    "text", ["", "Perfect", "ceiling", "ceiling:-1", "ceiling:1.5", "rate:", "rate:nan", "rate:1.1", "best:1"]
)
def test_unknown_policies_are_refused(text: str):
    with pytest.raises(UsageError, match="--simulate: expected perfect, ceiling:N or rate:P") as caught:
        command("--simulate", text)
    assert caught.value.code == "bad_policy"


def test_other_wrong_use():
    with pytest.raises(UsageError, match="--episodes: expected at least 1, found 0"):
        command("--simulate", "perfect", "--episodes", "0")
    with pytest.raises(UsageError, match="seed: expected a whole number of at least 0, found -1"):
        command("--simulate", "perfect", "--seed", "-1")
