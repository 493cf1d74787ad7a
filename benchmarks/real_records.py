"""The command line of benchmarks over the real records beside the project, with their scratch folder."""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
T = TypeVar("T")


def measure_real(prog: str, doc: str | None, measure: Callable[[Path, Path], T]) -> tuple[T, bool]:
    """Measures with a scratch folder; ends with exit code 2 where the records are not there.

    Args:
        prog: Name of the benchmark.
        doc: Its module docstring, whose first line describes it.
        measure: From the folder with `real/` and a scratch folder to the result.

    Returns:
        The result, and whether one JSON document was asked for.
    """
    parser = argparse.ArgumentParser(prog=prog, description=(doc or "").split("\n")[0])
    parser.add_argument("--shared", type=Path, default=SHARED_DATA, metavar="DIR", help="folder with real/")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if not (arguments.shared / "real").is_dir():
        parser.exit(2, f"the real records are not at {arguments.shared}; give --shared DIR\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # the receipt of a release that will be gone
        return measure(arguments.shared.resolve(), folder), bool(arguments.json)
