"""What a search returns, and how a query becomes a MATCH text.

Shared by every engine. Nothing of the user's text reaches MATCH unquoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

OK: Final = "ok"
EMPTY_QUERY: Final = "empty_query"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit; `rank` counts from 1, `score` is the negated `bm25()` (larger is better)."""

    asin: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits by falling score, ties by asin. `status` is "ok", or "empty_query" when no token was left."""

    status: str
    hits: tuple[SearchHit, ...]


class SearchEngine(Protocol):
    """Anything that ranks the catalogue for a query."""

    def search(self, query: str, top_k: int = ...) -> SearchResult:
        """The best `top_k` products for `query`."""


def match_text(tokens: Sequence[str]) -> str:
    """MATCH text of distinct tokens: each one a quoted string, joined by OR.

    A token with inner punctuation becomes a phrase there, so `abc-12x` also meets `abc 12x`.
    """
    return " OR ".join('"' + token.replace('"', '""') + '"' for token in tokens)
