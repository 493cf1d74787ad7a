"""Results, product sets and the result cache."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.search.cache import ResultCache
from shopsim_env.search.result import SearchHit, SearchResult
from shopsim_env.search.where import everything_of, product_set


def test_a_result_makes_its_hits_once() -> None:
    result = SearchResult("ok", ["b", "a"], [2.5, 1.0], "kernel")
    assert result.hits == (SearchHit("b", 1, 2.5), SearchHit("a", 2, 1.0))
    assert result.hits is result.hits
    assert (result.asins, result.scores, result.engine) == (("b", "a"), (2.5, 1.0), "kernel")
    assert "SearchHit(asin='b', rank=1, score=2.5)" in repr(result)


def test_results_compare_by_hits_and_not_by_engine() -> None:
    one, other = SearchResult("ok", ["a"], [1.0], "kernel"), SearchResult("ok", ["a"], [1.0], "fts5")
    assert one == other
    assert hash(one) == hash(other)
    assert one != SearchResult("ok", ["a"], [1.0000000000000002])
    assert SearchResult("ok") != SearchResult("empty_query")
    assert one != ("ok", ("a",))


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        SearchResult("ok").status = "bad"


def test_product_set_from_asins_and_ids() -> None:
    numbers = {"a": 1, "b": 2, "k": 11}
    chosen = product_set(["k", 2, "b", 9], 11, numbers.get)
    # ids 2, 9 and 11 are the bits 1, 8 and 10
    assert chosen.mask == bytes([0b10, 0b101])
    assert len(chosen) == 3
    assert [row for row in range(11) if chosen.holds(row)] == [1, 8, 10]


def test_everything_without_some() -> None:
    assert everything_of(11).mask == bytes([0xFF, 0b111])
    assert everything_of(16).mask == b"\xff\xff"
    assert everything_of(0).mask == b""
    left = everything_of(11).without([0, 10, 10])
    assert (left.mask, left.size) == (bytes([0xFE, 0b011]), 9)


@pytest.mark.parametrize("member", ["zz", 0, 12, -1, True, 1.5, None])
def test_unknown_products_are_refused(member: object) -> None:
    with pytest.raises(UsageError, match="ids from 1 to 11") as caught:
        product_set([member], 11, {"a": 1}.get)  # type: ignore[list-item]
    assert caught.value.code == "unknown_product"


def result(hits: int) -> SearchResult:
    return SearchResult("ok", [str(n) for n in range(hits)], [1.0] * hits)


def test_the_least_recently_used_result_leaves_first() -> None:
    cache = ResultCache(max_hits=10)
    for key in "abc":
        cache.put(key, result(3))
    assert cache.get("a") is not None  # now b is the oldest
    cache.put("d", result(3))
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    stats = cache.stats()
    assert (stats.hits, stats.misses, stats.entries, stats.stored_hits) == (4, 1, 3, 9)


def test_what_is_larger_than_the_cache_is_not_stored() -> None:
    cache = ResultCache(max_hits=2)
    cache.put("a", result(1))
    cache.put("b", result(3))
    cache.put("c", result(0))
    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]
    cache.put("a", result(2))
    assert cache.stats().stored_hits == 2, "an entry is not replaced; one without hits costs one"


def test_a_cache_of_size_zero_stores_nothing() -> None:
    cache = ResultCache(max_hits=0)
    cache.put("a", result(0))
    assert cache.get("a") is None
