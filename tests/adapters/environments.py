"""The isolated environments that `make adapters` has made, for tests that start programs in them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = os.environ.get("ADAPTER_ENVIRONMENTS")


def python_of(name: str) -> str:
    """The interpreter of an environment; skips where `make adapters` has not made them."""
    if FOLDER is None:
        pytest.skip("the isolated environments are made by `make adapters`")
    return str(Path(FOLDER) / name / "bin" / "python")


def printed(name: str, script: Path, *arguments: str) -> Any:
    """The JSON that a script prints in an environment."""
    command = [python_of(name), "-W", "ignore", str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
