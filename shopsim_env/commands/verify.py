"""`shopsim verify`: hash every file of a release and recompute its id from the rows."""

import argparse
from pathlib import Path
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.release import load_release
from shopsim_env.release.manifest import read_manifest
from shopsim_env.release.opening import SAMPLE


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("verify", help="re-hash a release, byte for byte and row for row")
    parser.add_argument("release", nargs="?", metavar="RELEASE", help="release folder (default: the sample)")
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Verifies and reports; a fault is raised as `ReleaseError`, which ends with exit code 1."""
    root = (Path(arguments.release) if arguments.release else SAMPLE).resolve()
    manifest = read_manifest(root)
    load_release(root, verify="full").close()
    report = {
        "release": str(root),
        "id": manifest.id,
        "dataset": manifest.dataset,
        "files": len(manifest.files),
        "bytes": sum(entry.bytes for entry in manifest.files.values()),
        "ok": True,
    }
    if arguments.json:
        show_json(report)
    else:
        show([f"ok  {report['files']} files, {report['bytes']:,} bytes, id {manifest.id}", f"    {root}"])
    return 0
