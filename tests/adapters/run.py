"""Makes the isolated environments of the adapters and runs their tests in them: `make adapters`.

    python run.py [--only NAME] [--fresh]

Packages of trainers pin each other out, so each has an environment of its own under build/adapters, from the
pinned requirements beside this file. An environment is made again when its requirements change; our own
package is installed anew each time. At the end there is a table of what ran.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "adapters"
REPORT = ROOT / "docs" / "reports" / "openenv-validate-0.10.json"


@dataclass(frozen=True)
class Environment:
    """One environment.

    `package` is the one that all is about. `ours` installs our wheel too, or this checkout where the tests
    need the pipeline. `tests` are files that run in it, `here` those that run in the project's own
    environment and start programs in this one.
    """

    name: str
    package: str
    ours: Literal["wheel", "checkout", None] = None
    tests: tuple[str, ...] = ()
    here: tuple[str, ...] = ()


ENVIRONMENTS = (
    Environment("openenv-core-0.3.0", "openenv-core"),
    Environment("openenv-0.4.1", "openenv"),
    Environment(
        "openenv",
        "openenv",
        ours="wheel",
        tests=("test_openenv_server.py", "test_openenv_claims.py", "test_openenv_clients.py"),
    ),
    Environment("mcp-1", "mcp"),
    Environment("mcp-2", "mcp", here=("test_mcp_clients.py",)),
    Environment("trl", "trl", ours="wheel", tests=("test_trl_trainer.py", "test_chat_templates.py")),
    Environment("verl", "verl", ours="wheel", tests=("test_verl_loop.py",)),
    Environment("verifiers", "verifiers", ours="wheel", tests=("test_verifiers_taskset.py",)),
    Environment("ray", "ray", ours="checkout", tests=("ray_cluster",)),
)


@dataclass(frozen=True)
class Ran:
    """A row of the table; without tests of its own, an environment is used by the next one's."""

    environment: str
    version: str
    passed: int = 0
    skipped: int = 0
    failed: int = 0
    seconds: float = 0.0
    ok: bool = True


def main() -> int:
    """Exit code 1 when a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names that start with this")
    parser.add_argument("--fresh", action="store_true", help="make the environments anew")
    arguments = parser.parse_args()
    chosen = [found for found in ENVIRONMENTS if found.name.startswith(arguments.only or "")]
    failed, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        ours = any(found.ours == "wheel" for found in chosen)
        wheel = built_wheel(Path(folder)) if ours else None
        for found in chosen:
            make(found, wheel, fresh=arguments.fresh)
        extra = {"ADAPTER_ENVIRONMENTS": str(FOLDER), **(planted(Path(folder)) if ours else {})}
        for found in chosen:
            rows.append(ran(found, extra))
            if not rows[-1].ok:
                failed.append(found.name)
            if found.name == "openenv" and not validated():
                failed.append("the validator of openenv")
    print(table(rows))
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
    if found.ours == "wheel":
        run(python_of(found.name), *quiet, "--force-reinstall", wheel)
    if found.ours == "checkout":
        run(python_of(found.name), *quiet, "--no-build-isolation", "-e", ROOT)


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


def ran(found: Environment, extra: dict[str, str]) -> Ran:
    """The tests of an environment, and what came of them."""
    code = f"from importlib.metadata import version; print(version({found.package!r}))"
    asked = [str(python_of(found.name)), "-c", code]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    python = python_of(found.name) if found.tests else Path(sys.executable)
    if not (tests := found.tests or found.here):
        return Ran(found.name, version)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        began = time.monotonic()
        ok = tested(python, (f"--junitxml={report}", *tests), extra)
        seconds = time.monotonic() - began
        # pytest's own file.
        suites = list(ET.parse(report).iter("testsuite")) if report.exists() else []  # noqa: S314
    counts = {
        key: sum(int(suite.attrib[key]) for suite in suites)
        for key in ("tests", "skipped", "failures", "errors")
    }
    failed = counts["failures"] + counts["errors"]
    passed = counts["tests"] - counts["skipped"] - failed
    # A package whose tests are all skipped has shown nothing.
    return Ran(found.name, version, passed, counts["skipped"], failed, seconds, ok and passed > 0)


def table(rows: list[Ran]) -> str:
    """What ran, one line for each environment."""
    lines = [f"{'environment':<20}{'version':<10}{'passed':>7}{'skipped':>9}{'failed':>8}{'seconds':>9}"]
    for row in rows:
        if row.passed + row.skipped + row.failed or not row.ok:
            counts = f"{row.passed:>7}{row.skipped:>9}{row.failed:>8}{row.seconds:>9.0f}"
        else:
            counts = "  a client of other tests"
        lines.append(f"{row.environment:<20}{row.version:<10}{counts}")
    return "\n".join(lines)


def tested(python: Path, arguments: tuple[str, ...], extra: dict[str, str]) -> bool:
    """Whether the tests pass; run from their folder, so that its pytest.ini holds."""
    command = [str(python), "-m", "pytest", "-c", "pytest.ini", *arguments]
    return subprocess.run(command, cwd=HERE, env={**os.environ, **extra}, check=False).returncode == 0


def validated() -> bool:
    """Whether the package's validator passes; its report is kept."""
    REPORT.parent.mkdir(exist_ok=True)
    command = [str(python_of("openenv")), "validate_openenv.py", str(REPORT)]
    path = {"PYTHONPATH": str(HERE.parent)}
    return subprocess.run(command, cwd=HERE, env={**os.environ, **path}, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
