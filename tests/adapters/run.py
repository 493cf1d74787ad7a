"""Makes the isolated environments of the adapters and runs their tests in them: `make adapters`.

    python run.py [--only NAME] [--fresh]

Packages of trainers pin each other out, so each has an environment of its own under build/adapters, from the
pinned requirements beside this file. An environment is made again when its requirements change; the wheel is
built and installed anew each time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "adapters"
REPORT = ROOT / "docs" / "reports" / "openenv-validate-0.10.json"


@dataclass(frozen=True)
class Environment:
    """One environment.

    `project` installs our wheel too, `tests` are files that run in it, `here` those that run in the project's
    own environment and start programs in this one.
    """

    name: str
    project: bool = False
    tests: tuple[str, ...] = ()
    here: tuple[str, ...] = ()


ENVIRONMENTS = (
    Environment("openenv-core-0.3.0"),
    Environment("openenv-0.4.1"),
    Environment(
        "openenv",
        project=True,
        tests=("test_openenv_server.py", "test_openenv_claims.py", "test_openenv_clients.py"),
    ),
    Environment("mcp-1"),
    Environment("mcp-2", here=("test_mcp_clients.py",)),
    Environment("trl", project=True, tests=("test_trl_trainer.py", "test_chat_templates.py")),
    Environment("verl", project=True, tests=("test_verl_loop.py",)),
    Environment("verifiers", project=True, tests=("test_verifiers_taskset.py",)),
)


def main() -> int:
    """Exit code 1 when a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names that start with this")
    parser.add_argument("--fresh", action="store_true", help="make the environments anew")
    arguments = parser.parse_args()
    chosen = [found for found in ENVIRONMENTS if found.name.startswith(arguments.only or "")]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        ours = any(found.project for found in chosen)
        wheel = built_wheel(Path(folder)) if ours else None
        for found in chosen:
            make(found, wheel, fresh=arguments.fresh)
        extra = {"ADAPTER_ENVIRONMENTS": str(FOLDER), **(planted(Path(folder)) if ours else {})}
        for found in chosen:
            if found.tests and not tested(python_of(found.name), found.tests, extra):
                failed.append(found.name)
            if found.here and not tested(Path(sys.executable), found.here, extra):
                failed.append(found.name)
            if found.name == "openenv" and not validated():
                failed.append("the validator of openenv")
    print(f"failed: {', '.join(failed)}" if failed else "all adapters passed")
    return 1 if failed else 0


def python_of(name: str) -> Path:
    """The interpreter of an environment."""
    return FOLDER / name / "bin" / "python"


def run(*command: str | Path, **more: object) -> None:
    """Runs a command that must succeed."""
    subprocess.run([str(part) for part in command], check=True, **more)  # type: ignore[call-overload]


def built_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    return next(folder.glob("shopsim-*.whl"))


def make(found: Environment, wheel: Path | None, *, fresh: bool) -> None:
    """Makes an environment, or keeps the one of equal requirements."""
    pins = (HERE / "requirements" / f"{found.name}.txt").read_text(encoding="utf-8")
    mark = FOLDER / found.name / "requirements.txt"
    quiet = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps")
    if fresh or not mark.exists() or mark.read_text(encoding="utf-8") != pins:
        print(f"making {found.name}", flush=True)
        venv.create(FOLDER / found.name, with_pip=True, clear=True)
        run(python_of(found.name), *quiet, "-r", HERE / "requirements" / f"{found.name}.txt")
        run(python_of(found.name), "-m", "pip", "check")
        mark.write_text(pins, encoding="utf-8")
    if found.project and wheel is not None:
        run(python_of(found.name), *quiet, "--force-reinstall", wheel)


def planted(folder: Path) -> dict[str, str]:
    """A release with canaries in every private field, and what to look for, for tests elsewhere."""
    code = (
        "import json, sys; from pathlib import Path; sys.path.insert(0, 'tests'); import builds; "
        "folder = Path(sys.argv[1]); raw = builds.write_records(folder / 'raw.json.gz'); "
        "report = builds.build(folder, raw=raw); "
        "assert report.ok, report.problems; "
        "names = ('FULL', 'OPTION', 'ATTRIBUTE', 'USER'); "
        "canaries = [getattr(builds, f'CANARY_{name}') for name in names]; "
        "print(json.dumps({'release': str(report.release), 'canaries': canaries}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    facts = json.loads(done.stdout.splitlines()[-1])
    facts["actions"] = ["click[nowhere]", "search[营地灯]", "click[700000000001]", "click[颜色分类=雾蓝]"]
    facts["actions"] += ["ask_shopper[预算多少？]", "click[buy now]", "search[x]"]
    return {"ADAPTER_CANARIES": json.dumps(facts)}


def tested(python: Path, tests: tuple[str, ...], extra: dict[str, str]) -> bool:
    """Whether the tests pass; run from their folder, so that its pytest.ini holds."""
    command = [str(python), "-m", "pytest", "-c", "pytest.ini", *tests]
    return subprocess.run(command, cwd=HERE, env={**os.environ, **extra}, check=False).returncode == 0


def validated() -> bool:
    """Whether the package's validator passes; its report is kept."""
    REPORT.parent.mkdir(exist_ok=True)
    command = [str(python_of("openenv")), "validate_openenv.py", str(REPORT)]
    path = {"PYTHONPATH": str(HERE.parent)}
    return subprocess.run(command, cwd=HERE, env={**os.environ, **path}, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
