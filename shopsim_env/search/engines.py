"""Which engine answers a search, and when FTS5 answers instead of it.

Every engine gives the same hits; the name of the one that answered stands in the result. Belongs here:
choice, fallback, cache. Does not belong here: ranking (`rankers`, `fts5`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shopsim_env.errors import SearchIndexError, UsageError
from shopsim_env.search.arrays import ArrayFile, is_compound
from shopsim_env.search.cache import CacheStats, ResultCache
from shopsim_env.search.explain import explain
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.rankers import KernelRanker, NumpyRanker, Ranker
from shopsim_env.search.result import EMPTY_QUERY, OK, SearchResult
from shopsim_env.search.where import ProductSet, everything_of
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

ENGINES: Final = ("fast", "numpy", "fts5")
MAX_TERMS: Final = 4_096
MAX_APART: Final = 500


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """A name that `Release.search` accepts: what runs for it, or why nothing does."""

    name: str
    runs: str
    problem: str


class FastEngine:
    """A ranker over the arrays, with FTS5 for what the arrays do not hold.

    That is a compound word that no product spells but that matches between neighbouring words: FTS5 names the
    products, which are scored one by one and merged with the ranking of all others. Where they are more than
    500, and for queries of more than 4,096 tokens, FTS5 answers alone. The result names what happened.
    """

    def __init__(self, ranker: Ranker, fts5: Fts5Engine, arrays: ArrayFile) -> None:
        self.name = ranker.name
        self._ranker = ranker
        self._fts5 = fts5
        self._arrays = arrays

    def search(self, query: str, top_k: int = TOP_K, where: ProductSet | None = None) -> SearchResult:
        """See `Fts5Engine.search`; same hits, bit for bit."""
        tokens = tokenize(query)
        if not tokens:
            return SearchResult(EMPTY_QUERY, engine=self.name)
        if top_k <= 0:
            return SearchResult(OK, engine=self.name)
        if len(tokens) > MAX_TERMS:
            return self._fall_back(query, top_k, where, f"more than {MAX_TERMS} tokens")
        unseen: list[str] = []
        asins, scores = self._ranker.search(tokens, top_k, where.mask if where is not None else None, unseen)
        apart = self._fts5.rows(unseen, MAX_APART + 1) if unseen else ()
        if not apart:
            return SearchResult(OK, asins, scores, self.name)
        if len(apart) > MAX_APART:
            return self._fall_back(query, top_k, where, f"a phrase of more than {MAX_APART} products")
        return self._merge(tokens, top_k, where, apart)

    def _merge(
        self, tokens: list[str], top_k: int, where: ProductSet | None, apart: Sequence[int]
    ) -> SearchResult:
        """The products `apart` have a term that the arrays lack; it adds nothing to any other product."""
        everything = everything_of(self._arrays.counts["products"]) if where is None else where
        rest = everything.without(number - 1 for number in apart)
        asins, scores = self._ranker.search(tokens, top_k, rest.mask, [])
        ranking = list(zip(scores, asins, strict=True))
        rows = {token: self._products_with(token) for token in tokens}
        ranking += [self._score(tokens, number, rows) for number in apart if everything.holds(number - 1)]
        ranking.sort(key=lambda item: (-item[0], item[1]))
        best = ranking[:top_k]
        return SearchResult(
            OK, [asin for _, asin in best], [score for score, _ in best], f"{self.name} (phrase from fts5)"
        )

    def _score(self, tokens: list[str], number: int, rows: Mapping[str, int]) -> tuple[float, str]:
        counts = self._arrays.counts
        asin = self._arrays.asin(number - 1)
        found = explain(
            asin,
            self._fts5.document(number),
            tokens,
            products=counts["products"],
            average=counts["tokens"] / counts["products"],
            matching=rows.__getitem__,
        )
        return found.score, asin

    def _products_with(self, token: str) -> int:
        term = self._arrays.term(token)
        if term >= 0:
            return self._arrays.products_with(term)
        return self._fts5.matching(token) if is_compound(token) else 0

    def _fall_back(self, query: str, top_k: int, where: ProductSet | None, why: str) -> SearchResult:
        result = self._fts5.search(query, top_k, where)
        return SearchResult(result.status, result.asins, result.scores, f"fts5 ({why})")

    def close(self) -> None:
        """Releases the ranker; the arrays and the FTS5 engine belong to the service."""
        self._ranker.close()


class SearchService:
    """Engines of one release, opened when first asked for, and the cache of their results.

    Args:
        fts5: The normative engine; closed with the service.
        arrays: The array file of the release.
        cache_hits: Bound of the result cache, in hits; 0 switches it off.

    Raises:
        SearchIndexError: The array file is not one, or belongs to another catalogue.
    """

    def __init__(self, fts5: Fts5Engine, arrays: Path, *, cache_hits: int | None = None) -> None:
        self.fts5 = fts5
        self._path = arrays
        self._arrays = _open_arrays(arrays, fts5.manifest["product_count"])
        self.unsupported = self._arrays.unsupported
        self._fast: dict[type, FastEngine] = {}
        self._problems: dict[type, str] = {}
        self._cache = ResultCache() if cache_hits is None else ResultCache(cache_hits)

    def search(
        self, query: str, top_k: int = TOP_K, *, engine: str | None = None, where: ProductSet | None = None
    ) -> SearchResult:
        """Searches with an engine of `ENGINES`, or the best one that this machine has.

        Raises:
            UsageError: An unknown engine, or one that this machine or catalogue cannot run (code
                `engine_unavailable`).
        """
        chosen = self._engine(engine)
        if where is not None:
            return chosen.search(query, top_k, where)
        key = (query, top_k, chosen.name)
        result = self._cache.get(key)
        if result is None:
            result = chosen.search(query, top_k)
            self._cache.put(key, result)
        return result

    def choices(self) -> list[EngineChoice]:
        """What each engine name, and no name, runs here; opens them."""
        return [self._choice(name) for name in (None, *ENGINES)]

    def _choice(self, name: str | None) -> EngineChoice:
        try:
            return EngineChoice(name or "", self._engine(name).name, "")
        except UsageError as error:
            return EngineChoice(name or "", "", str(error))

    def cache_stats(self) -> CacheStats:
        """Counters of the result cache."""
        return self._cache.stats()

    def close(self) -> None:
        """Closes every engine."""
        for engine in self._fast.values():
            engine.close()
        self._fast.clear()
        self._arrays.close()
        self.fts5.close()

    def _engine(self, name: str | None) -> FastEngine | Fts5Engine:
        if name is not None and name not in ENGINES:
            raise UsageError(f"engine: expected None or one of {', '.join(ENGINES)}, found {name!r}")
        if name == "fts5":
            return self.fts5
        kinds: tuple[type, ...] = (NumpyRanker,) if name == "numpy" else (KernelRanker, NumpyRanker)
        for kind in kinds:
            engine = self._open(kind)
            if engine is not None:
                return engine
        if name is None:
            return self.fts5
        reasons = "; ".join(f"{kind.name}: {self._problems[kind]}" for kind in kinds)  # type: ignore[attr-defined]
        raise UsageError(f"engine {name!r} cannot run here: {reasons}", code="engine_unavailable")

    def _open(self, kind: type) -> FastEngine | None:
        if kind not in self._fast and kind not in self._problems:
            if self.unsupported:
                self._problems[kind] = self.unsupported
                return None
            try:
                self._fast[kind] = FastEngine(kind(self._path), self.fts5, self._arrays)
            except ImportError as error:
                self._problems[kind] = str(error)
        return self._fast.get(kind)


def _open_arrays(path: Path, products: int) -> ArrayFile:
    opened = ArrayFile(path)
    found = opened.counts["products"]
    if not opened.unsupported and found != products:
        opened.close()
        raise SearchIndexError(
            f"{path}: expected the arrays of {products} products, found {found}; "
            "rebuild the release with `shopsim build`"
        )
    return opened
