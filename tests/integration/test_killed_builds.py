"""`kill -9` of a real build: nothing partial is visible, and the next build ends as an undisturbed one.

`benchmarks/kill_build.py` does the same at fifty random moments.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from builds import write_records
from places import ROOT

from shopsim_env.canonical import sha256_file


def start(folder: Path, raw: Path) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("shopsim")), "build", "--dataset", "small"]
    return subprocess.Popen(
        [*command, "--raw", str(raw), "--runtime-regex-task-id", "all", "--data", str(folder)],
        cwd=ROOT,
        env={**os.environ, "DAGSTER_HOME": str(folder / "home")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def kill_when(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
    while process.poll() is None and not reached():
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, process.stderr and process.stderr.read()
    assert process.stderr
    process.stderr.close()


def visible(root: Path) -> dict[str, str]:
    """Hashes of files that are neither hidden nor in a hidden folder; the link `current` apart."""
    return {
        str(path.relative_to(root)): sha256_file(path)
        for path in root.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
        and path.relative_to(root).parts[0] not in ("meta", "current")
    }


def test_two_kills_and_a_restart(small_release: Path, tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw.json.gz")
    artifacts, releases = tmp_path / "artifacts" / "small", tmp_path / "releases" / "small"
    wanted = visible(small_release.parents[2] / "artifacts" / "small")
    for reached in (
        lambda: (artifacts / "meta" / "cleaned_v2.json").is_file(),
        lambda: any(releases.glob(".building-*/catalog.sqlite")),
    ):
        kill_when(start(tmp_path, raw), reached)
        found = visible(artifacts)
        assert found.items() <= wanted.items()
        assert found
        assert list(releases.glob("[!.]*")) == [], "a release is there whole or not at all"
    assert list(releases.glob(".building-*")), "the second kill hit the release"
    process = start(tmp_path, raw)
    message = process.communicate()[1]
    assert process.returncode == 0, message
    assert visible(artifacts) == wanted
    assert (releases / "current").resolve().name == small_release.name
    assert visible(releases) == visible(small_release.parent)
    debris = [path for path in (*artifacts.rglob(".*"), *releases.rglob(".*")) if path.name != ".lock"]
    assert debris == []
