"""Folders that tests read; kept apart from conftest so that test modules can import it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "data" / "samples"
SAMPLE_RELEASE = ROOT / "shopsim_env" / "sample_release"
SHARED_DATA = ROOT.parent / "shared" / "data"
