"""Reading runs: what is scored, what is only counted, and what may not stand in one run."""

import json
from pathlib import Path

import pytest
from evaluated_runs import ENVIRONMENT, altered, broken, outcome, plan, planned_run, rlve, write_lines
from run_folders import line, write_run

from shopsim_env.errors import RunError, UsageError
from shopsim_env.evaluation.results import Result, read_run

GROUP = ("standard", "single_turn")


def states(path: Path) -> list[tuple[str, int, str]]:
    return [(one.task, one.sample, one.state) for one in read_run(path).results]


def test_a_planned_run_keeps_a_place_for_every_job(tmp_path: Path) -> None:
    left = altered(outcome(3, 0, 1.0), "status", "running")
    records = [outcome(1, 0, 1.0), broken(1, 1), left, outcome(9, 0, 1.0)]
    run = read_run(planned_run(tmp_path / "run", records, [(1, 0), (1, 1), (2, 0), (3, 0), (10, 0)]))
    assert [(one.task, one.sample, one.state, bool(one.values)) for one in run.results] == [
        ("1", 0, "scored", True),
        ("1", 1, "failed", False),
        ("2", 0, "missing", False),
        ("3", 0, "unfinished", False),
        ("10", 0, "missing", False),
    ]
    assert {one.group for one in run.results} == {GROUP}
    assert run.reading.unplanned == 1
    assert run.splits == ("project/test",)
    assert (run.planned, run.fingerprint, run.created_at) == (True, "f" * 64, "2026-01-01T00:00:00Z")
    assert run.results[1].error == "timeout"


def test_values_are_the_metrics_of_the_paper(tmp_path: Path) -> None:
    records = [outcome(1, 0, 0.5), outcome(2, 0, 0.0, reason="action_limit")]
    first, second = read_run(write_lines(tmp_path / "a.jsonl", records)).results
    assert first.values == {
        "r_loose": 0.75,
        "r_strict": 0.5,
        "r_success": 0.0,
        "r_type": 0.5,
        "r_att": 0.5,
        "r_option": 0.5,
        "r_price": 0.5,
        "finish": 1.0,
    }
    assert (second.values["finish"], second.reason) == (0.0, "action_limit")


@pytest.mark.parametrize(
    ("path", "value", "state", "error"),
    [
        ("steps.0.environment.valid", False, "invalid", "invalid_step"),
        ("steps.0.environment", {"valid": False, "failure_kind": "env_crash"}, "invalid", "env_crash"),
        ("final.reward_detail", {}, "invalid", "no_result"),
        ("final.reward_detail.r_success", None, "invalid", "no_result"),
        ("final.reward_detail.r_strict", 1.5, "invalid", "out_of_range"),
        ("final.done", False, "unfinished", ""),
        ("status", "failed", "failed", ""),
    ],
)
def test_what_is_no_result_has_no_values(
    tmp_path: Path, path: str, value: object, state: str, error: str
) -> None:
    record = altered(outcome(1, 0, 1.0), path, value)
    [found] = read_run(write_lines(tmp_path / "a.jsonl", [record])).results
    assert (found.state, found.error, dict(found.values)) == (state, error, {})


def test_the_last_line_of_an_episode_counts_and_torn_lines_do_not(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [broken(1, 0), outcome(1, 0, 1.0)])
    torn = line(outcome(2, 0, 1.0))[:-40]
    path.write_bytes(path.read_bytes() + b'{"schema":"other"}\n\nnonsense\n' + torn)
    run = read_run(path)
    assert [(one.task, one.state) for one in run.results] == [("1", "scored")]
    reading = run.reading
    assert (reading.lines, reading.unreadable, reading.replaced) == (4, 2, 1)
    assert reading.torn_bytes == len(torn)
    assert not run.planned


def test_two_lines_of_one_sample_are_one_episode_whatever_their_ids(tmp_path: Path) -> None:
    records = [outcome(1, 0, 0.0), {**outcome(1, 0, 1.0), "episode_id": "again"}]
    run = read_run(write_lines(tmp_path / "a.jsonl", records))
    assert [one.values["r_strict"] for one in run.results] == [1.0]
    assert run.reading.replaced == 1


def test_episodes_without_samples_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    records = [altered(outcome(1, 0, 1.0), "job.sample_id", None) for _ in range(3)]
    for number, record in enumerate(records):
        record["episode_id"] = f"e{number}"
    records.insert(0, outcome(1, 1, 0.0))
    run = read_run(write_lines(tmp_path / "a.jsonl", records))
    assert [(one.sample, one.values["r_strict"]) for one in run.results] == [
        (0, 1.0),
        (1, 0.0),
        (2, 1.0),
        (3, 1.0),
    ]


def test_traces_of_rlve(tmp_path: Path) -> None:
    records = [
        rlve("PD", 10, 1, 0.5),
        rlve("PD", 3, 1, 1.0),
        rlve("PD", 3, 1, -1.0),
        rlve("PD", 3, 2, None),
        rlve("PD", 3, 4, -2.0),
        altered(rlve("PD", 3, 5, 1.0), "reward.success", None),
        altered(rlve("PD", 3, 6, 1.0), "key.seed", None),
    ]
    run = read_run(write_lines(tmp_path / "a.jsonl", records))
    assert run.kind == "rlve"
    assert [(one.group, one.sample, one.state, one.values.get("total")) for one in run.results] == [
        (("PD", "3"), 0, "scored", 1.0),
        (("PD", "3"), 1, "scored", -1.0),
        (("PD", "3"), 0, "unfinished", None),
        (("PD", "3"), 0, "invalid", None),
        (("PD", "3"), 0, "invalid", None),
        (("PD", "10"), 0, "scored", 0.5),
    ]
    assert run.reading.unreadable == 1
    assert run.settings.versions == {"rlve_suite": "shopsim-rlve-v2"}
    assert run.settings.environment == {"language": "zh", "strict": True}
    assert run.results[3].error == "out_of_range"


def test_both_scenarios_of_one_file_and_a_failure_that_names_none(tmp_path: Path) -> None:
    persona = {**ENVIRONMENT, "task_mode": "persona", "max_actions": 30}
    several = {**persona, "interaction_mode": "multi_turn", "max_actions": 40}
    records = [outcome(1, 0, 1.0, environment=persona), outcome(2, 0, 1.0, environment=several)]
    run = read_run(write_lines(tmp_path / "two.jsonl", records))
    assert [one.group for one in run.results] == [("persona", "multi_turn"), ("persona", "single_turn")]
    records = [outcome(1, 0, 1.0, environment=persona), altered(broken(2, 0), "reset", None)]
    run = read_run(write_lines(tmp_path / "one.jsonl", records))
    assert run.results[1] == Result("2", 0, ("persona", "single_turn"), "failed", {}, 0, "", "timeout")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("provenance.release", "b" * 64, "release: "),
        ("provenance.versions.search", "v0", 'versions.search: "shopsimulator-multifield-bm25-v3" in'),
        ("reset.environment.option_match", "paper", 'environment.option_match: "anchored" in'),
        ("provenance.model.name", "other", 'model.name: "m" in'),
    ],
)
def test_episodes_under_different_rules_are_no_run(tmp_path: Path, path: str, value: str, said: str) -> None:
    records = [outcome(1, 0, 1.0), altered(outcome(2, 0, 1.0), path, value)]
    with pytest.raises(UsageError, match=r"evaluate such episodes apart") as caught:
        read_run(write_lines(tmp_path / "a.jsonl", records))
    assert caught.value.code == "mixed_run"
    assert said in str(caught.value)
    assert "another" in str(caught.value)


def test_a_plan_that_the_episodes_contradict(tmp_path: Path) -> None:
    about = plan([(1, 0)], environment={"option_match": "paper"})
    with pytest.raises(UsageError, match=r"environment\.option_match") as caught:
        read_run(write_run(tmp_path / "run", [outcome(1, 0, 1.0)], plan=about))
    assert "the plan" in str(caught.value)


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    cases = {"run_missing": tmp_path / "none", "empty_run": write_lines(tmp_path / "a.jsonl", [])}
    (tmp_path / "folder").mkdir()
    cases_of_folder = {"run_missing": tmp_path / "folder"}
    for code, path in [*cases.items(), *cases_of_folder.items()]:
        with pytest.raises(UsageError) as caught:
            read_run(path)
        assert caught.value.code == code
    with pytest.raises(RunError, match="can be read"):
        read_run("x" * 300)
    mixed = write_lines(tmp_path / "b.jsonl", [outcome(1, 0, 1.0), rlve("PD", 1, 1, 1.0)])
    with pytest.raises(UsageError, match="found both"):
        read_run(mixed)
    run = planned_run(tmp_path / "run", [], [(1, 0)])
    (run / "traces.jsonl").unlink()
    assert states(run) == [("1", 0, "missing")]
    (run / "manifest.json").write_text("[]")
    with pytest.raises(RunError, match=r"manifest\.json"):
        read_run(run)
    (run / "manifest.json").write_text(json.dumps({"plan": {"jobs": [{"task_id": "1"}]}}))
    with pytest.raises(RunError, match="task_id"):
        read_run(run)


def test_texts_are_cleaned_and_bounded(tmp_path: Path) -> None:
    record = outcome(1, 0, 1.0, reason="a\ud800\u202eb\n" + "x" * 400)
    record["provenance"]["model"] = {"name": "m\x00", "prompt": "长" * 400, "deep": [[[[[[[[[1]]]]]]]]]}
    run = read_run(write_lines(tmp_path / "a.jsonl", [record]))
    [found] = run.results
    assert found.reason == "a\ufffd\ufffdb\ufffd" + "x" * 295
    assert run.settings.model["name"] == "m\ufffd"
    assert run.settings.model["prompt"]["characters"] == 400
    assert len(run.settings.model["prompt"]["sha256"]) == 64
    assert json.dumps(run.settings.model).count("[") < 9
