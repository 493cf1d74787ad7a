"""`kill -9` of a build at random moments: nothing partial is ever visible, and a restart ends undisturbed.

    .venv/bin/python -m benchmarks.kill_build [--kills N] [--seed S] [--json]

Each kill hits a process of its own that runs what `shopsim build --dataset sample` runs. After each, every
visible file must be one that an undisturbed build wrote, `current` must lead to a release that verifies in
full, and the lock must be free. Kills come in chains of five in one folder, every second chain in a folder
that already holds another release; then a build runs to its end and must give the release of an undisturbed
one, byte for byte. Killed builds do everything anew (`--rerun`); moments are uniform over the time that an
undisturbed build takes; one that ends before its moment is not counted as a kill.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.build import run_build
from pipelines.resources.paths import CONFIGS, ROOT
from shopsim_env.canonical import sha256_file
from shopsim_env.release import load_release

CHAIN = 5
DATASET = "sample"


@dataclass
class Tally:
    """What was counted.

    `kills`: processes that the signal ended; `moments`: what they were writing; `problems` must stay empty.
    """

    kills: int = 0
    finished_first: int = 0
    restarts_equal: int = 0
    debris: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def start(folder: Path, configs: Path, home: Path, *, rerun: bool = False) -> int:
    """Forks a process that builds below `folder`; returns its number. Its exit code is 0 for a release."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.environ["DAGSTER_HOME"] = str(home)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        roots = {"artifacts_root": str(folder / "artifacts"), "releases_root": str(folder / "releases")}
        report = run_build({"dataset": DATASET, "configs_root": str(configs), "rerun": rerun, **roots})
        code = 0 if report.ok else 1
    finally:
        os._exit(code)


def finish(folder: Path, configs: Path, home: Path) -> float:
    """Builds to the end; returns the seconds that it took."""
    began = time.perf_counter()
    code = os.waitstatus_to_exitcode(os.waitpid(start(folder, configs, home), 0)[1])
    if code:
        raise RuntimeError(f"the build below {folder} ended with {code}")
    return time.perf_counter() - began


# Compares with the release before, so it depends on whether a killed build had published already.
RELATIVE = {"annotation_drift.json"}


def visible(folder: Path) -> dict[str, str]:
    """Hashes of artifacts and of files of releases, without what is hidden or describes a single run."""
    return {
        str(path.relative_to(folder)): sha256_file(path)
        for top in ("artifacts", "releases")
        for path in (folder / top).rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and "meta" not in path.parts
        and "current" not in path.parts
        and path.name not in RELATIVE
    }


def debris(folder: Path) -> list[str]:
    """Names of temporary files and folders."""
    hidden = [path for path in folder.rglob(".*") if path.name != ".lock"]
    return [path.name for path in [*hidden, *folder.rglob("*.tmp")]]


def current(folder: Path) -> Path:
    """The release that the link leads to."""
    return (folder / "releases" / DATASET / "current").resolve()


def inspect(folder: Path, allowed: list[dict[str, str]], tally: Tally) -> None:
    """Compares what is visible after a kill with what undisturbed builds wrote."""
    known = {(name, digest) for files in allowed for name, digest in files.items()}
    for item in visible(folder).items():
        if item not in known:
            tally.problems.append(f"{item[0]}: no undisturbed build wrote this")
    if (folder / "releases" / DATASET / "current").is_symlink():
        load_release(current(folder), verify="full").close()
    elif len(allowed) > 1:
        tally.problems.append("the earlier release is not current any more")
    left = debris(folder)
    writing = [name for name in left if "building" in name]
    tally.debris += len(left)
    tally.moments[writing[0].split(".")[1].split("-")[0] if writing else "between files"] += 1


def prepare(work: Path) -> tuple[Path, Path, Path, float]:
    """Undisturbed builds: of the sample, and with other settings, which half of the chains start on."""
    plain, other = work / "configs", work / "other-configs"
    for configs in (plain, other):
        shutil.copytree(CONFIGS, configs)
    path = other / "datasets" / f"{DATASET}.toml"
    text = path.read_text(encoding="utf-8")
    changed = text.replace("[baseline]", "[project_splits]\nseed = 7\n\n[baseline]", 1)
    path.write_text(changed, encoding="utf-8")
    finish(work / "earlier", other, work / "home")
    return plain, work / "undisturbed", work / "earlier", finish(work / "undisturbed", plain, work / "home")


def run(kills: int, seed: int, work: Path, say: Callable[[str], None]) -> Tally:
    """Kills that many builds below `work`."""
    configs, undisturbed, earlier, seconds = prepare(work)
    wanted, before = visible(undisturbed), visible(earlier)
    say(f"undisturbed build: {seconds:.1f} s")
    moments, tally, number = random.Random(seed), Tally(), 0  # noqa: S311 - a seeded choice
    while tally.kills < kills:
        number += 1
        folder, home = work / f"chain{number}", work / f"home{number}"
        home.mkdir()
        if number % 2 == 0:
            shutil.copytree(earlier, folder, symlinks=True)
        allowed = [wanted, before] if number % 2 == 0 else [wanted]
        for _ in range(min(CHAIN, kills - tally.kills)):
            _kill(start(folder, configs, home, rerun=True), moments.uniform(0, seconds), tally)
            inspect(folder, allowed, tally)
        finish(folder, configs, home)
        _compare(folder, wanted, undisturbed, tally)
        say(f"{tally.kills} kills, {len(tally.problems)} problems")
        shutil.rmtree(folder)
    return tally


def _kill(process: int, delay: float, tally: Tally) -> None:
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    tally.kills += os.WIFSIGNALED(status)
    tally.finished_first += not os.WIFSIGNALED(status)


def _compare(folder: Path, wanted: dict[str, str], undisturbed: Path, tally: Tally) -> None:
    found = visible(folder)
    missing = {name for name, digest in wanted.items() if found.get(name) != digest}
    same = current(folder).name == current(undisturbed).name
    tally.problems += [f"{name}: not as an undisturbed build wrote it" for name in sorted(missing)]
    tally.problems += [] if same else ["current: another release than that of an undisturbed build"]
    tally.problems += [f"{name}: left behind after the restart" for name in debris(folder)]
    tally.restarts_equal += not missing and same


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kill-build-") as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        tally = run(options.kills, options.seed, Path(folder), lambda line: print(line, file=sys.stderr))
    result: dict[str, Any] = {**vars(tally), "moments": dict(tally.moments.most_common())}
    print(json.dumps(result, ensure_ascii=False) if options.json else _text(result))
    return 1 if tally.problems else 0


def _text(result: dict[str, Any]) -> str:
    return "\n".join(f"{name:<16} {value}" for name, value in result.items())


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
