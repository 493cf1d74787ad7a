"""Where the project keeps things, anchored at the repository root, whatever the working directory."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
DATA = ROOT / "data"
ARTIFACTS = DATA / "artifacts"
RELEASES = DATA / "releases"
CACHE = DATA / "cache"
DAGSTER_HOME = ROOT / ".dagster_home"


def dagster_home() -> Path:
    """Absolute DAGSTER_HOME: the caller's as it is, else the project-local one with our template."""
    chosen = os.environ.get("DAGSTER_HOME")
    home = Path(chosen).resolve() if chosen else DAGSTER_HOME
    home.mkdir(parents=True, exist_ok=True)
    config = home / "dagster.yaml"
    if home == DAGSTER_HOME and not config.exists():
        config.write_bytes((CONFIGS / "dagster" / "dagster.yaml").read_bytes())
    return home
