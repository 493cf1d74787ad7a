"""Times engines against the published FTS5 query, side by side.

Every variant answers a query before the next query comes, so that drift of the machine hits all alike. CPU
time of the thread counts, the smallest of a few repetitions; ratios are taken query by query.
"""

import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import cpu_count
from typing import Any, Final

from shopsim_env.search.result import match_text
from shopsim_env.search.schema import BM25_COLUMN_WEIGHTS

REFERENCE_SQL: Final = f"""
SELECT asin, bm25(products, {", ".join(map(str, BM25_COLUMN_WEIGHTS))}) AS score
FROM products WHERE products MATCH ? ORDER BY score ASC, asin ASC LIMIT ?
"""  # noqa: S608
Variant = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one variant over all queries, and how many times the reference's time it saves."""

    name: str
    queries: int
    p50_ms: float
    p95_ms: float
    ratio_p50: float
    ratio_p5: float


def reference_search(
    connection: sqlite3.Connection, tokens: Sequence[str], top_k: int
) -> list[tuple[str, float]]:
    """The published query: content table, `bm25()`, `ORDER BY score, asin`."""
    return connection.execute(REFERENCE_SQL, (match_text(tokens), top_k)).fetchall()


def time_variants(
    variants: Mapping[str, Variant], queries: Sequence[str], *, reference: str, repeats: int = 3
) -> list[Timing]:
    """Times every variant on every query.

    Args:
        variants: Name to a function of one query.
        queries: Texts.
        reference: Name of the variant that the others are compared with; it runs once per query.
        repeats: Repetitions of the others; the smallest time counts.
    """
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for query in queries:
        for name, variant in variants.items():
            seconds[name].append(_best(variant, query, 1 if name == reference else repeats))
    return [
        Timing(
            name,
            len(queries),
            _quantile(times, 0.5) * 1e3,
            _quantile(times, 0.95) * 1e3,
            *_ratios(seconds[reference], times),
        )
        for name, times in seconds.items()
    ]


def machine_facts() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cpus": cpu_count(),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "sqlite": sqlite3.sqlite_version,
    }


def _best(variant: Variant, query: str, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        variant(query)
        best = min(best, time.thread_time() - start)
    return best


def _ratios(reference: Sequence[float], times: Sequence[float]) -> tuple[float, float]:
    # A clock too coarse for the fast side must not divide by zero.
    ratios = [slow / max(fast, 1e-9) for slow, fast in zip(reference, times, strict=True)]
    return _quantile(ratios, 0.5), _quantile(ratios, 0.05)


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
