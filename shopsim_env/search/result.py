"""What a search returns, and how a query becomes a MATCH text.

Shared by every engine. Nothing of the user's text reaches MATCH unquoted.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

OK: Final = "ok"
EMPTY_QUERY: Final = "empty_query"


class SearchHit(NamedTuple):
    """One hit; `rank` counts from 1, `score` is the negated `bm25()` (larger is better)."""

    asin: str
    rank: int
    score: float


class SearchResult:
    """Hits by falling score, ties by asin; immutable.

    `status` is "ok", or "empty_query" when no token was left. `engine` names what ranked; every engine gives
    the same hits, so it does not count when results are compared. `hits` are made when first asked for:
    a page shows 20 of 150.
    """

    __slots__ = ("_hits", "asins", "engine", "scores", "status")

    status: str
    engine: str
    asins: tuple[str, ...]
    scores: tuple[float, ...]
    _hits: tuple[SearchHit, ...] | None

    def __init__(
        self, status: str, asins: Sequence[str] = (), scores: Sequence[float] = (), engine: str = ""
    ) -> None:
        for name, value in zip(
            self.__slots__, (None, tuple(asins), engine, tuple(scores), status), strict=True
        ):
            object.__setattr__(self, name, value)

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """The hits, best first."""
        if self._hits is None:
            hits = tuple(map(SearchHit, self.asins, range(1, len(self.asins) + 1), self.scores))
            object.__setattr__(self, "_hits", hits)
            return hits
        return self._hits

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a search result cannot be changed (tried to set {name!r})")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchResult):
            return NotImplemented
        return (self.status, self.asins, self.scores) == (other.status, other.asins, other.scores)

    def __hash__(self) -> int:
        return hash((self.status, self.asins, self.scores))

    def __repr__(self) -> str:
        return f"SearchResult(status={self.status!r}, hits={self.hits!r}, engine={self.engine!r})"


class SearchEngine(Protocol):
    """Anything that ranks the catalogue for a query."""

    def search(self, query: str, top_k: int = ...) -> SearchResult:
        """The best `top_k` products for `query`."""


def match_text(tokens: Sequence[str]) -> str:
    """MATCH text of distinct tokens: each one a quoted string, joined by OR.

    A token with inner punctuation becomes a phrase there, so `abc-12x` also meets `abc 12x`.
    """
    return " OR ".join('"' + token.replace('"', '""') + '"' for token in tokens)
