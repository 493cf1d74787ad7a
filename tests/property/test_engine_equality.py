"""Every engine ranks as FTS5 does, to the last bit, on generated catalogues and queries.

The words are few on purpose: duplicate titles, tokens in more than half of the products, empty fields,
compound words that are spelled, hidden between neighbours, or absent.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.stages.search_arrays import build_search_arrays
from pipelines.stages.search_index import build_search_index
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.rankers import KERNEL_PROBLEM
from shopsim_env.search.where import product_set

ENGINES = ("numpy",) if KERNEL_PROBLEM else ("fast", "numpy")
WORDS = [
    *("保温杯", "水壶", "杯", "红蓝", "大号", "a", "b", "c", "3", "0", "ab1"),
    *("a-b", "b-c", "a.b.c", "a-a", "a-a-a", "3.0", "0_3", "x/y", "c+c"),
]
ABSENT = ["龘齉", "zz", "c-3", "b.a", "0-0-0", "y.x", "a_b", "3/0"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
RECORD = st.fixed_dictionaries(
    {
        "title": TEXT,
        "shop_name": TEXT,
        "category": st.sampled_from(["", "家居›杯壶", "a-b"]),
        "attribute": st.lists(TEXT, max_size=2),
        "customization_options": st.dictionaries(st.sampled_from(["颜色", "a"]), st.lists(TEXT, max_size=3)),
        "sub_title": TEXT,
    }
)
QUERY = st.lists(st.sampled_from([*WORDS, *ABSENT]), min_size=1, max_size=8).map(" ".join)


def with_asins(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "asin": f"{7 * number % 10_007}"} for number, row in enumerate(rows)]


@contextmanager
def opened(rows: list[dict[str, Any]]) -> Iterator[SearchService]:
    with TemporaryDirectory() as name:
        catalog, arrays = Path(name) / "c.sqlite", Path(name) / "a.bin"
        build_search_index(with_asins(rows), catalog)
        build_search_arrays(catalog, arrays)
        service = SearchService(Fts5Engine.open(catalog), arrays, cache_hits=0)
        try:
            yield service
        finally:
            service.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(RECORD, max_size=12), st.lists(QUERY, min_size=1, max_size=6), st.sampled_from([1, 3, 150]))
def test_small_catalogues(rows: list[dict[str, Any]], queries: list[str], top_k: int) -> None:
    with opened(rows) as service:
        for query in queries:
            expected = service.search(query, top_k, engine="fts5")
            for engine in ENGINES:
                assert service.search(query, top_k, engine=engine) == expected, (engine, query)


@settings(max_examples=8, deadline=None)
@given(st.lists(RECORD, min_size=2, max_size=9), st.lists(QUERY, min_size=3, max_size=6), st.data())
def test_many_equal_products_and_filters(
    rows: list[dict[str, Any]], queries: list[str], data: st.DataObject
) -> None:
    """A few rows repeated to 700 products: long lists, bitmaps, ties at the end of the page."""
    rows = [rows[number % len(rows)] for number in range(700)]
    members = data.draw(st.sets(st.integers(1, 700)))
    where = product_set(members, 700, lambda _: None)
    with opened(rows) as service:
        for query in queries:
            for chosen in (None, where):
                expected = service.search(query, 150, engine="fts5", where=chosen)
                for engine in ENGINES:
                    found = service.search(query, 150, engine=engine, where=chosen)
                    assert found == expected, (engine, query, chosen is None)


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchService]:
    """3,000 products with more than 256 sums of column weights."""
    parts = [" ".join(WORDS[i % 20] for i in range(n * 7 % 23, n * 7 % 23 + n % 9)) for n in range(60)]
    rows = with_asins(
        [
            {
                "title": parts[n % 60],
                "shop_name": parts[n * 7 % 59],
                "category": "家居›杯壶",
                "attribute": [parts[n * 11 % 53]],
                "customization_options": {"颜色": [f"{parts[n * 13 % 47]} a-{n % 90} a.{n % 41} 3_{n % 17}"]},
                "sub_title": parts[n * 3 % 31] if n % 3 else "",
            }
            for n in range(3_000)
        ]
    )
    folder = tmp_path_factory.mktemp("varied")
    build_search_index(rows, folder / "c.sqlite")
    build_search_arrays(folder / "c.sqlite", folder / "a.bin")
    service = SearchService(Fts5Engine.open(folder / "c.sqlite"), folder / "a.bin", cache_hits=0)
    yield service
    service.close()


@settings(max_examples=60, deadline=None)
@given(
    query=st.one_of(QUERY, st.text(max_size=20)),
    top_k=st.integers(0, 500),
    every=st.sampled_from([1, 2, 50, 1_000]),
)
def test_a_larger_catalogue_at_any_depth_and_filter(
    varied: SearchService, query: str, top_k: int, every: int
) -> None:
    where = product_set(range(1, 3_001, every), 3_000, lambda _: None) if every > 1 else None
    expected = varied.search(query, top_k, engine="fts5", where=where)
    for engine in ENGINES:
        assert varied.search(query, top_k, engine=engine, where=where) == expected, engine
