"""The index contract: frozen columns and weights, and every mismatch refused by name."""

from typing import Any

import pytest

from shopsim_env.errors import SearchIndexError
from shopsim_env.search.schema import BM25_COLUMN_WEIGHTS, FTS_COLUMNS, check_index_manifest, index_manifest

SHA = "ab" * 32


def test_columns_and_weights_are_the_frozen_ones() -> None:
    assert FTS_COLUMNS == ("asin", "title", "brand", "category", "model", "attributes", "options", "bullets")
    assert BM25_COLUMN_WEIGHTS == (0.0, 3.0, 2.0, 2.0, 2.5, 1.5, 1.2, 0.8)


def test_manifest_holds_the_frozen_keys_and_no_tool_versions() -> None:
    assert index_manifest(2, SHA) == {
        "search_version": "shopsimulator-multifield-bm25-v3",
        "index_schema_version": 1,
        "product_count": 2,
        "product_data_sha256": SHA,
        "field_weights": {
            "title": 3.0,
            "brand": 2.0,
            "category": 2.0,
            "model": 2.5,
            "attributes": 1.5,
            "options": 1.2,
            "bullets": 0.8,
        },
        "fts_columns": ["asin", "title", "brand", "category", "model", "attributes", "options", "bullets"],
        "bm25_column_weights": [0.0, 3.0, 2.0, 2.0, 2.5, 1.5, 1.2, 0.8],
        "option_document_version": "public-axis-value-v1",
        "query_normalizer": "nfkc-casefold-basic-punctuation-v1",
        "tokenizer": "han-bigram-latin-number-v1",
        "tie_breaker": "asin-ascending",
    }


def test_own_manifest_is_accepted() -> None:
    assert check_index_manifest(index_manifest(2, SHA)) == index_manifest(2, SHA)
    assert check_index_manifest(index_manifest(0, SHA), SHA)["product_count"] == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search_version", "shopsimulator-multifield-bm25-v2"),
        ("index_schema_version", 2),
        ("index_schema_version", True),
        ("fts_columns", ["title", "asin", "brand", "category", "model", "attributes", "options", "bullets"]),
        ("option_document_version", "older"),
        ("field_weights", {"title": 3.0}),
        ("bm25_column_weights", [3.0, 2.0, 2.0, 2.5, 1.5, 1.2, 0.8]),
        ("bm25_column_weights", [1.0, 3.0, 2.0, 2.0, 2.5, 1.5, 1.2, 0.8]),
        ("query_normalizer", "none"),
        ("tokenizer", "jieba"),
        ("tie_breaker", "rowid"),
        ("product_count", -1),
        ("product_count", "2"),
        ("product_count", False),
        ("product_data_sha256", None),
        ("sqlite_version", "3.40.1"),
    ],
)
def test_every_mismatch_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SearchIndexError, match=rf"{key}: expected .*, found .*shopsim build") as caught:
        check_index_manifest({**index_manifest(2, SHA), key: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("key", sorted(index_manifest(2, SHA)))
def test_a_missing_key_is_refused(key: str) -> None:
    manifest = index_manifest(2, SHA)
    del manifest[key]
    with pytest.raises(SearchIndexError, match=f"{key}: expected .*, found None"):
        check_index_manifest(manifest)


def test_index_of_other_products_is_refused() -> None:
    with pytest.raises(SearchIndexError, match=f"product_data_sha256: expected '{'cd' * 32}', found '{SHA}'"):
        check_index_manifest(index_manifest(2, SHA), "cd" * 32)


def test_manifest_must_be_an_object() -> None:
    with pytest.raises(SearchIndexError, match="expected an object"):
        check_index_manifest([])
