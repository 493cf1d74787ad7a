"""Memories of finished work: with what code, tools, settings and inputs a result came about.

A result is taken again only when every one of them has the digest that was noted then; there are no times
and no guesses. What a memory cannot prove unchanged is done again. No Dagster here.
"""

import json
import platform
import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError
from pipelines.resources.artifact_store import ArtifactStore, write_json
from pipelines.resources.reads import Reads
from shopsim_env.canonical import compact_json, sha256_file, sha256_text

# Key of a memory's hash over the rest of it.
_OWN = "sha256"


def _kernel_sha256() -> str:
    """SHA-256 of the compiled search kernel that this process loads, "none" without one.

    The binary and not its source: compiler and flags decide as well, and a new source changes nothing before
    it is built.
    """
    try:
        kernel = import_module("shopsim_env.search._kernel")
    except ImportError:
        return "none"
    return sha256_file(Path(str(kernel.__file__)))


# Now, as it is loaded: a server that runs for days must not take a kernel built later for its own.
_KERNEL = _kernel_sha256()


@cache
def tools_sha256() -> str:
    """SHA-256 over Python, SQLite, machine type, the search kernel and every installed package's version."""
    folders = {Path(entry) for entry in sys.path if entry}
    packages = {path.name for folder in folders for path in folder.glob("*.dist-info")}
    versions = [platform.python_version(), sqlite3.sqlite_version, platform.machine(), _KERNEL]
    return sha256_text(compact_json([*versions, *sorted(packages)]))


class Memos:
    """Memories of one data set, each in `meta/memo/NAME.json` below the artifact store.

    Args:
        store: Whose artifacts the results depend on.
        settings: Present digest of every setting.
        outside: Present digest of an outer input, by its name.
    """

    def __init__(
        self, store: ArtifactStore, settings: Mapping[str, str], outside: Callable[[str], str]
    ) -> None:
        self._folder = store.root / "meta" / "memo"
        self._store, self._settings, self._outside = store, settings, outside

    def recall(self, name: str, recipe: str) -> dict[str, Any] | None:
        """The result that was kept for `name`, if nothing that it depends on has changed; else None.

        A damaged memory is none: the work is done again.

        Args:
            name: Asset or check.
            recipe: SHA-256 of the code that would do the work now.
        """
        kept = _read(self._path(name))
        if kept is None or (kept["recipe"], kept["tools"]) != (recipe, tools_sha256()):
            return None
        reads = Reads(**kept["reads"])
        return dict(kept["result"]) if self._holds(reads) else None

    def keep(self, name: str, recipe: str, reads: Reads, result: Mapping[str, Any]) -> None:
        """Notes a result together with what it came from, unless that has changed while the work went on."""
        if not self._holds(reads):
            return
        value = {"recipe": recipe, "tools": tools_sha256(), "reads": asdict(reads), "result": dict(result)}
        write_json(self._path(name), {**value, _OWN: sha256_text(compact_json(value))})

    def forget(self, name: str) -> None:
        """Takes a memory away: its result does not hold any more."""
        self._path(name).unlink(missing_ok=True)

    def moved(self, name: str) -> list[tuple[str, str, str]]:
        """Outer inputs that `name` was made from and that differ now: name, digest then and now.

        A result without a memory is of unknown origin, and so counts as moved.
        """
        path = self._path(name)
        if not path.is_file():
            return [("files", "unknown", "not comparable")]
        outside = json.loads(path.read_text(encoding="utf-8"))["reads"]["outside"]
        present = {each: self._outside(each) for each in outside}
        return [(each, then, present[each]) for each, then in outside.items() if present[each] != then]

    def _holds(self, reads: Reads) -> bool:
        return (
            all(self._settings.get(name) == digest for name, digest in reads.settings.items())
            and all(self._present(name) == digest for name, digest in reads.artifacts.items())
            and all(self._outside(name) == digest for name, digest in reads.outside.items())
        )

    def _present(self, asset: str) -> str | None:
        try:
            return self._store.describe(asset).sha256
        except ArtifactError:
            return None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name.replace('/', '.')}.json"


def _read(path: Path) -> dict[str, Any] | None:
    """What `Memos.keep` wrote, None where there is nothing or where it is not what was written."""
    try:
        value = json.loads(path.read_bytes()) if path.is_file() else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    own = value.pop(_OWN, None)
    return value if own == sha256_text(compact_json(value)) else None
