"""Opening a verified release: `load_release` and `Release`.

Rows are read from SQLite on demand, so opening costs the same for 800 and for two million products.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from shopsim_env.cache import BoundedCache
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.errors import ReleaseError, SearchIndexError, UnknownTaskError, UsageError
from shopsim_env.locks import fork_safe_lock
from shopsim_env.private import PrivateRelease
from shopsim_env.release import layout
from shopsim_env.release.manifest import EARLIER_CURRENCY, Manifest, read_manifest
from shopsim_env.release.verify import (
    check_layout,
    fingerprint,
    has_receipt,
    verify_content,
    verify_files,
    write_receipt,
)
from shopsim_env.search.cache import CacheStats
from shopsim_env.search.engines import EngineChoice, SearchService
from shopsim_env.search.explain import Explanation, explain
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult
from shopsim_env.search.where import ProductSet, Where, product_set
from shopsim_env.sqlite import ReadOnlyDatabase
from shopsim_env.tasks.model import Task
from shopsim_env.tasks.splits import read_splits
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

_KEPT_TASKS = 4_096
SAMPLE = Path(__file__).resolve().parent.parent / "sample_release"


class TaskTable(Mapping[int, Task]):
    """Public tasks by id, in ascending order, read on demand."""

    def __init__(self, path: Path) -> None:
        self._database = ReadOnlyDatabase(path)
        self._kept: BoundedCache[int, Task] = BoundedCache(_KEPT_TASKS)

    def __getitem__(self, task_id: int) -> Task:
        if isinstance(task_id, bool) or not isinstance(task_id, int) or not 0 <= task_id < 2**63:
            raise UnknownTaskError(f"a task id is an integer from 0, found {task_id!r}")
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
        return iter([row[0] for row in self._database.rows("SELECT task_id FROM task ORDER BY task_id")])

    def with_persona(self) -> frozenset[int]:
        """Ids of the tasks that have a persona, in one read."""
        rows = self._database.rows("SELECT task_id FROM task WHERE persona IS NOT NULL")
        return frozenset(row[0] for row in rows)

    def __len__(self) -> int:
        return int(self._database.rows("SELECT count(*) FROM task")[0][0])

    def close(self) -> None:
        """Closes the file."""
        self._kept.clear()
        self._database.close()

    def _why_absent(self, task_id: int) -> str:
        row = self._one("SELECT reason FROM inactive_task", task_id)
        if row is None:
            return (
                f"task {task_id} is not in this release; `release.tasks`, or GET /v1/tasks of a server, "
                f"lists its {self._span()}"
            )
        return f"task {task_id} is not active in this release: {row[0]}"

    def _span(self) -> str:
        count, first, last = self._database.rows("SELECT count(*), min(task_id), max(task_id) FROM task")[0]
        return f"{count} tasks, {first} to {last}" if count else "tasks: none"

    def _one(self, select: str, task_id: int) -> tuple[Any, ...] | None:
        rows = self._database.rows(f"{select} WHERE task_id = ?", (task_id,))
        return rows[0] if rows else None


class Release:
    """A verified release. Threads may share one. Close it, or use it in a `with` block."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        """Opens the files of a folder that `load_release` has verified."""
        self._manifest = manifest
        self.path = root
        self.id = manifest.id
        self._private: PrivateRelease | None = None
        self._private_lock = fork_safe_lock()
        self._splits: dict[str, tuple[int, ...]] | None = None
        with ExitStack() as opened:
            self.tasks = TaskTable(root / layout.TASKS)
            opened.callback(self.tasks.close)
            self._catalog = CatalogStore(root / layout.CATALOG)
            opened.callback(self._catalog.close)
            self._search = self._open_search(root)
            # All three are open: they stay so until `close`.
            opened.pop_all()

    def _open_search(self, root: Path) -> SearchService:
        fts5 = Fts5Engine.open(root / layout.CATALOG)
        try:
            return SearchService(fts5, root / layout.SEARCH_ARRAYS)
        except SearchIndexError:
            fts5.close()
            raise

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest document, as a fresh dict."""
        return self._manifest.payload

    @property
    def currency(self) -> str:
        """ISO code of the currency of all prices."""
        return str(self._manifest.payload.get("currency", EARLIER_CURRENCY))

    @property
    def splits(self) -> dict[str, tuple[int, ...]]:
        """Split name (`source/...`, `project/...`) to ascending task ids; read when first asked for."""
        if self._splits is None:
            # Tens of thousands of ids: a process that only searches does without. Reading twice is harmless.
            self._splits = read_splits(_json(self.path / layout.SPLITS))
        return dict(self._splits)

    @property
    def metrics(self) -> dict[str, Any]:
        """`metrics.json`: the search baseline measured when the release was built."""
        result: dict[str, Any] = _json(self.path / layout.METRICS)
        return result

    def product(self, asin: str) -> Product:
        """The product with this asin.

        Raises:
            UsageError: no such product (code `unknown_product`).
        """
        return self._catalog.product(asin)

    def search(
        self, query: str, top_k: int = TOP_K, *, where: Where | None = None, engine: str | None = None
    ) -> SearchResult:
        """Ranks the catalogue for `query` by the FTS5 contract.

        Args:
            query: Any text; it is never interpreted as query syntax.
            top_k: Number of hits at most, at least 1.
            where: Products to rank: a set from `product_set`, or asins or catalogue ids. None ranks all.
            engine: None takes the fastest one of this machine, "fast" the fastest over the arrays, "numpy"
                the one without the compiled kernel, "fts5" the normative index. All give the same hits; the
                result names the one that ran.

        Raises:
            UsageError: `top_k` below 1; an unknown engine, or one that cannot run here (code
                `engine_unavailable`); an unknown product in `where` (code `unknown_product`).
        """
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise UsageError(f"top_k: expected a whole number of at least 1, found {top_k!r}")
        if where is not None and not isinstance(where, ProductSet):
            where = self.product_set(where)
        return self._search.search(query, top_k, engine=engine, where=where)

    def explain(self, query: str, asin: str) -> Explanation:
        """Why a product has its score for `query`, by token and field.

        Raises:
            UsageError: no such product (code `unknown_product`).
        """
        fts5 = self._search.fts5
        return explain(
            asin,
            fts5.document(self._catalog.known_number(asin)),
            tokenize(query),
            products=len(self._catalog),
            average=fts5.average_length(),
            matching=fts5.matching,
        )

    def product_set(self, members: Iterable[str | int]) -> ProductSet:
        """A set of products for `search(where=...)`, made once and used often.

        Args:
            members: Asins, or catalogue ids (rank of the asin, from 1).

        Raises:
            UsageError: no such product (code `unknown_product`).
        """
        return product_set(members, len(self._catalog), self._catalog.number)

    def search_engines(self) -> list[EngineChoice]:
        """What "", "fast", "numpy" and "fts5" run on this machine, or why they cannot."""
        return self._search.choices()

    def search_cache(self) -> CacheStats:
        """Counters of the result cache, which is bounded and does not hold filtered searches."""
        return self._search.cache_stats()

    def private(self) -> PrivateRelease:
        """Goals and witnesses of this release, for reward, episode and pipeline code.

        Raises:
            ReleaseError: this is a public copy.
        """
        if self._manifest.public_copy:
            raise ReleaseError(
                f"{self.path}: a public copy holds no goals; open the full release to play episodes.",
                code="public_copy",
            )
        with self._private_lock:
            if self._private is None:
                root = self.path
                self._private = PrivateRelease(root / layout.GOALS, self._catalog, root / layout.WITNESSES)
            return self._private

    def close(self) -> None:
        """Closes every file; further calls fail."""
        self.tasks.close()
        self._catalog.close()
        self._search.close()
        if self._private is not None:
            self._private.close()

    def __enter__(self) -> "Release":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReleaseError(f"{path}: expected JSON, found {error}", code="content_mismatch") from error


def load_release(path: str | Path | None = None, *, verify: str = "receipt") -> Release:
    """Opens a release after verification.

    Args:
        path: Release folder; None opens the sample release that ships with the package.
        verify: "receipt" hashes every byte at the first open on this machine and later trusts unchanged
            files; "full" hashes every byte now and recomputes the release id from the rows.

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
        before = fingerprint(root, manifest)
        verify_files(root, manifest)
        write_receipt(root, before)
    if verify == "full":
        verify_content(root, manifest)
    return Release(root, manifest)


def open_staged(root: Path) -> Release:
    """Opens parts of a release that is being built: no manifest, so nothing is verified and there is no id.

    For the stages that play a release before it is one (contract 6); nothing else may open such a folder.

    Args:
        root: Folder with catalogue, search arrays, tasks, goals and splits.
    """
    return Release(root, Manifest("staged", "", False, {}, {}, "", "{}"))
