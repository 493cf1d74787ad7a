"""`shopsim doctor`: versions, which search engine runs and why, whether a release verifies."""

import argparse
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

import shopsim_env
from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import ShopSimError
from shopsim_env.release import load_release
from shopsim_env.release.manifest import read_manifest
from shopsim_env.release.verify import has_receipt, receipt_path, verify_content
from shopsim_env.search.measure import machine_facts
from shopsim_env.search.rankers import KERNEL_PROBLEM
from shopsim_env.versions import ENVIRONMENT_VERSION, SEARCH_VERSION


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("doctor", help="check this installation: engines, versions, release")
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Reports; exit code 1 when the release does not verify. A missing kernel is no fault: another runs."""
    report = examine(arguments.release)
    if arguments.json:
        show_json(report)
    else:
        show(_lines(report))
    return 0 if report["release"]["ok"] else 1


def examine(release: str | None) -> dict[str, Any]:
    """Everything that the command says."""
    return {
        "version": shopsim_env.__version__,
        "package": str(Path(shopsim_env.__file__).parent),
        "environment": ENVIRONMENT_VERSION,
        "search": SEARCH_VERSION,
        **machine_facts(),
        "numpy": _numpy_version(),
        "kernel": KERNEL_PROBLEM or "built",
        "release": _examine_release(release),
    }


def _numpy_version() -> str:
    # Not imported: the start would cost more than the answer is worth.
    found = importlib.util.find_spec("numpy") is not None
    return importlib.metadata.version("numpy") if found else "not installed"


def _examine_release(path: str | None) -> dict[str, Any]:
    try:
        with load_release(path, verify="full") as release:
            manifest = read_manifest(release.path)
            verify_content(release.path, manifest)
            choices = release.search_engines()
            return {
                "ok": True,
                "path": str(release.path),
                "id": release.id,
                "products": release.manifest["counts"]["products"],
                "receipt": str(receipt_path(release.path))
                if has_receipt(release.path, manifest)
                else "cannot be written: every open hashes",
                "engine": choices[0].runs,
                "engines": {choice.name: choice.runs or choice.problem for choice in choices[1:]},
            }
    except ShopSimError as error:
        return {"ok": False, "problem": f"{error.code}: {error}"}


def _lines(report: dict[str, Any]) -> list[str]:
    release = report["release"]
    lines = [f"{name:<14} {value}" for name, value in report.items() if name != "release"]
    if not release["ok"]:
        return [*lines, f"release        NOT VERIFIED: {release['problem']}"]
    lines += [f"{name:<14} {release[name]}" for name in ("path", "id", "products", "receipt")]
    lines.append(f"searches run on {release['engine']}")
    lines += [f'  engine="{name}": {text}' for name, text in release["engines"].items()]
    return [*lines, "ok             every byte and every row of the release is verified"]
