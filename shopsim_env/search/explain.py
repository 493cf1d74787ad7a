"""Why a product has its score: the contribution of each token, and of each field to it.

Repeats `bm25()` for one product from its fields, in FTS5's order of operations, so that the parts of a token
add up to the score bit for bit. The fields of a token share its contribution by their column weights.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shopsim_env.search.arrays import K1, PIECE_MARK, B, vocabulary_key
from shopsim_env.search.rankers import term_weight
from shopsim_env.search.schema import FIELD_WEIGHTS


@dataclass(frozen=True, slots=True)
class TokenPart:
    """One token of the query in one product; `fields` maps the fields that hold it to their shares."""

    token: str
    products: int
    weight: float
    score: float
    fields: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of a score in query order; tokens that the product lacks have score 0."""

    asin: str
    score: float
    parts: tuple[TokenPart, ...]

    def by_field(self) -> dict[str, float]:
        """Sum of the shares of each field that contributes, in field order."""
        totals = dict.fromkeys(FIELD_WEIGHTS, 0.0)
        for part in self.parts:
            for name, share in part.fields.items():
                totals[name] += share
        return {name: total for name, total in totals.items() if total}


def explain(
    asin: str,
    fields: Mapping[str, str],
    tokens: list[str],
    *,
    products: int,
    average: float,
    matching: Callable[[str], int],
) -> Explanation:
    """Explains the score of one product.

    Args:
        asin: The product.
        fields: Its seven fields, tokens joined by blanks (`document_fields`).
        tokens: Tokens of the query, in order.
        products: Number of products in the index.
        average: Mean length of a product in tokens, as FTS5 counts them.
        matching: Number of products that match a token.
    """
    pieces = {name: _pieces(text) for name, text in fields.items()}
    length = sum(map(len, pieces.values()))
    norm = K1 * (1 - B + B * length / average)
    parts, total = [], 0.0
    for token in tokens:
        hits = {name: _occurrences(_pieces(token), pieces[name]) for name in FIELD_WEIGHTS}
        frequency = 0.0
        for name, count in hits.items():
            for _ in range(count):
                frequency += FIELD_WEIGHTS[name]
        rows = matching(token)
        weight = term_weight(products, rows)
        score = weight * ((frequency * (K1 + 1.0)) / (frequency + norm))
        total += score
        shares = {
            name: score * count * FIELD_WEIGHTS[name] / frequency for name, count in hits.items() if count
        }
        parts.append(TokenPart(token, rows, weight, score, shares))
    return Explanation(asin, total, tuple(parts))


def _pieces(text: str) -> list[str]:
    return vocabulary_key(text).replace(PIECE_MARK, " ").split()


def _occurrences(phrase: list[str], words: list[str]) -> int:
    size = len(phrase)
    return sum(words[at : at + size] == phrase for at in range(len(words) - size + 1))
