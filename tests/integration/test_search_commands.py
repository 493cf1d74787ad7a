"""`shopsim doctor`, `bench` and `baseline` on a small release."""

import json
import shutil
from pathlib import Path

import pytest

from pipelines.stages.release_baseline import measure_split
from shopsim_env import cli
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.release import load_release
from shopsim_env.search import measure
from shopsim_env.search.rankers import KERNEL_PROBLEM

FAST = "numpy" if KERNEL_PROBLEM else "kernel"


def shopsim(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_doctor(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shopsim(capsys, "doctor", "--release", small_release, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["kernel"] == (KERNEL_PROBLEM or "built")
    release = report["release"]
    assert (release["ok"], release["products"], release["engine"]) == (True, 7, FAST)
    assert release["engines"] == {"fast": FAST, "numpy": "numpy", "fts5": "fts5"}
    code, out, _ = shopsim(capsys, "doctor", "--release", small_release)
    assert code == 0
    assert f"searches run on {FAST}" in out
    assert "every byte and every row" in out


def test_doctor_names_the_damaged_file(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(small_release, tmp_path / "copy")
    path = tmp_path / "copy" / "search" / "arrays.bin"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    code, out, _ = shopsim(capsys, "doctor", "--release", tmp_path / "copy")
    assert code == 1
    assert "NOT VERIFIED: file_altered" in out
    assert "arrays.bin" in out


def test_bench(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shopsim(capsys, "bench", "--release", small_release, "--queries", 2, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["equal"] is True
    assert report["products"] == 7
    # one task shows a simple text, two standard tasks show their full text
    assert {kind: timings[0]["queries"] for kind, timings in report["timings"].items()} == {
        "simple": 1,
        "full": 2,
    }
    names = [timing["name"] for timing in report["timings"]["full"]]
    assert names[0] == "published FTS5 query"
    assert set(names[1:]) == {FAST, "numpy", "fts5"}
    assert report["timings"]["full"][0]["ratio_p50"] == 1.0
    code, out, _ = shopsim(capsys, "bench", "--release", small_release, "--queries", 1)
    assert code == 0
    assert "all engines rank alike" in out
    assert shopsim(capsys, "bench", "--release", small_release, "--queries", 0)[0] == 2


def test_ratios_are_taken_query_by_query(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = {"slow": iter([8.0, 9.0, 40.0]), "quick": iter([4.0, 1.0, 2.0])}
    monkeypatch.setattr(measure, "_best", lambda variant, _query, _repeats: next(spent[variant(None)]))
    slow, quick = measure.time_variants(
        {"slow": lambda _: "slow", "quick": lambda _: "quick"}, ["a", "b", "c"], reference="slow"
    )
    assert (slow.ratio_p50, slow.p50_ms) == (1.0, 9_000)
    assert (quick.p50_ms, quick.p95_ms) == (2_000, 4_000)
    assert (quick.ratio_p50, quick.ratio_p5) == (9.0, 2.0)  # of 2, 9 and 20


def test_baseline(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shopsim(
        capsys, "baseline", small_release, "--split", "source/standard_train", "--json", "--workers", 2
    )
    report = json.loads(out)
    assert code == 0
    assert report == json.loads(json.dumps(measure_split(small_release, "source/standard_train")))
    full = report["modes"]["instruction"]
    # task 2 asks for the one tent of the release
    assert full["recall"]["1"] == {"hits": 1, "rate": 1.0, "interval": [pytest.approx(0.2065, abs=1e-4), 1.0]}
    assert list(report["domains"]) == ["Sports"]
    assert report["failed"] == {"instruction": {}, "instruction_simple": {}}
    code, out, _ = shopsim(capsys, "baseline", small_release, "--split", "source/standard_train")
    assert code == 0
    assert "Sports" in out
    assert "100.00% [20.7%, 100.0%]" in out


def test_baseline_refuses_wrong_use(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TaskError, match="source/standard_train") as caught:
        measure_split(small_release, "train")
    assert caught.value.code == "unknown_split"
    assert (
        shopsim(capsys, "baseline", small_release, "--split", "source/standard_train", "--workers", 0)[0] == 2
    )
    wrong = shopsim(capsys, "baseline", small_release, "--split", "source/standard_train", "--weights", "v4")
    assert wrong[0] == 2
    assert "expected one of v3, v2, found 'v4'" in wrong[2]


def test_search_explains(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shopsim(capsys, "search", "旅行 水壶 2号", "--release", small_release, "--explain")
    assert code == 0
    assert "tokens of '旅行 水壶 2号': 旅行 (in 4 products), 水壶 (in 4 products)" in out
    assert "fields: title" in out
    assert "above the next: " in out
    assert "same score, smaller asin" in out
    code, out, _ = shopsim(
        capsys, "search", "旅行 水壶 2号", "--release", small_release, "--explain", "--json"
    )
    report = json.loads(out)
    assert report["tokens"] == ["旅行", "水壶", "号", "2"]
    assert report["engine"] == FAST
    first = report["hits"][0]
    assert sum(part["score"] for part in first["explanation"]["tokens"]) == pytest.approx(first["score"])
    with pytest.raises(UsageError, match="'nothing'"), load_release(small_release) as release:
        release.explain("水壶", "nothing")
