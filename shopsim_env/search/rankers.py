"""Two rankers over the array file: the compiled kernel, and numpy where there is no compiler.

Both give FTS5's doubles and order. Belongs here: finding the best rows for known tokens. Does not belong
here: tokens of a query, fallbacks, names of engines (`engines`).
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from shopsim_env.search.arrays import BLOCK, ArrayFile, is_compound

try:
    from shopsim_env.search import _kernel
except ImportError as error:
    _kernel = None  # type: ignore[assignment]
    KERNEL_PROBLEM = f"not built, or not for this Python ({error})"
else:
    KERNEL_PROBLEM = ""

Ranking = tuple[Sequence[str], Sequence[float]]
# Postings that the numpy ranker keeps expanded, at 16 bytes each.
_CACHED_POSTINGS = 2_500_000


class Ranker(Protocol):
    """Ranks rows for tokens of which every phrase is known or reported."""

    name: str

    def search(self, tokens: list[str], top_k: int, mask: bytes | None, unseen: list[str]) -> Ranking:
        """Asins and scores, best first; appends compound tokens without postings to `unseen`."""

    def close(self) -> None:
        """Releases the file."""


class KernelRanker:
    """The compiled kernel; searches run without the interpreter lock.

    Raises:
        ImportError: The kernel was not built.
    """

    name = "kernel"

    def __init__(self, path: Path) -> None:
        if _kernel is None:
            raise ImportError(KERNEL_PROBLEM)
        self.search: Callable[[list[str], int, bytes | None, list[str]], Ranking] = _kernel.Index(
            str(path)
        ).search

    def close(self) -> None:
        """The file is unmapped with the last reference."""
        self.search = _closed


def _closed(*_: object) -> Ranking:
    raise ValueError("the search engine is closed")


class NumpyRanker:
    """The same search as whole-array operations.

    Raises:
        ImportError: numpy is not installed.
    """

    name = "numpy"

    def __init__(self, path: Path) -> None:
        # Not at import: numpy alone would more than double the time to open a release.
        import numpy

        self._np: Any = numpy
        self._file = ArrayFile(path)
        counts = self._file.counts
        self._products, self._blocks = counts["products"], counts["blocks"]
        self._start = self._file.section("start")
        self._docs, self._classes, self._doc_len = map(self._array, ("docs", "classes", "doc_len"))
        self._block_len = self._array("block_len").reshape(-1, self._blocks) if self._blocks > 1 else None
        self._gain = self._array("gain").reshape(counts["classes"], counts["lengths"])
        self._cache: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._cached = 0

    def _array(self, name: str) -> Any:
        view = self._file.section(name)
        return self._np.frombuffer(view, view.format)

    def search(self, tokens: list[str], top_k: int, mask: bytes | None, unseen: list[str]) -> Ranking:
        """See `Ranker`."""
        lists = []
        for token in tokens:
            term = self._file.term(token)
            if term >= 0:
                lists.append(self._list(term))
            elif is_compound(token):
                unseen.append(token)
        top_k = min(top_k, self._products)
        if not lists or top_k <= 0:
            return (), ()
        rows = self._np.concatenate([rows for rows, _ in lists])
        # bincount adds in query order, one by one, as FTS5 does.
        scores = self._np.bincount(rows, self._np.concatenate([part for _, part in lists]), self._products)
        if mask is not None:
            bits = self._np.unpackbits(self._np.frombuffer(mask, "u1"), bitorder="little")
            scores[bits[: self._products] == 0] = 0.0
        best = self._best(scores, top_k, few=len(rows) < self._products)
        return [self._file.asin(row) for row in best.tolist()], scores[best].tolist()

    def _best(self, scores: Any, top_k: int, *, few: bool) -> Any:
        """Rows of the best scores; `few`: most scores are 0, and selecting among equal zeros is slow."""
        np = self._np
        rows = np.flatnonzero(scores) if few else None
        values = scores if rows is None else scores[rows]
        top_k = min(top_k, len(values))
        floor = np.partition(values, len(values) - top_k)[len(values) - top_k] if top_k else 0.0
        places = np.flatnonzero(values >= floor) if floor > 0 else np.flatnonzero(values)
        # Stable: equal scores stay in row order, which is asin order.
        places = places[np.argsort(-values[places], kind="stable")[:top_k]]
        return places if rows is None else rows[places]

    def _list(self, term: int) -> tuple[Any, Any]:
        cached = self._cache.get(term)
        if cached is None:
            cached = self._expand(term)
            if len(cached[0]) * 4 <= _CACHED_POSTINGS:
                self._remember(term, cached)
        return cached

    def _remember(self, term: int, expanded: tuple[Any, Any]) -> None:
        self._cache[term] = expanded
        self._cached += len(expanded[0])
        while self._cached > _CACHED_POSTINGS:
            _, oldest = self._cache.popitem(last=False)
            self._cached -= len(oldest[0])

    def _expand(self, term: int) -> tuple[Any, Any]:
        """Rows of a term and its contribution to each."""
        start, end = self._start[term], self._start[term + 1]
        rows = self._docs[start:end].astype(self._np.int64)
        if self._block_len is not None:
            blocks = self._np.arange(self._blocks)
            rows += self._np.repeat(blocks, self._block_len[term]) * BLOCK
        weight = term_weight(self._products, end - start)
        return rows, weight * self._gain[self._classes[start:end], self._doc_len[rows]]

    def close(self) -> None:
        """Unmaps the file."""
        self._cache.clear()
        del self._docs, self._classes, self._doc_len, self._block_len, self._gain
        self._start.release()
        self._file.close()


def term_weight(products: int, rows: int) -> float:
    """FTS5's weight of a term that `rows` of `products` products hold; never 0 or less."""
    weight = math.log((products - rows + 0.5) / (rows + 0.5))
    return weight if weight > 0.0 else 1e-6
