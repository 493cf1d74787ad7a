"""The committed sample: same release from any process, and the release in the wheel is the one it builds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT, SAMPLE_RELEASE

from shopsim_env.canonical import sha256_file

BUILD = [str(Path(sys.executable).with_name("shopsim")), "build", "--dataset", "sample", "--json"]


def build(folder: Path, hash_seed: str) -> dict[str, object]:
    """Builds the sample below `folder` in a process of its own."""
    done = subprocess.run(
        [*BUILD, "--data", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "DAGSTER_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    return [build(tmp_path_factory.mktemp(f"seed{seed}"), seed) for seed in ("1", "2")]


def files(root: str | Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): sha256_file(path)
        for path in sorted(Path(root).rglob("*"))
        if path.is_file()
    }


def test_two_processes_with_other_hash_seeds_give_the_same_bytes(two_builds: list[dict[str, object]]) -> None:
    first, second = two_builds
    assert first["release_id"] == second["release_id"]
    assert files(first["release"]) == files(second["release"])


def test_every_stage_reports_and_every_check_passes(two_builds: list[dict[str, object]]) -> None:
    report = two_builds[0]
    assert [stage["asset"] for stage in report["stages"]][-1] == "release"
    assert (report["checks_failed"], report["problems"]) == (0, [])
    assert {stage["asset"]: stage["rows"] for stage in report["stages"]}["raw_products"] == 800


def test_the_release_in_the_package_is_what_the_pipeline_builds(two_builds: list[dict[str, object]]) -> None:
    """`make sample-release` regenerates it; only its logical id is promised on every machine."""
    shipped = json.loads((SAMPLE_RELEASE / "manifest.json").read_text(encoding="utf-8"))
    assert shipped["id"] == two_builds[0]["release_id"]
