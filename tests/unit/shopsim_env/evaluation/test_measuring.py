"""Figures of a small run worked out by hand: counts, means, intervals, worst case, pass@k, card."""

import math
from pathlib import Path

import pytest
from evaluated_runs import broken, outcome, planned_run, rlve, write_lines

from shopsim_env.canonical import pretty_json
from shopsim_env.evaluation.card import make_card
from shopsim_env.evaluation.measuring import METRICS, Draws, counts, metrics, passes
from shopsim_env.evaluation.results import RunResults, read_run

JOBS = [(task, sample) for task in (1, 2, 3) for sample in (0, 1)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResults:
    """Six planned: 1 and 0 of task 1, one half and a failure of task 2, nothing of task 3."""
    folder = tmp_path_factory.mktemp("run") / "run"
    records = [
        outcome(1, 0, 1.0),
        outcome(1, 1, 0.0, reason="action_limit"),
        outcome(2, 0, 0.5),
        broken(2, 1),
    ]
    return read_run(planned_run(folder, records, JOBS))


def test_counts(run: RunResults) -> None:
    assert counts(run.results) == {
        "requested": 6,
        "scored": 3,
        "failed": 1,
        "invalid": 0,
        "unfinished": 0,
        "missing": 2,
        "tasks": 3,
        "coverage": 0.5,
    }
    assert counts([])["coverage"] is None


def test_means_are_over_scored_episodes_and_the_worst_case_over_all(run: RunResults) -> None:
    found = metrics(run.results, METRICS["shop"], Draws())
    expected = {
        # (1 + 0 + 0.5) / 3, and / 6
        "r_strict": (0.5, 0.25),
        # (1 + 0.5 + 0.75) / 3
        "r_loose": (0.75, 0.375),
        "r_success": (1 / 3, 1 / 6),
        # two purchases
        "finish": (2 / 3, 1 / 3),
        **dict.fromkeys(("r_type", "r_att", "r_option", "r_price"), (0.5, 0.25)),
    }
    assert {name: (one["mean"], one["worst_case"]) for name, one in found.items()} == {
        name: pytest.approx(pair) for name, pair in expected.items()
    }
    assert {(one["episodes"], one["tasks"]) for one in found.values()} == {(3, 2)}
    # Two tasks: 1/2 of the first, 0.5/1 of the second, 1.5/3 of both.
    assert found["r_strict"]["bootstrap"] == (0.5, 0.5)
    # Drawn twice, the first task gives 1/2, the second 0.
    assert found["r_success"]["bootstrap"] == (0.0, 0.5)
    assert "wilson" not in found["r_strict"]


def test_wilson_takes_samples_of_one_task_for_one(run: RunResults) -> None:
    # p = 1/3, n = 2 tasks, z^2 = 3.841459: centre (0.333333 + 0.960365) / 2.920730 = 0.442937,
    # half 1.959964 * sqrt(0.111111 + 0.240091) / 2.920730 = 0.397682.
    found = metrics(run.results, ("r_success",), Draws())["r_success"]["wilson"]
    assert found == (pytest.approx(0.045255, abs=1e-5), pytest.approx(0.840619, abs=1e-5))


def test_passes(run: RunResults) -> None:
    one, two = passes(run.results, "r_success", [], Draws())
    assert (one["k"], one["tasks"], one["tasks_with_fewer"]) == (1, 2, 0)
    assert one["pass_at_k"] == one["pass_hat_k"] == {"mean": 0.25, "bootstrap": (0.0, 0.5)}
    assert (two["k"], two["tasks"], two["tasks_with_fewer"]) == (2, 1, 1)
    assert two["pass_at_k"] == {"mean": 1.0, "bootstrap": None}
    assert two["pass_hat_k"] == {"mean": 0.0, "bootstrap": None}
    [four] = passes(run.results, "r_success", [4], Draws())
    assert (four["tasks"], four["tasks_with_fewer"], four["pass_at_k"]["mean"]) == (0, 2, None)


def test_sizes_of_passes_are_powers_of_two_and_the_most(tmp_path: Path) -> None:
    records = [outcome(1, sample, 1.0) for sample in range(5)]
    run = read_run(write_lines(tmp_path / "a.jsonl", records))
    found = passes(run.results, "r_success", [], Draws())
    assert [row["k"] for row in found] == [1, 2, 4, 5]
    assert {row["pass_hat_k"]["mean"] for row in found} == {1.0}


def test_a_run_without_any_result_has_no_means(tmp_path: Path) -> None:
    run = read_run(planned_run(tmp_path / "run", [broken(1, 0)], [(1, 0)]))
    found = metrics(run.results, ("r_strict", "r_success"), Draws())
    assert found["r_strict"] == {
        "mean": None,
        "episodes": 0,
        "tasks": 0,
        "bootstrap": None,
        "worst_case": 0.0,
    }
    assert found["r_success"]["wilson"] is None
    assert passes(run.results, "r_success", [], Draws()) == []
    assert make_card(run)["groups"][0]["counts"]["coverage"] == 0.0


def test_one_task_has_a_wilson_interval_and_no_bootstrap(tmp_path: Path) -> None:
    run = read_run(write_lines(tmp_path / "a.jsonl", [outcome(1, 0, 1.0)]))
    found = metrics(run.results, ("r_success",), Draws())["r_success"]
    assert (found["mean"], found["bootstrap"]) == (1.0, None)
    # All of 1: the lower end is 1 / (1 + z^2).
    assert found["wilson"] == (pytest.approx(1 / 4.841459, abs=1e-6), 1.0)


def test_a_card_of_rlve(tmp_path: Path) -> None:
    records = [
        rlve("PD", 3, 1, 1.0),
        rlve("PD", 3, 2, -1.0, reason="format_invalid"),
        rlve("PD", 3, 3, None),
        rlve("CART", 0, 1, 1.0),
    ]
    card = make_card(read_run(write_lines(tmp_path / "a.jsonl", records)))
    assert [(group["env_id"], group["difficulty"]) for group in card["groups"]] == [("CART", 0), ("PD", 3)]
    total = card["groups"][1]["metrics"]["total"]
    # A missing total is as bad as a hard failure: (1 - 1 - 1) / 3.
    assert (total["mean"], total["worst_case"]) == (0.0, pytest.approx(-1 / 3))
    assert card["groups"][1]["metrics"]["success"]["mean"] == 0.5
    assert card["overall"]["metrics"]["success"]["mean"] == pytest.approx(2 / 3)
    assert card["groups"][1]["termination_reasons"] == {"agent_done": 1, "format_invalid": 1}
    assert card["overall"]["counts"]["unfinished"] == 1


def test_a_card_says_what_was_played(run: RunResults) -> None:
    card = make_card(run)
    assert card["schema"] == "shopsim-card-v1"
    assert (card["release"], card["model"], card["prompt"]) == ("a" * 64, {"name": "m"}, {"name": "zh-v1"})
    assert card["environment"] == {"option_match": "anchored"}
    assert card["splits"] == ["project/test"]
    assert card["errors"] == {"timeout": 1}
    [group] = card["groups"]
    assert (group["task_mode"], group["interaction_mode"]) == ("standard", "single_turn")
    assert group["termination_reasons"] == {"action_limit": 1, "purchase": 2}
    # Costs are those of the three scored episodes.
    assert card["cost"]["duration_ms_mean"] == 1_000
    assert (card["floors"], card["ceilings"], card["contamination"]) == (None, None, None)


def test_a_card_is_the_same_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    records = [outcome(task, sample, (task * 3 + sample) % 5 / 4) for task in range(6) for sample in (0, 1)]
    cards = []
    for name, chosen in (("a.jsonl", records), ("b.jsonl", records[::-1])):
        cards.append(pretty_json(make_card(read_run(write_lines(tmp_path / name, chosen)))))
    assert cards[0] == cards[1]
    other = make_card(read_run(tmp_path / "a.jsonl"), draws=Draws(seed=1))
    assert other["groups"][0]["metrics"]["r_strict"]["mean"] == pytest.approx(
        math.fsum((task * 3 + sample) % 5 / 4 for task in range(6) for sample in (0, 1)) / 12
    )
    assert other["method"]["bootstrap"] == {"unit": "task", "resamples": 2_000, "seed": 1}
