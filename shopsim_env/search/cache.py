"""A bounded cache of search results. Rollouts repeat queries: several per task, and every page turn."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from shopsim_env.locks import fork_safe_lock
from shopsim_env.search.result import SearchResult

MAX_HITS = 32_768


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Look-ups answered from the cache and not, and what it holds now."""

    hits: int
    misses: int
    entries: int
    stored_hits: int


class ResultCache:
    """Least recently used results leave first; safe to share between threads.

    Args:
        max_hits: Bound on the stored hits of all results together (a hit takes about 170 bytes); 0 stores
            nothing. An entry without hits counts as one.
    """

    def __init__(self, max_hits: int = MAX_HITS) -> None:
        self._max_hits = max_hits
        self._entries: OrderedDict[Hashable, SearchResult] = OrderedDict()
        self._stored = self._hits = self._misses = 0
        self._lock = fork_safe_lock()

    def get(self, key: Hashable) -> SearchResult | None:
        """The stored result of `key`, which becomes the most recent one; None counts as a miss."""
        with self._lock:
            result = self._entries.get(key)
            if result is None:
                self._misses += 1
            else:
                self._hits += 1
                self._entries.move_to_end(key)
            return result

    def put(self, key: Hashable, result: SearchResult) -> None:
        """Stores a result; what is larger than the whole cache is not stored."""
        cost = _cost(result)
        with self._lock:
            if key in self._entries or cost > self._max_hits:
                return
            self._entries[key] = result
            self._stored += cost
            while self._stored > self._max_hits:
                _, oldest = self._entries.popitem(last=False)
                self._stored -= _cost(oldest)

    def stats(self) -> CacheStats:
        """Counters since the cache was made."""
        with self._lock:
            return CacheStats(self._hits, self._misses, len(self._entries), self._stored)


def _cost(result: SearchResult) -> int:
    return max(len(result.asins), 1)
