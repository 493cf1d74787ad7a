"""Builds the wheel, installs it alone into an empty environment, and plays an episode offline from it.

Run by `make wheel`, before pytest. It prints what it did and exits non-zero at the first difference.
"""

import subprocess
import sys
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
    print(release.id, len(release.tasks), wins)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command; its error output is shown when it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Builds, installs, plays."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        build = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", work, ROOT]
        run(sys.executable, *build, cwd=work)
        wheel = next(work.glob("shopsim-*.whl"))
        tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        assert tops == {"shopsim_env", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}, tops
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "--no-index", wheel, cwd=work)
        release_id, tasks, wins = run(python, "-I", "-c", EPISODE, cwd=work).split()
        assert wins == "2", f"expected two episodes with reward 1, found {wins}"
        verified = run(work / "env" / "bin" / "shopsim", "verify", cwd=work)
        assert release_id in verified, verified
        refused = subprocess.run([work / "env" / "bin" / "shopsim", "build"], cwd=work, capture_output=True)
        assert refused.returncode == 2, refused
        size = wheel.stat().st_size
        print(f"wheel {wheel.name}: {size:,} bytes, release {release_id[:12]}, {tasks} tasks, 2 of 2 won")


if __name__ == "__main__":
    main()
