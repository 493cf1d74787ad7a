"""`shopsim floors`: figures of the hand-made shop by hand, the interval by its formula, the command."""

import json
from pathlib import Path

import pytest
from shop_world import SmallRelease, shop_release

from shopsim_env.cli import main
from shopsim_env.commands.floors import AGENTS, Outcome, play_baseline, play_floors
from shopsim_env.intervals import wilson
from shopsim_env.shop.env import ShopEnv

NAMES = ("no-op", "random", "first-result", "cheapest-result", "persona-keywords", "gold-title")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("shop"))
    yield small
    small.close()


def test_the_six_agents():
    assert AGENTS == NAMES


def test_figures_of_the_small_shop(release):
    """Tasks 3, 7 and 9 are won; 8 asks for 沙色 and gets 雾蓝 within the ceiling: (0 + 1) / (1 + 1)."""
    floors = play_floors(release, ShopEnv(release), dict(release.splits))
    by_agent = {floor.agent: floor for floor in floors}
    assert [(floor.split, floor.agent) for floor in floors] == [("project/test", name) for name in NAMES]
    found = by_agent["first-result"]
    assert (found.episodes, found.r_loose, found.r_strict, found.r_success) == (4, 0.875, 0.75, 0.75)
    assert (found.actions, found.purchases) == ((5 + 3 + 5 + 5) / 4, 1.0)
    assert (found.success_low, found.success_high) == pytest.approx((0.300642, 0.954413), abs=1e-6)
    idle = by_agent["no-op"]
    assert (idle.r_loose, idle.r_strict, idle.r_success, idle.purchases, idle.actions) == (0, 0, 0, 0, 30)
    assert by_agent["gold-title"].r_success == 0.75


def test_a_task_without_a_searchable_text_is_never_bought(release):
    outcome = play_baseline(release, ShopEnv(release), "first-result", 13)
    assert outcome == Outcome(0.0, 0.0, 0.0, 30, purchase=False)


@pytest.mark.parametrize("agent", NAMES)
def test_only_the_title_agent_is_told_anything_of_the_goal(release, agent):
    class Sealed:
        def private(self) -> SmallRelease:
            raise PermissionError

    if agent == "gold-title":
        with pytest.raises(PermissionError):
            play_baseline(Sealed(), ShopEnv(release), agent, 7)
    else:
        assert play_baseline(Sealed(), ShopEnv(release), agent, 7).actions > 0


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),  # (z² / n) / (1 + z² / n), z² = 3.841459
        (10, 10, 0.722467, 1.0),
        (1, 2, 0.094531, 0.905469),
    ],
)
def test_wilson_interval(successes, count, low, high):
    assert wilson(successes, count) == pytest.approx((low, high), abs=1e-6)


def test_the_command_prints_json_and_a_table(capsys: pytest.CaptureFixture[str]):
    assert main(["floors", "--split", "project/test", "--limit", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["task_mode"], report["limit"], report["option_match"]) == ("persona", 2, "anchored")
    assert [(row["agent"], row["episodes"]) for row in report["floors"]] == [(name, 2) for name in NAMES]
    assert report["floors"][0]["actions"] == 30
    assert main(["floors", "--split", "project/test", "--limit", "2", "--mode", "standard"]) == 0
    table = capsys.readouterr().out
    assert "standard mode" in table.splitlines()[0]
    assert "project/test (2 tasks)" in table
    assert all(name in table for name in NAMES)


def test_limited_draws_depend_on_the_seed_alone(capsys: pytest.CaptureFixture[str]):
    def floors(seed: int) -> str:
        assert main(["floors", "--split", "project/val", "--limit", "2", "--json", "--seed", str(seed)]) == 0
        return str(json.loads(capsys.readouterr().out)["floors"])

    assert floors(1) == floors(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "nowhere"], "--split: expected one of"),
        (["--limit", "0"], "--limit: expected at least 1, found 0"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str):
    assert main(["floors", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_release_without_goals_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["floors", "--release", str(tmp_path)]) == 1
    assert capsys.readouterr().out == ""
