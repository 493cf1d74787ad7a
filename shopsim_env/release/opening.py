"""Opening a verified release: `load_release` and `Release`.

Rows are read from SQLite on demand, so opening costs the same for 800 and for two million products.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shopsim_env.cache import BoundedCache
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.errors import ReleaseError, UnknownTaskError, UsageError
from shopsim_env.private import PrivateRelease
from shopsim_env.release import layout
from shopsim_env.release.manifest import Manifest, read_manifest
from shopsim_env.release.verify import check_layout, has_receipt, verify_files, write_receipt
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult
from shopsim_env.tasks.model import Task
from shopsim_env.tasks.splits import read_splits
from shopsim_env.versions import TOP_K

_KEPT_TASKS = 4_096
SAMPLE = Path(__file__).resolve().parent.parent / "sample_release"


class TaskTable(Mapping[int, Task]):
    """Public tasks by id, in ascending order, read on demand."""

    def __init__(self, path: Path) -> None:
        self._connection = layout.open_readonly(path)
        self._lock = threading.Lock()
        self._kept: BoundedCache[int, Task] = BoundedCache(_KEPT_TASKS)

    def __getitem__(self, task_id: int) -> Task:
        if isinstance(task_id, bool) or not isinstance(task_id, int):
            raise UnknownTaskError(f"a task id is an integer, found {task_id!r}")
        task = self._kept.get(task_id)
        if task is None:
            task = self._read(task_id)
            self._kept.put(task_id, task)
        return task

    def _read(self, task_id: int) -> Task:
        row = self._one("SELECT task_id, instruction, instruction_simple, persona, labels FROM task", task_id)
        if row is None:
            raise UnknownTaskError(self._why_absent(task_id))
        return Task(row[0], row[1], row[2], row[3], tuple(json.loads(row[4])))

    def __iter__(self) -> Iterator[int]:
        with self._lock:
            rows = self._connection.execute("SELECT task_id FROM task ORDER BY task_id").fetchall()
        return iter([row[0] for row in rows])

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM task").fetchone()[0])

    def close(self) -> None:
        """Closes the file."""
        self._kept.clear()
        self._connection.close()

    def _why_absent(self, task_id: int) -> str:
        row = self._one("SELECT reason FROM inactive_task", task_id)
        if row is None:
            return f"task {task_id} is not in this release; `release.tasks` lists the ids"
        return f"task {task_id} is not active in this release: {row[0]}"

    def _one(self, select: str, task_id: int) -> tuple[Any, ...] | None:
        with self._lock:
            row = self._connection.execute(f"{select} WHERE task_id = ?", (task_id,)).fetchone()
        return tuple(row) if row else None


class Release:
    """A verified release. Threads may share one. Close it, or use it in a `with` block."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        """Opens the files of a folder that `load_release` has verified."""
        self._manifest = manifest
        self.path = root
        self.id = manifest.id
        self.tasks = TaskTable(root / layout.TASKS)
        self._catalog = CatalogStore(root / layout.CATALOG)
        self._engine = Fts5Engine(layout.open_readonly(root / layout.CATALOG))
        self._splits = read_splits(json.loads((root / layout.SPLITS).read_text(encoding="utf-8")))
        self._private: PrivateRelease | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest document, as a fresh dict."""
        return self._manifest.payload

    @property
    def splits(self) -> dict[str, tuple[int, ...]]:
        """Split name (`source/...`, `project/...`) to ascending task ids."""
        return dict(self._splits)

    @property
    def metrics(self) -> dict[str, Any]:
        """`metrics.json`: the search baseline measured when the release was built."""
        result: dict[str, Any] = json.loads((self.path / layout.METRICS).read_text(encoding="utf-8"))
        return result

    def product(self, asin: str) -> Product:
        """The product with this asin.

        Raises:
            UsageError: no such product (code `unknown_product`).
        """
        return self._catalog.product(asin)

    def search(self, query: str, top_k: int = TOP_K, *, engine: str | None = None) -> SearchResult:
        """Ranks the catalogue for `query` by the FTS5 contract.

        Args:
            query: Any text; it is never interpreted as query syntax.
            top_k: Number of hits at most.
            engine: None or "fts5".
        """
        if engine not in (None, "fts5"):
            raise UsageError(f"engine: expected None or 'fts5', found {engine!r}")
        return self._engine.search(query, top_k)

    def private(self) -> PrivateRelease:
        """Goals of this release, for reward, episode and pipeline code.

        Raises:
            ReleaseError: this is a public copy.
        """
        if self._manifest.public_copy:
            raise ReleaseError(
                f"{self.path}: a public copy holds no goals; open the full release to play episodes.",
                code="public_copy",
            )
        if self._private is None:
            self._private = PrivateRelease(layout.open_readonly(self.path / layout.GOALS), self._catalog)
        return self._private

    def close(self) -> None:
        """Closes every file; further calls fail."""
        self.tasks.close()
        self._catalog.close()
        self._engine.close()
        if self._private is not None:
            self._private.close()

    def __enter__(self) -> "Release":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_release(path: str | Path | None = None, *, verify: str = "receipt") -> Release:
    """Opens a release after verification.

    Args:
        path: Release folder; None opens the sample release that ships with the package.
        verify: "receipt" hashes every byte at the first open on this machine and later trusts unchanged
            files; "full" hashes every byte now.

    Raises:
        ReleaseError: names the file, what was expected and what was found.
        UsageError: another value of `verify`.
    """
    if verify not in ("receipt", "full"):
        raise UsageError(f"verify: expected 'receipt' or 'full', found {verify!r}")
    root = (SAMPLE if path is None else Path(path)).resolve()
    manifest = read_manifest(root)
    check_layout(root, manifest)
    if verify == "full" or not has_receipt(root, manifest):
        verify_files(root, manifest)
        write_receipt(root, manifest)
    try:
        return Release(root, manifest)
    except sqlite3.Error as error:
        raise ReleaseError(f"{root}: cannot be opened: {error}", code="release_error") from error
