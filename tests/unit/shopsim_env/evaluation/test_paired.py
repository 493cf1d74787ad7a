"""Paired differences worked out by hand, and runs that may not be compared."""

from pathlib import Path
from typing import Any

import pytest
from evaluated_runs import ENVIRONMENT, altered, broken, outcome, plan, planned_run, rlve, write_lines
from run_folders import write_run

from shopsim_env.errors import UsageError
from shopsim_env.evaluation.paired import compare_runs
from shopsim_env.evaluation.results import RunResults, read_run

JOBS = [(task, sample) for task in (1, 2, 3, 4) for sample in (0, 1)]
# Strict rewards by (task, sample). A: task 3 lost one sample, task 4 both.
FIRST = {(1, 0): 0, (1, 1): 0, (2, 0): 1, (2, 1): 0, (3, 0): 1}
SECOND = {(1, 0): 1, (1, 1): 1, (2, 0): 1, (2, 1): 1, (3, 0): 0, (3, 1): 1, (4, 0): 0, (4, 1): 1}


def played(folder: Path, rewards: dict[tuple[int, int], float], *more: Any) -> RunResults:
    records = [outcome(task, sample, float(strict)) for (task, sample), strict in rewards.items()]
    return read_run(planned_run(folder, [*records, *more], JOBS))


def test_differences_of_pairs(tmp_path: Path) -> None:
    found = compare_runs(played(tmp_path / "a", FIRST, broken(3, 1)), played(tmp_path / "b", SECOND))
    assert found["schema"] == "shopsim-comparison-v1"
    [group] = found["groups"]
    assert (group["pairs"], group["tasks"], group["other_seeds"]) == (5, 3, 0)
    assert group["unpaired"] == {"only_first": 0, "only_second": 3, "neither": 0}
    # Five pairs: A 0 0 1 0 1, B 1 1 1 1 0. Of all eight planned, A wins 2 and B 6.
    success = group["metrics"]["r_success"]
    assert (success["first"], success["second"]) == (0.4, 0.8)
    assert success["difference"] == pytest.approx(0.4)
    assert (success["better"], success["equal"], success["worse"]) == (3, 1, 1)
    assert success["missing_as_failures"] == 0.5
    # Tasks add +2 of 2, +1 of 2 and -1 of 1. Each is drawn three times with a chance of 1/27 = 3.7 %.
    assert success["bootstrap"] == (-1.0, 1.0)
    # Tasks 1 and 2 gain, 3 loses: 2 * (1 + 3) / 8.
    assert group["success"] == {"gained": 2, "lost": 1, "tied": 0, "p": 1.0}


def test_one_sample_a_task_is_mcnemar(tmp_path: Path) -> None:
    # Six tasks turn from failure to success, none back, two stay: 2 / 2^6.
    first = write_lines(tmp_path / "a.jsonl", [outcome(task, 0, float(task > 6)) for task in range(1, 9)])
    second = write_lines(tmp_path / "b.jsonl", [outcome(task, 0, 1.0) for task in range(1, 9)])
    [group] = compare_runs(read_run(first), read_run(second))["groups"]
    assert group["success"] == {"gained": 6, "lost": 0, "tied": 2, "p": 0.03125}
    assert group["metrics"]["r_strict"]["difference"] == 0.75


def test_a_run_against_itself_has_no_difference(tmp_path: Path) -> None:
    run = played(tmp_path / "a", SECOND)
    found = compare_runs(run, run)
    assert found["differs"] == []
    metric = found["groups"][0]["metrics"]["r_strict"]
    assert (metric["difference"], metric["bootstrap"], metric["equal"]) == (0.0, (0.0, 0.0), 8)
    assert found["groups"][0]["success"] == {"gained": 0, "lost": 0, "tied": 4, "p": 1.0}


def test_no_pair_at_all_gives_no_figures(tmp_path: Path) -> None:
    first = read_run(planned_run(tmp_path / "a", [outcome(1, 0, 1.0)], [(1, 0), (1, 1)]))
    second = read_run(planned_run(tmp_path / "b", [outcome(1, 1, 1.0)], [(1, 0), (1, 1)]))
    [group] = compare_runs(first, second)["groups"]
    assert (group["pairs"], group["unpaired"]) == (0, {"only_first": 1, "only_second": 1, "neither": 0})
    assert group["metrics"]["r_success"]["difference"] is None
    assert group["metrics"]["r_success"]["bootstrap"] is None
    assert group["success"]["p"] is None
    assert group["metrics"]["r_success"]["missing_as_failures"] == 0.0


def test_model_and_prompt_may_differ_and_are_named(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [outcome(1, 0, 1.0)])
    other = altered(altered(outcome(1, 0, 1.0), "provenance.model.name", "n"), "job.seed", 99)
    second = write_lines(tmp_path / "b.jsonl", [altered(other, "provenance.prompt", None)])
    found = compare_runs(read_run(first), read_run(second))
    assert found["differs"] == ['model.name: "m" in A, "n" in B', 'prompt.name: "zh-v1" in A, nothing in B']
    assert found["groups"][0]["other_seeds"] == 1


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("provenance.release", "b" * 64, f'release: "{"a" * 64}" in A, "{"b" * 64}" in B'),
        (
            "provenance.versions.environment",
            "v8",
            'versions.environment: "shopsimulator-paper-aligned-v9" in A',
        ),
        (
            "reset.environment.option_match",
            "paper",
            'environment.option_match: "anchored" in A, "paper" in B',
        ),
        ("reset.environment.persona_view", "without_searches", "environment.persona_view: nothing in A"),
        (
            "reset.environment.task_mode",
            "persona",
            "modes: standard/single_turn in A, persona/single_turn in B",
        ),
        ("reset.environment.interaction_mode", "multi_turn", "modes: standard/single_turn in A"),
        ("job.task_id", 2, "tasks (standard/single_turn): 1 only in A (1)"),
    ],
)
def test_runs_under_different_rules_are_refused(tmp_path: Path, path: str, value: Any, said: str) -> None:
    first = write_lines(tmp_path / "a.jsonl", [outcome(1, 0, 1.0)])
    second = write_lines(tmp_path / "b.jsonl", [altered(outcome(1, 0, 1.0), path, value)])
    with pytest.raises(UsageError) as caught:
        compare_runs(read_run(first), read_run(second))
    assert caught.value.code == "not_comparable"
    assert caught.value.wrong_use
    assert said in str(caught.value)


def test_every_difference_is_named(tmp_path: Path) -> None:
    first = read_run(
        planned_run(tmp_path / "a", [outcome(1, 0, 1.0)], [(1, 0), *((n, 0) for n in range(20, 27))])
    )
    paper = plan([(1, 0), (30, 0)], environment={**ENVIRONMENT, "option_match": "paper"})
    second = read_run(write_run(tmp_path / "b", [], plan=paper))
    with pytest.raises(UsageError) as caught:
        compare_runs(first, second)
    message = str(caught.value)
    assert "option_match" in message
    assert "7 only in A (20, 21, 22, 23, 24 and 2 more)" in message
    assert "1 only in B (30)" in message
    traces = read_run(write_lines(tmp_path / "c.jsonl", [rlve("PD", 1, 1, 1.0)]))
    with pytest.raises(UsageError, match="kind: shop in A, rlve in B"):
        compare_runs(first, traces)


def test_a_sample_that_one_run_never_played_is_a_failure_of_it_in_the_worst_case(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [rlve("PD", 3, 1, 0.5), rlve("PD", 3, 1, 0.5)])
    second = write_lines(tmp_path / "b.jsonl", [rlve("PD", 3, 1, 0.5)])
    [group] = compare_runs(read_run(first), read_run(second))["groups"]
    assert (group["pairs"], group["unpaired"]["only_first"]) == (1, 1)
    # Nothing between the pair, and -1 - 0.5 for the sample that B lacks.
    assert group["metrics"]["total"]["missing_as_failures"] == -0.75


def test_rlve_is_paired_by_its_key(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [rlve("PD", 3, seed, 0.5) for seed in (1, 2)])
    second = write_lines(tmp_path / "b.jsonl", [rlve("PD", 3, 2, 1.0), rlve("PD", 3, 1, None)])
    found = compare_runs(read_run(first), read_run(second))
    [group] = found["groups"]
    assert (group["env_id"], group["difficulty"], group["pairs"]) == ("PD", 3, 1)
    total = group["metrics"]["total"]
    assert (total["difference"], total["bootstrap"]) == (0.5, None)
    # Both planned: 0.5 and 0.5 against 1 and -1.
    assert total["missing_as_failures"] == pytest.approx(-0.5)
    assert found["overall"]["success"] == {"gained": 1, "lost": 0, "tied": 0, "p": 1.0}
