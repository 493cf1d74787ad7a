"""The `shopsim` command: exit codes, JSON output, messages that say what to do."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from builds import small_records, write_records
from places import ROOT

from pipelines.definitions import defs
from shopsim_env.cli import main


def shopsim(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_verify_ok_and_damaged(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = shopsim(capsys, "verify", small_release, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["ok"] is True
    assert report["files"] == len([path for path in small_release.rglob("*") if path.is_file()]) - 1
    code, out, _ = shopsim(capsys, "verify", small_release)
    assert (code, report["id"] in out) == (0, True)
    shutil.copytree(small_release, tmp_path / "bad")
    (tmp_path / "bad" / "splits.json").write_bytes(b"{}")
    code, out, err = shopsim(capsys, "verify", tmp_path / "bad")
    assert (code, out) == (1, "")
    assert "splits.json" in err


def test_search(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shopsim(capsys, "search", "旅行 水壶", "--release", small_release, "--json")
    found = json.loads(out)
    assert (code, found["status"]) == (0, "ok")
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3, 4]
    assert {hit["asin"] for hit in found["hits"]} == {f"70000000010{n}" for n in range(4)}
    code, out, _ = shopsim(capsys, "search", "旅行 水壶", "--release", small_release, "--top", "1")
    assert code == 0
    assert out.count("水壶") == 1
    assert shopsim(capsys, "search", "钢琴", "--release", small_release) == (1, "nothing found\n", "")
    assert shopsim(capsys, "search", "!?", "--release", small_release)[0] == 1
    assert shopsim(capsys, "search", "灯", "--release", small_release, "--top", "151")[0] == 2


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), 7),
        (("--brand", "山野小店"), 7),
        (("--category", "户外用品"), 6),
        (("--category", "户外用品", "--category", "帐篷"), 1),
        (("--max-price", "39"), 7),
        (("--max-price", "38.99"), 0),
        (("--min-price", "39.00", "--max-price", "50", "--category", "家居"), 1),
        (("--min-price", "39.01"), 0),
    ],
)
def test_search_ranks_what_meets_the_filters(
    small_release: Path, capsys: pytest.CaptureFixture[str], filters: tuple[str, ...], expected: int
) -> None:
    """Every product is waterproof and costs 39 to 59; wishes about prices are about the lowest."""
    command = ("search", "防水", "--release", small_release, "--json")
    every = {hit["asin"]: hit["score"] for hit in json.loads(shopsim(capsys, *command)[1])["hits"]}
    code, out, _ = shopsim(capsys, *command, *filters)
    hits = {hit["asin"]: hit["score"] for hit in json.loads(out)["hits"]}
    assert (code, len(hits)) == (0 if expected else 1, expected)
    assert hits.items() <= every.items(), "scores are those of the whole catalogue"


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (("--min-price", "5", "--max-price", "4"), "expected --min-price up to --max-price, found 5 above 4"),
        (("--max-price", "-1"), "--max-price: expected an amount like 29 or 29.90, found '-1'"),
        (("--max-price", "nan"), "--max-price: expected an amount like 29 or 29.90, found 'nan'"),
        (("--min-price", "cheap"), "--min-price: expected an amount like 29 or 29.90, found 'cheap'"),
        (("--min-price", "1e99"), "--min-price: expected an amount like 29 or 29.90, found '1e99'"),
        (("--min-price", "1.005"), "--min-price: expected an amount like 29 or 29.90, found '1.005'"),
        (("--brand", "山野"), "--brand: expected a brand of this release, spelled as there, found '山野'"),
        (("--category", "户外"), "--category: expected one at the top (家居, 户外用品), found '户外'"),
        (
            ("--category", "家居", "--category", "餐具", "--category", "碗"),
            "--category: expected one below 餐具 (there is none), found '碗'",
        ),
    ],
)
def test_search_says_what_is_wrong_with_a_filter(
    small_release: Path, capsys: pytest.CaptureFixture[str], filters: tuple[str, ...], message: str
) -> None:
    code, out, err = shopsim(
        capsys, "search", "灯", "--release", small_release, *(f"{a}={b}" for a, b in _pairs(filters))
    )
    assert (code, out) == (2, "")
    assert message in err


def _pairs(options: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(options[::2], options[1::2], strict=True))


@pytest.mark.parametrize("place", ["on the path", "in the folder", "elsewhere"])
def test_commands_in_messages_can_be_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """As a shell would: by name where it is found, by its path where it is not."""
    script = tmp_path / "venv" / "bin" / "shopsim"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", str(script.parent) if place == "on the path" else "/nowhere")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty" if place == "elsewhere" else tmp_path)
    expected = {"on the path": "shopsim", "in the folder": "venv/bin/shopsim", "elsewhere": str(script)}[
        place
    ]
    assert main(["verify", str(tmp_path / "empty")]) == 1
    assert f"Build a release with `{expected} build`" in capsys.readouterr().err


def test_play_by_script(small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "actions.txt"
    script.write_text("search[露营帐篷]\n\nclick[700000000003]\nclick[颜色分类=雾蓝]\nclick[buy now]\n")
    play = ("play", "--task", "2", "--standard", "--release", small_release, "--script", script)
    code, out, _ = shopsim(capsys, *play, "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["reward"], report["termination_reason"]) == (1.0, "purchase")
    assert report["task_instruction"] == "想要防水的露营帐篷，预算40元以内"
    script.write_text("search[露营帐篷]\nclick[700000000003]\nclick[颜色分类=沙色]\nclick[buy now]\n")
    code, out, _ = shopsim(capsys, *play)
    assert code == 1, "59 yuan is above the ceiling of 40"
    assert "reward 0" in out
    script.write_text("search[露营帐篷]\n")
    code, out, _ = shopsim(capsys, *play)
    assert (code, out.splitlines()[-1]) == (1, "the episode did not end: no reward")


def test_a_number_picks_the_element_of_the_page(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the product page the elements are: back to search, < prev, then the two colours."""
    script = tmp_path / "actions.txt"
    script.write_text("search[露营帐篷]\nclick[700000000003]\n3\nclick[buy now]\n")
    code, out, _ = shopsim(
        capsys, "play", "--task", "2", "--standard", "--release", small_release, "--script", script, "--json"
    )
    assert code == 0
    assert json.loads(out)["actions"][2] == "click[颜色分类=雾蓝]"


def test_play_by_oracle_shows_no_goal_before_the_end(
    small_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = shopsim(capsys, "play", "--standard", "--oracle", "--brief", "--release", small_release)
    assert code == 0
    assert "ended: purchase   reward 1" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("play", "--task", "1"), "multiple_price_affecting_axes"),
        (("play", "--task", "99"), "not in this release"),
        (("play", "--split", "nope"), "source/standard_train"),
        (("play", "--task", str(2**70)), "an integer from 0"),
        (("play", "--task", "2", "--script", "missing.txt"), "missing.txt"),
    ],
)
def test_wrong_requests_say_what_is_wrong(
    small_release: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = shopsim(capsys, *arguments, "--release", small_release)
    assert code == 2
    assert out == ""
    assert named in err


def test_build_reports_a_refused_archive_and_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    raw = tmp_path / "raw.json.gz"
    raw.write_bytes(b"[{}]")  # named .gz, but no gzip
    out = tmp_path / "release"
    code, printed, _ = shopsim(
        capsys, "build", "--dataset", "refused", "--raw", raw, "--data", tmp_path, "--out", out, "--json"
    )
    report = json.loads(printed)
    assert code == 1
    assert report["ok"] is False
    assert "gzip" in report["problems"][0]
    assert not out.exists()


def test_build_then_refuse_to_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    raw, out = write_records(tmp_path / "raw.json.gz"), tmp_path / "release"
    build = ("build", "--dataset", "small", "--raw", raw, "--data", tmp_path / "data")
    code, printed, err = shopsim(capsys, *build, "--out", out, "--runtime-regex-task-id", "0")
    assert code == 0, printed + err
    checks = len(defs.resolve_asset_graph().asset_check_keys)
    assert f"checks: {checks} passed, 0 failed" in printed
    before = (out / "manifest.json").read_bytes()
    fewer = write_records(tmp_path / "fewer.json.gz", small_records()[:-1])
    again = ("build", "--dataset", "small", "--raw", fewer, "--data", tmp_path / "data", "--out", out)
    code, printed, err = shopsim(capsys, *again, "--runtime-regex-task-id", "all")
    assert (code, printed) == (2, "")
    assert "exists; nothing was changed" in err
    assert (out / "manifest.json").read_bytes() == before
    code, printed, _ = shopsim(capsys, *again, "--runtime-regex-task-id", "all", "--force")
    assert code == 0
    assert (out / "manifest.json").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_force_replaces_releases_only(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    target = tmp_path / "target"
    if kind == "folder":
        target.mkdir()
        (target / "thesis.txt").write_text("years of work")
    elif kind == "file":
        target.write_text("years of work")
    else:
        target.symlink_to(small_release)
    code, _, err = shopsim(capsys, "build", "--out", target, "--force")
    assert code == 2
    assert "expected a release to replace" in err
    if kind == "folder":
        assert (target / "thesis.txt").read_text() == "years of work"
    assert (small_release / "manifest.json").is_file()


def test_sample_refuses_to_replace_any_of_its_three_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.truth.json").write_text("mine")
    out = ("sample", "--out", tmp_path / "x.raw.json.gz", "--products", "3")
    code, _, err = shopsim(capsys, *out)
    assert (code, "x.truth.json" in err) == (2, True)
    assert (tmp_path / "x.truth.json").read_text() == "mine"
    code, printed, _ = shopsim(capsys, *out, "--force", "--json")
    assert code == 0
    assert json.loads(printed)["archive"] == str(tmp_path / "x.raw.json.gz")


@pytest.mark.parametrize(
    "arguments",
    [
        ("build", "--dataset", "nope"),
        ("build", "--runtime-regex-task-id", "x"),
        ("sample", "--out", "x.json"),
    ],
)
def test_misuse_ends_with_two(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = shopsim(capsys, *arguments)
    assert code == 2
    assert err.startswith("shopsim: ")


def test_an_error_is_a_document_with_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shopsim(capsys, "verify", tmp_path, "--json")
    document = json.loads(out)
    assert code == 1
    assert document["ok"] is False
    assert document["error"]["code"] == "release_missing"
    assert document["error"]["message"] in err


def test_typed_play_numbers_the_elements_and_repeats_the_forms(
    small_release: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("水壶\nsearch[露营帐篷]\n"))
    shopsim(capsys, "play", "--task", "2", "--standard", "--release", small_release)
    monkeypatch.setattr("sys.stdin", io.StringIO("水壶\nsearch[露营帐篷]\n"))
    _, out, _ = shopsim(capsys, "play", "--task", "2", "--standard", "--release", small_release)
    assert out.count("type search[words] or click[value]") == 2, "at the start and after the invalid action"
    assert "[1] back to search  [2] 700000000003" in out


def test_a_script_that_is_no_text_is_refused(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "actions").write_bytes(b"\xff\xfe")
    code, _, err = shopsim(
        capsys, "play", "--task", "2", "--release", small_release, "--script", tmp_path / "actions"
    )
    assert (code, "UTF-8" in err) == (2, True)


def test_unknown_option_ends_with_two() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["verify", "--surprise"])
    assert caught.value.code == 2


def test_a_closed_pipe_is_no_error() -> None:
    shopsim_path = Path(sys.executable).with_name("shopsim")
    command = f"{shopsim_path} search 水 --json | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
