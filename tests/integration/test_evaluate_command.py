"""`shopsim evaluate` and `shopsim compare` on played episodes: files, exit codes, privacy, RLVE."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import builds
import pytest
from evaluated_runs import ENVIRONMENT, altered, broken, outcome, plan, write_lines
from rlve_world import played
from run_folders import episode, stubborn, write_run

from shopsim_env import load_release
from shopsim_env.cli import main
from shopsim_env.release import Release
from shopsim_env.release.public import make_public_copy
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.trace import TracedEpisode
from shopsim_env.trace import RLVE_TRACE_SCHEMA

TASKS = (1, 2, 3)


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


def write_runs(root: Path, release: Release, tasks: Sequence[int]) -> Path:
    """`good` takes the first result, `bad` clicks on what is not there; a sample of `bad` failed."""
    jobs = [{"task_id": task, "sample_id": 0, "seed": 7, "split": None} for task in tasks]
    about = {"release": release.id, "jobs": jobs, "model": {"name": "scripted"}}
    write_run(root / "good", [episode(release, task, 0) for task in tasks], plan=about)
    lost = altered(broken(tasks[-1], 0), "provenance.release", release.id)
    write_run(
        root / "bad",
        [*(episode(release, task, 0, stubborn) for task in tasks[:-1]), lost],
        plan={**about, "model": {"name": "stubborn"}},
    )
    return root


@pytest.fixture(scope="module")
def runs(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("runs"), release, TASKS)


def shopsim(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_figures_are_those_of_the_episodes(
    runs: Path, release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = shopsim(capsys, "evaluate", runs / "good", "--json")
    card = json.loads(out)
    [group] = card["groups"]
    played = [json.loads(line) for line in (runs / "good" / "traces.jsonl").read_bytes().splitlines()]
    rewards = [record["final"]["reward"] for record in played]
    assert code == 0
    assert group["metrics"]["r_strict"]["mean"] == pytest.approx(sum(rewards) / 3)
    assert group["metrics"]["finish"]["mean"] == 1.0
    assert (card["release"], card["dataset"]) == (release.id, "sample")
    witnesses = release.metrics["witnesses"]["all"]["standard"]
    assert card["ceilings"] == [
        {
            "split": "all",
            "task_mode": "standard",
            **{name: witnesses[name] for name in ("tasks", "W1", "W2", "W3", "all_grades")},
        }
    ]
    code, out, _ = shopsim(capsys, "evaluate", runs / "bad")
    assert code == 0
    assert re.search(r"standard · single turn +3 +2 +1 +0 +0 +0 +3 +0\.667", out)
    assert re.search(r"success \(r_success\) +0\.000 +0\.000 … 0\.658", out)  # none of 2 tasks
    assert "transport" not in out
    assert re.search(r"timeout +1", out)


def test_bounds_are_those_of_the_split_that_was_played(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = release.splits["project/test"]
    odd = {**ENVIRONMENT, "gravity": 1}
    records = [outcome(task, 0, 1.0, release=release.id, environment=odd) for task in tasks]
    about = plan(((task, 0) for task in tasks), release=release.id, environment=odd)
    run = write_run(tmp_path / "run", records, plan=about)
    code, out, _ = shopsim(capsys, "evaluate", run, "--json")
    card = json.loads(out)
    assert (code, card["splits"]) == (0, ["project/test"])
    # The sample's own metrics.json.
    sizes = {"tasks": 14, "W1": 14, "W2": 14, "W3": 10, "all_grades": 10}
    assert card["ceilings"] == [{"split": "project/test", "task_mode": "standard", **sizes}]
    nothing = dict.fromkeys(
        ("asin", "instruction", "instruction_simple", "persona_fingerprint", "user_id"), 0
    )
    assert card["contamination"] == [
        {"splits": pair, **nothing} for pair in ("project/test, project/train", "project/test, project/val")
    ]
    assert "project/test, project/train  0" in shopsim(capsys, "evaluate", run)[1]
    code, _, err = shopsim(capsys, "evaluate", run, "--floors")
    assert (code, "['gravity']" in err) == (2, True)


def test_card_and_report_have_the_same_bytes_again(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        words = ("--card", folder / "card.md", "--html", folder / "card.html", "--floors")
        found = shopsim(capsys, "evaluate", runs / "good", *words)
        assert found[0] == 0
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {"card.md", "card.json", "card.html"}
    card = json.loads(written[0]["card.json"])
    assert card["schema"] == "shopsim-card-v1"
    assert list(card) == sorted(card)
    # The agent of the run is a floor, so both have the same figures on the same tasks and settings.
    [floor] = [row for row in card["floors"] if row["agent"] == "first-result"]
    assert floor["episodes"] == 3
    assert floor["r_strict"] == pytest.approx(card["groups"][0]["metrics"]["r_strict"]["mean"])
    assert str(runs).encode() not in b"".join(written[0].values())


def test_files_are_not_replaced_unasked(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str | Path) -> tuple[int, str, str]:
        return shopsim(capsys, "evaluate", runs / "good", *words)

    (tmp_path / "card.json").write_text("kept")
    code, _, err = run("--card", tmp_path / "card.md")
    assert (code, "would_overwrite" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["card.json"]
    assert (tmp_path / "card.json").read_text() == "kept"
    assert run("--card", tmp_path / "card.md", "--force")[0] == 0
    assert json.loads((tmp_path / "card.json").read_text())["schema"] == "shopsim-card-v1"
    before = sorted(tmp_path.iterdir())
    for words, said in (
        (("--card", tmp_path / "card.txt"), "ends in .md"),
        (("--html", tmp_path / "none" / "a.html"), "output_unusable"),
        (("--card", tmp_path / "a.md", "--html", tmp_path / "a.json"), "found one twice"),
        (("--html", tmp_path / ("x" * 300)), "output_unusable"),
        (("--k", "0"), "--k"),
        (("--resamples", "10"), "resamples"),
    ):
        code, _, err = run(*words)
        assert (code, said in err) == (2, True), err
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_of_another_release_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "a.jsonl", [outcome(1, 0, 1.0)])
    code, out, err = shopsim(capsys, "evaluate", path, "--json")
    assert code == 2
    assert json.loads(out)["error"]["code"] == "other_release"
    assert "--release" in err


def test_compare(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--html", tmp_path / "a.html", "--language", "zh")
    code, out, _ = shopsim(capsys, "compare", runs / "bad", runs / "good", *words, "--json")
    found = json.loads(out)
    [group] = found["groups"]
    assert (code, group["pairs"]) == (0, 2)
    assert group["unpaired"] == {"only_first": 0, "only_second": 1, "neither": 0}
    assert found["differs"] == ['model.name: "stubborn" in A, "scripted" in B']
    assert (group["metrics"]["finish"]["first"], group["metrics"]["finish"]["second"]) == (0.0, 1.0)
    assert '<html lang="zh-Hans">' in (tmp_path / "a.html").read_text(encoding="utf-8")
    records = [
        altered(json.loads(line), "reset.environment.option_match", "paper")
        for line in (runs / "good" / "traces.jsonl").read_bytes().splitlines()
    ]
    other = write_lines(tmp_path / "paper.jsonl", records)
    code, out, err = shopsim(capsys, "compare", runs / "good", other, "--json")
    assert (code, json.loads(out)["error"]["code"]) == (2, "not_comparable")
    assert 'environment.option_match: "anchored" in A, "paper" in B' in err


def test_no_private_text_is_on_any_surface(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with private strata, which are classes. Canaries stand in every private field of task 0."""
    tasks, out = (0, 2, 3), tmp_path / "out"
    out.mkdir()
    with load_release(small_release) as release:
        runs = write_runs(tmp_path / "runs", release, tasks)
        goals = [release.private().goal(task_id) for task_id in tasks]
    options = ("--release", small_release, "--strata", "private")
    words = (*options, "--floors", "--card", out / "a.md", "--html", out / "a.html")
    code, told, _ = shopsim(capsys, "evaluate", runs / "good", *words)
    assert code == 0
    html = ("--html", out / "b.html", "--json")
    code, compared, _ = shopsim(capsys, "compare", runs / "bad", runs / "good", *options, *html)
    assert code == 0
    surfaces = [told, compared, *(path.read_text(encoding="utf-8") for path in out.iterdir())]
    secrets = {builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER}
    for goal in goals:
        secrets |= {goal.product.asin, goal.product.title, goal.instruction, *goal.options}
    for surface in surfaces:
        assert not [secret for secret in secrets if secret in surface]
    # A class of a goal, which the public strata of a persona task do not have.
    strata = json.loads(compared)["groups"][0]["strata"]
    assert not [row for row in strata if row["dimension"] == "budget" and row["stratum"] == "unknown"]


def test_a_public_copy_evaluates_without_goals(
    runs: Path, release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_public_copy(release.path, tmp_path / "copy")
    words = ("evaluate", runs / "good", "--release", tmp_path / "copy")
    assert shopsim(capsys, *words)[0] == 0
    for private in ("--floors", "--strata=private"):
        code, _, err = shopsim(capsys, *words, private)
        assert code != 0
        assert "public_copy" in err


def test_played_episodes_of_rlve(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rlve.jsonl"
    with Market.of(release) as market, path.open("wb") as stream:
        for seed in (1, 2):
            traced = TracedEpisode(market, EpisodeKey("PD", 0, seed))
            played(traced, oracle("PD"))
            stream.write(traced.record.line())
        stream.write(TracedEpisode(market, EpisodeKey("PD", 0, 3)).record.line())
    code, out, _ = shopsim(capsys, "evaluate", path, "--json")
    card = json.loads(out)
    assert (code, card["kind"]) == (0, "rlve")
    assert card["overall"]["metrics"]["success"]["mean"] == 1.0
    assert card["overall"]["counts"]["unfinished"] == 1
    assert card["groups"][0]["metrics"]["success"]["worst_case"] == pytest.approx(2 / 3)
    assert json.loads(path.read_bytes().splitlines()[0])["schema"] == RLVE_TRACE_SCHEMA
    code, out, _ = shopsim(capsys, "evaluate", path, "--floors", "--json")
    success = {row["agent"]: (row["success"], row["ceiling"]) for row in json.loads(out)["floors"]}
    assert (code, success["answer at once"], success["oracle"]) == (0, (0.0, False), (1.0, True))
    code, out, _ = shopsim(capsys, "compare", path, path, "--json")
    assert (code, json.loads(out)["overall"]["success"]["tied"]) == (0, 2)
