"""The contract of the search index: columns, weights, tables and the manifest stored beside them.

A change here is a new `SEARCH_VERSION`; an index of another version is refused, never read differently.
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.errors import SearchIndexError
from shopsim_env.versions import OPTION_DOCUMENT_VERSION, SEARCH_VERSION

INDEX_SCHEMA_VERSION: Final = 1
QUERY_NORMALIZER: Final = "nfkc-casefold-basic-punctuation-v1"
TOKENIZER: Final = "han-bigram-latin-number-v1"
TIE_BREAKER: Final = "asin-ascending"

FIELD_WEIGHTS: Final[Mapping[str, float]] = {
    "title": 3.0,
    "brand": 2.0,
    "category": 2.0,
    "model": 2.5,
    "attributes": 1.5,
    "options": 1.2,
    "bullets": 0.8,
}
FTS_COLUMNS: Final = ("asin", *FIELD_WEIGHTS)
# FTS5 maps weights to columns by position and counts UNINDEXED ones, so asin needs a place of its own.
BM25_COLUMN_WEIGHTS: Final = (0.0, *FIELD_WEIGHTS.values())
# What `shopsimulator-multifield-bm25-v2` ranked with: seven weights for eight columns, so that each stood one
# column too far left and the last column had FTS5's default of 1. For comparisons only.
V2_COLUMN_WEIGHTS: Final = (*FIELD_WEIGHTS.values(), 1.0)

FTS_DDL: Final = (
    f"CREATE VIRTUAL TABLE products USING fts5(asin UNINDEXED, {', '.join(FIELD_WEIGHTS)}, "
    "tokenize = 'unicode61 remove_diacritics 2')"
)
MANIFEST_DDL: Final = "CREATE TABLE manifest (payload TEXT NOT NULL)"

_REBUILD = "rebuild the index with this version: `shopsim build`"


def index_manifest(product_count: int, product_data_sha256: str) -> dict[str, Any]:
    """The manifest of an index that this code builds.

    Args:
        product_count: Number of indexed products.
        product_data_sha256: Digest of the public rows (`canonical.sha256_lines`) in asin order.
    """
    return {
        "search_version": SEARCH_VERSION,
        "index_schema_version": INDEX_SCHEMA_VERSION,
        "product_count": product_count,
        "product_data_sha256": product_data_sha256,
        "field_weights": dict(FIELD_WEIGHTS),
        "fts_columns": list(FTS_COLUMNS),
        "bm25_column_weights": list(BM25_COLUMN_WEIGHTS),
        "option_document_version": OPTION_DOCUMENT_VERSION,
        "query_normalizer": QUERY_NORMALIZER,
        "tokenizer": TOKENIZER,
        "tie_breaker": TIE_BREAKER,
    }


def check_index_manifest(found: Any, expected_product_sha: str | None = None) -> dict[str, Any]:
    """Refuses every index that this code would read wrongly.

    Args:
        found: Decoded manifest of the index.
        expected_product_sha: Digest of the products that the index must belong to; None skips this test.

    Returns:
        The manifest.

    Raises:
        SearchIndexError: A key is missing, unknown or has another value; names key, expected and found.
    """
    if not isinstance(found, dict):
        raise SearchIndexError(f"index manifest: expected an object, found {found!r}; {_REBUILD}")
    count, digest = found.get("product_count"), found.get("product_data_sha256")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise _mismatch("product_count", "a whole number of at least 0", count)
    if not isinstance(digest, str):
        raise _mismatch("product_data_sha256", "a hex digest", digest)
    expected = index_manifest(count, expected_product_sha or digest)
    for key in sorted(expected.keys() | found.keys()):
        if key not in expected:
            raise _mismatch(key, "no such key", found[key])
        if not _same(expected[key], found.get(key)):
            raise _mismatch(key, expected[key], found.get(key))
    return found


def _same(expected: Any, found: Any) -> bool:
    # The type counts too: `true` equals 1 in Python.
    return type(expected) is type(found) and expected == found


def _mismatch(key: str, expected: Any, found: Any) -> SearchIndexError:
    return SearchIndexError(f"index manifest, {key}: expected {expected!r}, found {found!r}; {_REBUILD}")
