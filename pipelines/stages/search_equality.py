"""Whether the fast engines rank exactly as FTS5 does, on seeded queries made from the catalogue's own words.

Queries are drawn from public rows, so a report may show them. No tolerance: same asins, order and doubles.
"""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shopsim_env.search.documents import options_text
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult
from shopsim_env.sqlite import open_readonly
from shopsim_env.text.tokens import tokenize

SEED: Final = 20261130
_DEPTHS: Final = (150, 20, 1, 500)
_HOSTILE: Final = (
    '"',
    '" OR "',
    "a AND NOT b",
    "NEAR(杯 壶, 5)",
    "title:杯",
    "{title brand}: 杯*",
    "^杯",
    "杯 -壶",
    "'; DROP TABLE products; --",
    "(((",
    "\x00杯\x00",
    "a.b-c_d/e+f",
    "%_*?",
    "杯" * 300,
)
_UNKNOWN: Final = ("龘齉", "zzqqxxyy", "q9-zz8-q7", "0.0.0.0.1", "龘")


@dataclass(frozen=True, slots=True)
class Equality:
    """What was compared: queries by kind, engines, and the differences found."""

    queries: dict[str, int]
    engines: tuple[str, ...]
    problems: tuple[str, ...]


def compare_engines(
    catalog: Path, arrays: Path, *, seed: int = SEED, per_kind: int | None = None
) -> Equality:
    """Runs every query through FTS5 and every engine that this machine has.

    Args:
        catalog: `catalog.sqlite`.
        arrays: The array file made from it.
        seed: Decides the queries.
        per_kind: Queries of each kind; None takes fewer for larger catalogues, because FTS5 is slow there.
    """
    service = SearchService(Fts5Engine.open(catalog), arrays, cache_hits=0)
    try:
        engines = sorted(
            {choice.runs for choice in service.choices() if choice.name != "fts5"} - {"", "fts5"}
        )
        names = {"kernel": "fast", "numpy": "numpy"}
        products = service.fts5.manifest["product_count"]
        queries = seeded_queries(catalog, seed, per_kind or _per_kind(products))
        problems = [
            problem
            for kind, texts in queries.items()
            for number, text in enumerate(texts)
            for problem in _differences(
                service, [names[engine] for engine in engines], kind, text, _DEPTHS[number % len(_DEPTHS)]
            )
        ]
    finally:
        service.close()
    counts = {kind: len(texts) for kind, texts in queries.items()}
    return Equality(counts, tuple(engines), tuple(problems))


def seeded_queries(catalog: Path, seed: int, per_kind: int) -> dict[str, list[str]]:
    """Queries by kind: simple, full, single token, neighbours, unknown words, hostile text."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    queries: dict[str, list[str]] = {
        kind: [] for kind in ("simple", "full", "single", "neighbours", "unknown")
    }
    for record in _drawn_records(catalog, chance, per_kind):
        title, tokens = str(record.get("title") or ""), tokenize(_all_text(record))
        if not tokens:
            continue
        start = chance.randrange(max(len(title) - 8, 1))
        queries["simple"].append(title[start : start + chance.randint(4, 16)])
        queries["full"].append(_all_text(record)[:120])
        queries["single"].append(chance.choice(tokens))
        queries["neighbours"].append(_neighbours(chance, tokens))
        queries["unknown"].append(
            " ".join([chance.choice(_UNKNOWN), *chance.sample(tokens, min(2, len(tokens)))])
        )
    queries["hostile"] = list(_HOSTILE)
    return queries


def _neighbours(chance: random.Random, tokens: Sequence[str]) -> str:
    """A compound word, often one that no product spells: pieces of the document under another mark."""
    pieces = [token for token in tokens if token.isascii()] or ["a"]
    return chance.choice("-._+/").join(chance.choices(pieces, k=chance.randint(2, 3)))


def _per_kind(products: int) -> int:
    return 60 if products <= 50_000 else 12 if products <= 500_000 else 3


def _drawn_records(catalog: Path, chance: random.Random, count: int) -> Iterator[dict[str, Any]]:
    with closing(open_readonly(catalog)) as connection:
        size = connection.execute("SELECT max(id) FROM product").fetchone()[0] or 0
        for _ in range(count if size else 0):
            row = connection.execute("SELECT body FROM product WHERE id = ?", (chance.randint(1, size),))
            yield json.loads(row.fetchone()[0])


def _all_text(record: dict[str, Any]) -> str:
    attributes = record.get("attribute") or ()
    listed = attributes if isinstance(attributes, list) else [attributes]
    return " ".join([str(record.get("title") or ""), *map(str, listed), options_text(record)])


def _differences(
    service: SearchService, engines: Sequence[str], kind: str, text: str, depth: int
) -> Iterator[str]:
    expected = service.search(text, depth, engine="fts5")
    for engine in engines:
        found = service.search(text, depth, engine=engine)
        if found != expected:
            yield f"{engine}, {kind} query {text[:40]!r}, top {depth}: {_first_difference(expected, found)}"


def _first_difference(expected: SearchResult, found: SearchResult) -> str:
    pairs = zip(expected.hits, found.hits, strict=False)
    for wanted, got in pairs:
        if wanted != got:
            return f"expected {tuple(wanted)}, found {tuple(got)}"
    return f"expected {len(expected.hits)} hits ({expected.status}), found {len(found.hits)} ({found.status})"
