"""`shopsim release RELEASE --public --out DIR`: a copy of a release without its private parts."""

import argparse
from pathlib import Path
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.release.opening import SAMPLE
from shopsim_env.release.public import PublicCopy, make_public_copy


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("release", help="copy a release without its private parts")
    parser.add_argument("release", nargs="?", metavar="RELEASE", help="release folder (default: the sample)")
    parser.add_argument("--public", action="store_true", required=True, help="leave every private file out")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to make")
    parser.add_argument("--force", action="store_true", help="allow --out to replace another release")
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Makes the copy and reports what is in it and what is not."""
    source = Path(arguments.release) if arguments.release else SAMPLE
    copy = make_public_copy(source, Path(arguments.out), force=arguments.force)
    if arguments.json:
        show_json(
            {
                "ok": True,
                "release": str(copy.path),
                "id": copy.id,
                "files": list(copy.files),
                "absent_files": list(copy.absent),
            }
        )
    else:
        show(_lines(copy))
    return 0


def _lines(copy: PublicCopy) -> list[str]:
    return [
        f"public copy of {copy.id}",
        f"    {copy.path}",
        *(f"copied  {name}" for name in copy.files),
        *(f"absent  {name}" for name in copy.absent),
    ]
