"""Runs the validator of the package `openenv` on our package and keeps its report.

    python validate_openenv.py REPORT

Three runs: the command `openenv validate` at the static level; the same runner at the semantic level, which
includes runtime, with a provider of ours, because the command knows only a container engine; the command
against a running server. The report holds what the validator said, without addresses, paths and times. Exit
code 1 unless the validator passes everything that it has a grader for.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openenv.validation import Level, run_validation
from openenv_provider import NamespaceProvider
from openenv_wire import serving
from places import ROOT

PACKAGE = ROOT / "shopsim_env" / "adapters" / "openenv"
NO_GRADER = "grader not implemented in this build"
TARGET = PACKAGE.relative_to(ROOT).as_posix()


def main(path: Path) -> int:
    """Writes the report and prints its summary."""
    static = json.loads(_command("--level", "static", "--json", str(PACKAGE)))
    whole = json.loads(
        run_validation(PACKAGE, max_level=Level.SEMANTIC, provider=NamespaceProvider()).model_dump_json()
    )
    with serving() as server:
        url = f"http://127.0.0.1:{server.port}"
        running = json.loads(_command("--json", "--url", url).replace(url, "http://127.0.0.1:8000"))
    summary = _summary(static, whole, running)
    report = {
        "made_by": "make adapters",
        "package": f"openenv {version('openenv')}",
        "summary": summary,
        "static": _clean(static),
        "static_runtime_semantic": _clean(whole),
        "running_server": running,
    }
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=1))
    return 0 if summary["everything_with_a_grader_passes"] else 1


def _command(*arguments: str) -> str:
    """Standard output of `openenv validate`; exit code 1 is a verdict."""
    command = [str(Path(sys.executable).parent / "openenv"), "validate", *arguments]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(command, capture_output=True, text=True, cwd=elsewhere, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def _summary(static: dict[str, Any], whole: dict[str, Any], running: dict[str, Any]) -> dict[str, Any]:
    passed = [row["check_id"] for row in whole["results"] if row["status"] == "pass"]
    missing = [row["check_id"] for row in whole["results"] if row["evidence"] == [NO_GRADER]]
    others = {row["check_id"]: row["status"] for row in whole["results"]}
    for check in (*passed, *missing):
        del others[check]
    return {
        "passed": passed,
        "not_graded_by_this_version": missing,
        "anything_else": others,
        "verdict_static": static["verdict"],
        "verdict_semantic": whole["verdict"],
        "running_server_passed": running["passed"],
        "everything_with_a_grader_passes": not others
        and whole["verdict"] != "fail"
        and static["verdict"] == "pass"
        and running["passed"],
    }


def _clean(report: dict[str, Any]) -> dict[str, Any]:
    """The report without the folder and the times of this run."""
    results = [
        {name: value for name, value in row.items() if name != "duration_s"} for row in report["results"]
    ]
    return {**report, "target": TARGET, "results": results}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
