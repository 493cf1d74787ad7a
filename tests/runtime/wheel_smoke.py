"""Builds the wheel, installs it alone into an empty environment, and plays an episode offline from it.

Twice: as this machine builds it, where a compiler must give the compiled search kernel, and as a machine
without a compiler builds it.

Run by `make wheel`, before pytest. It prints what it did and exits non-zero at the first difference.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

EPISODE = """
import shopsim_env
from shopsim_env.shop.oracle import solve
with shopsim_env.load_release() as release:
    env = shopsim_env.ShopEnv(release)
    wins = 0
    for label in ("persona", "standard"):
        task_id = next(i for i, task in release.tasks.items() if label in task.labels)
        wins += solve(release, env, task_id).reached
    print(release.id, len(release.tasks), wins, release.search("杯").engine)
"""
KERNEL = "shopsim_env/search/_kernel.abi3.so"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Standard output of a command; its error output is shown when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def play_elsewhere(wheel: Path, work: Path, release_id: str) -> list[str]:
    """Plays the same episodes with every other promised Python that this machine has."""
    unpacked = work / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    played = []
    for version in ("3.10", "3.11", "3.12", "3.13"):
        python = shutil.which(f"python{version}")
        works = python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0
        if python and works and version != f"{sys.version_info[0]}.{sys.version_info[1]}":
            found = run(python, "-W", "error", "-c", EPISODE, cwd=unpacked).split()
            assert found[0] == release_id, found
            assert found[2] == "2", found
            played.append(version)
    return played


def main() -> None:
    """Both forms of the wheel."""
    compiler = shutil.which(os.environ.get("CC") or sysconfig.get_config_var("CC").split()[0])
    if compiler:
        smoke("kernel")
    smoke("fts5", CC="/nonexistent/cc")


def smoke(engine: str, **environment: str) -> None:
    """Builds, installs, plays; `engine` is what searches must run on."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = work / "source"
        # A copy, so that neither leftovers of an earlier build get into the wheel nor ours into the checkout.
        for name in ("shopsim_env", "pyproject.toml", "setup.py", "README.md", "LICENSE"):
            origin = ROOT / name
            if origin.is_dir():
                shutil.copytree(origin, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            else:
                shutil.copyfile(origin, source / name)
        build = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", work, source]
        run(sys.executable, *build, cwd=work, **environment)
        wheel = next(work.glob("shopsim-*.whl"))
        names = zipfile.ZipFile(wheel).namelist()
        tops = {name.split("/")[0] for name in names}
        assert tops == {"shopsim_env", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}, tops
        packed = {name for name in names if name.startswith("shopsim_env/")}
        assert (KERNEL in packed) == (engine == "kernel"), packed
        expected = {
            path.relative_to(source).as_posix()
            for path in (source / "shopsim_env").rglob("*")
            if path.is_file() and path.suffix not in (".c", ".h", ".so")
        }
        assert packed - {KERNEL} == expected, packed ^ expected
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "--no-index", wheel, cwd=work)
        release_id, tasks, wins, ran = run(python, "-I", "-c", EPISODE, cwd=work).split()
        assert (wins, ran) == ("2", engine), f"expected 2 won episodes and {engine}, found {wins} and {ran}"
        verified = run(work / "env" / "bin" / "shopsim", "verify", cwd=work)
        assert release_id in verified, verified
        refused = subprocess.run([work / "env" / "bin" / "shopsim", "build"], cwd=work, capture_output=True)
        assert refused.returncode == 2, refused
        others = play_elsewhere(wheel, work, release_id)
        size = wheel.stat().st_size
        print(
            f"wheel {wheel.name} ({engine}): {size:,} bytes, release {release_id[:12]}, {tasks} tasks, "
            "2 of 2 won"
        )
        print(f"also played with: {', '.join(others) or 'no other Python from 3.10 to 3.13 found'}")


if __name__ == "__main__":
    main()
