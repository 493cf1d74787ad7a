"""The self-check on the sample: oracles solve, cheaters do not; verdicts and the command."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from rlve_world import ENVIRONMENTS, sample_market

from shopsim_env.cli import main
from shopsim_env.errors import UsageError
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.panel.check import Row, check, row, tail
from shopsim_env.rlve.panel.members import MEMBERS, agent, members_of
from shopsim_env.rlve.panel.playing import Played, finish
from shopsim_env.rlve.panel.verdicts import CAPS, cap, chance_of_rise, problems
from shopsim_env.rlve.selfcheck_command import levels


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_slice_of_the_panel_holds(market: Market, env_id: str) -> None:
    rows = list(check(market, [env_id], [0, 5, 12], range(12)))
    assert problems(rows) == []
    assert [(found.difficulty, found.agent) for found in rows] == [
        (level, name) for level in (0, 5, 12) for name in members_of(env_id)
    ]


def test_who_plays_where() -> None:
    """Cheaters and honest agents everywhere, shortcuts and saboteurs where they belong."""
    everywhere = {name for name, member in MEMBERS.items() if set(member.makers) == set(ENVIRONMENTS)}
    assert everywhere == {
        name for name, member in MEMBERS.items() if member.kind in ("oracle", "cheater", "honest")
    }
    for env_id in ENVIRONMENTS:
        assert "saboteur" in {MEMBERS[name].kind for name in members_of(env_id)}
    assert {env for member in MEMBERS.values() if member.kind == "shortcut" for env in member.makers} == {
        *("PD", "SUB", "CART", "RETURN", "POLICY", "BUNDLE", "JOURNEY")
    }


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_oracles_solve_english_episodes(market: Market, env_id: str) -> None:
    rows = list(check(market, [env_id], [2, 9], range(100, 110), language="en", names=["oracle"]))
    assert [(found.successes, found.problem) for found in rows] == [(10, "")] * 2


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_oracles_solve_the_hardest_episodes(market: Market, env_id: str) -> None:
    """Far above what training reaches, where axes without an end would outgrow the catalogue."""
    rows = list(check(market, [env_id], [30, 74, 10_000], range(2), names=["oracle"]))
    assert [found.successes for found in rows] == [2, 2, 2]


@pytest.mark.parametrize("env_id", ["PD", "SUB", "BUNDLE"])
def test_blind_guesses_are_whole_answers(market: Market, env_id: str) -> None:
    """Lists of the right length, from the right categories: without that a cheater proves nothing."""
    episode = Episode(market, EpisodeKey(env_id, 4, 3))
    finish(episode, agent(env_id, "blind guess", 3))
    listed = episode.answer.recommended_product_ids
    goal = episode.goal()
    wanted = {"PD": 4, "SUB": 1, "BUNDLE": 5}[env_id]  # k_rec = 3 + 4 // 3; slots = 3 + 4 // 2
    assert len(set(listed)) == len(listed) == wanted
    assert episode.reward.unseen == 0
    if env_id == "BUNDLE":
        assert len(goal["slots"]) == wanted
        assert episode.score.parts["f1"] < 1


def test_the_buyer_buys_and_the_chance_stays(market: Market) -> None:
    """Checkout needs ids that only the cart shows; an order of the episode is no order to guess among."""
    episode = Episode(market, EpisodeKey("CART", 0, 1))
    finish(episode, agent("CART", "checkout then answer", 1))
    assert len(episode.overlay.checkout) == 1

    bought = Episode(market, EpisodeKey("STATUS", 2, 1))
    before = bought.task.forced_chance()
    # Five orders: H_orders is 2 at d = 2, and three more to confuse.
    assert before == Fraction(1, 5)
    search = {"name": "catalog.search", "args": {"query": "", "filters": {"in_stock": True, "price_min": 1}}}
    found = bought.step({"assistant_message": "x", "tool_calls": [search]}).observation["tool_results"]
    calls = [
        {"name": "cart.add", "args": {"product_id": found[0]["result"]["products"][0]["product_id"]}},
        {"name": "cart.view"},
    ]
    view = bought.step({"assistant_message": "x", "tool_calls": calls}).observation["tool_results"][1]
    ids = {name: view["result"][name] for name in ("shipping_address_id", "payment_method_id")}
    bought.step({"assistant_message": "x", "tool_calls": [{"name": "order.checkout", "args": ids}]})
    assert len(bought.overlay.book.orders) == 6
    assert bought.task.forced_chance() == before


def one(success: bool, total: float = 0.8, best: float = 0.8, chance: Fraction = Fraction(1, 10)) -> Played:
    return Played(EpisodeKey("PD", 3, 7), success, total, 2, "agent_done", best, chance)


def test_verdicts() -> None:
    """999 of 1000 and a margin of 0.02 for oracles; a tail below 1/1000 at chance + 2 points for cheaters."""
    assert row("PD", 3, "oracle", "oracle", [one(True)] * 20).problem == ""
    assert "19 of 20" in row("PD", 3, "oracle", "oracle", [one(True)] * 19 + [one(False)]).problem
    assert "below the best" in row("PD", 3, "oracle", "oracle", [one(True, total=0.77)] * 20).problem
    # Of 20 at a chance of 0.12: 9 or more come 2.5 times in ten thousand, 8 or more 14 times.
    assert "chance" in row("PD", 3, "random id", "cheater", [one(True)] * 9 + [one(False)] * 11).problem
    assert row("PD", 3, "random id", "cheater", [one(True)] * 8 + [one(False)] * 12).problem == ""
    # Nobody is excused where little is asked for.
    assert "chance" in row("PD", 0, "first hit", "cheater", [one(True)] * 20).problem
    assert row("PD", 3, "hasty", "honest", [one(True)] * 20).problem == ""
    # Shortcuts are cheaters; a saboteur never succeeds.
    assert "chance" in row("PD", 3, "oldest line", "shortcut", [one(True)] * 9 + [one(False)] * 11).problem
    assert row("PD", 3, "less like", "saboteur", [one(False)] * 20).problem == ""
    assert "not graded" in row("PD", 3, "less like", "saboteur", [one(True)] + [one(False)] * 19).problem


def honest(level: int, right: int, of: int, agent: str = "hasty") -> Row:
    never = Fraction(0)
    played = [one(True, chance=never)] * right + [one(False, chance=never)] * (of - right)
    return row("PD", level, agent, "honest", played)


def test_honest_agents_must_not_gain_from_difficulty() -> None:
    # All of three right after none of three: one deal of the three among six episodes, of C(6, 3) = 20.
    assert chance_of_rise(honest(0, 0, 3), honest(3, 3, 3)) == pytest.approx(1 / 20)
    assert chance_of_rise(honest(0, 2, 4), honest(3, 0, 4)) == 1.0
    # 1 / C(12, 6) = 1/924 is just not below 1/1000, 1 / C(14, 7) = 1/3432 is.
    assert problems([honest(0, 0, 6), honest(4, 6, 6)]) == []
    assert problems([honest(0, 7, 7), honest(4, 0, 7), honest(8, 7, 7)]) == [
        "PD: hasty gains from difficulty, 0 of 7 at d=4 and 7 of 7 at d=8"
    ]
    assert problems([honest(0, 0, 7, "hasty"), honest(4, 7, 7, "forgetful")]) == []


def test_a_chance_above_its_cap_hides_cheaters() -> None:
    assert cap("STATUS", 2) > 0.25  # one of four orders
    assert cap("STATUS", 3) > 0.2  # one of five
    found = problems([row("PD", 3, "no-op", "cheater", [one(False)] * 10)])
    assert found == ["PD d=3: forced chance 0.1000 is above 0.01, it would hide cheaters"]
    assert problems([row("PD", 3, "no-op", "cheater", [one(False)] * 9)]) == []


def test_the_page_names_all_agents_and_caps() -> None:
    page = (Path(__file__).parents[2] / "docs" / "rlve-episodes.md").read_text(encoding="utf-8")
    text = page.split("## The self-check", 1)[1]
    assert set(MEMBERS) <= set(re.findall(r"`([^`\n]+)`", text))
    rows = re.findall(r"^\| `([A-Z]+)` \| (0\.\d+) \| (0\.\d+) \|$", text, re.MULTILINE)
    assert {env_id: (float(easy), float(hard)) for env_id, easy, hard in rows} == CAPS


def test_what_is_not_said_is_reported_once() -> None:
    played = [replace(one(True, chance=Fraction(0)), unsaid=("c1", "budget"))]
    rows = [row("PD", 3, name, "oracle", played) for name in ("oracle", "other")]
    assert problems(rows) == [
        "PD d=3: told as values, and not in the customer's words: c1 (seed 7), budget (seed 7)"
    ]


def test_the_tail_of_a_binomial() -> None:
    # Two coins: at least one head in three of four cases; three heads never.
    assert tail(1, 2, 0.5) == pytest.approx(0.75)
    assert tail(0, 2, 0.3) == pytest.approx(1.0)
    assert tail(2, 2, 0.5) == pytest.approx(0.25)
    assert tail(1, 1, 1.5) == 1.0


def test_a_row_counts() -> None:
    found = row("PD", 3, "oracle", "oracle", [one(True, 0.9, 1.0), one(False, 0.1, 0.5, Fraction(3, 10))])
    expected = Row("PD", 3, "oracle", "oracle", 2, 1, 0.5, 0.75, 0.2, (7,))
    assert found == expected
    assert found.success == 0.5


@pytest.mark.parametrize(
    ("text", "expected"), [("4", (4,)), ("0-3", (0, 1, 2, 3)), ("0-12/4", (0, 4, 8, 12)), ("2-2", (2,))]
)
def test_levels(text: str, expected: tuple[int, ...]) -> None:
    assert levels(text) == expected


@pytest.mark.parametrize("text", ["", "x", "3-1", "0-4/0", "-1"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        levels(text)


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            "rlve",
            "selfcheck",
            "--environments",
            "POLICY",
            "--levels",
            "3",
            "--seeds",
            "3",
            "--agents",
            "oracle,NaN",
        ]
    )
    printed = capsys.readouterr().out
    assert code == 0
    assert "3/3 100.0 %" in printed
    assert "0/3   0.0 %" in printed
    assert "all 2 rows hold, and the verdicts over them (6 episodes)" in printed


def test_the_command_gives_json_from_workers(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--environments",
        "C1",
        "--levels",
        "0-1",
        "--seeds",
        "2",
        "--agents",
        "oracle",
        "--workers",
        "2",
    ]
    assert main(["rlve", "selfcheck", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert [(entry["environment"], entry["difficulty"], entry["successes"]) for entry in found["rows"]] == [
        ("CART", 0, 2),
        ("CART", 1, 2),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--seeds", "0"],
        ["--agents", "nobody"],
        ["--environments", "XX"],
        ["--levels", "x"],
        ["--environments", "PD", "--agents", "oldest line"],
    ],
)
def test_wrong_arguments_end_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rlve", "selfcheck", *wrong]) == 2
    assert "expected" in capsys.readouterr().err
