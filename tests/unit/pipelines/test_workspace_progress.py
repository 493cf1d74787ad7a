"""Progress of a stage: a bar on a terminal where it is asked for, else nothing; items stay as they are."""

import io
import sys
from pathlib import Path

import pytest

from pipelines.resources.workspace import Workspace, WorkspaceResource


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def workspace(folder: Path, *, show_progress: bool) -> Workspace:
    roots = {"artifacts_root": str(folder / "artifacts"), "releases_root": str(folder / "releases")}
    raw = str(folder / "raw.json")
    return WorkspaceResource(dataset="small", raw=raw, show_progress=show_progress, **roots).open()


@pytest.mark.parametrize("total", [0, 130])
def test_a_bar_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(workspace(tmp_path, show_progress=True).tracked("search_index", range(130), total)) == [
        *range(130)
    ]
    assert "search_index" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_nothing_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(workspace(tmp_path, show_progress=False).tracked("x", "ab")) == ["a", "b"]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(workspace(tmp_path, show_progress=True).tracked("x", "ab")) == ["a", "b"]
