"""Choice of the engine, fallbacks that are named, the cache, filters, threads, refused files."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.stages.search_arrays import build_search_arrays
from pipelines.stages.search_index import build_search_index
from shopsim_env.errors import SearchIndexError, UsageError
from shopsim_env.search import engines, rankers
from shopsim_env.search.engines import MAX_TERMS, SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.rankers import KERNEL_PROBLEM, KernelRanker, NumpyRanker
from shopsim_env.search.result import SearchResult
from shopsim_env.search.where import ProductSet, product_set

needs_kernel = pytest.mark.skipif(bool(KERNEL_PROBLEM), reason=f"kernel: {KERNEL_PROBLEM}")
FAST = "numpy" if KERNEL_PROBLEM else "kernel"
RECORDS = [
    {"asin": f"{number:04d}", "title": f"保温杯 {number % 7} 号 usb c", "shop_name": "杯" * (number % 3)}
    for number in range(300)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engines")
    build_search_index(RECORDS, path / "c.sqlite")
    build_search_arrays(path / "c.sqlite", path / "a.bin")
    return path


@pytest.fixture
def service(folder: Path) -> Iterator[SearchService]:
    opened = SearchService(Fts5Engine.open(folder / "c.sqlite"), folder / "a.bin")
    yield opened
    opened.close()


def every_other() -> ProductSet:
    return product_set(range(1, 301, 2), 300, lambda _: None)


def test_names_of_engines(service: SearchService) -> None:
    assert {choice.name: choice.runs for choice in service.choices()} == {
        "": FAST,
        "fast": FAST,
        "numpy": "numpy",
        "fts5": "fts5",
    }
    assert service.search("保温杯").engine == FAST
    assert service.search("保温杯", engine="numpy").engine == "numpy"
    assert service.search("保温杯", engine="fts5").engine == "fts5"


def test_an_unknown_engine_is_refused(service: SearchService) -> None:
    with pytest.raises(UsageError, match="expected None or one of fast, numpy, fts5, found 'lucene'"):
        service.search("杯", engine="lucene")


def test_without_kernel_numpy_answers(service: SearchService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankers, "_kernel", None)
    monkeypatch.setattr(rankers, "KERNEL_PROBLEM", "no compiler")
    assert service.search("保温杯").engine == "numpy"
    assert service.search("保温杯", engine="fast").engine == "numpy"


def without_ranker(_: Path) -> KernelRanker:
    raise ImportError("No module named 'numpy'")


def test_without_kernel_and_numpy_fts5_answers_and_fast_says_why(
    service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankers, "_kernel", None)
    monkeypatch.setattr(rankers, "KERNEL_PROBLEM", "no compiler")
    monkeypatch.setattr(NumpyRanker, "__init__", lambda *_: without_ranker(Path()))
    assert service.search("保温杯").engine == "fts5"
    with pytest.raises(UsageError, match="kernel: no compiler; numpy: No module named 'numpy'") as caught:
        service.search("保温杯", engine="fast")
    assert caught.value.code == "engine_unavailable"
    assert [choice.runs for choice in service.choices()] == ["fts5", "", "", "fts5"]


@pytest.mark.parametrize("engine", ["fast", "numpy"])
def test_neighbours_that_form_an_unspelled_word_are_merged_by_name(
    service: SearchService, engine: str
) -> None:
    """`usb-c` is nowhere a word, but the two are neighbours in every title."""
    name = FAST if engine == "fast" else "numpy"
    for where in (None, every_other()):
        for query in ("usb-c", "保温杯 3 usb.c 号", "usb-c 5 c_usb zz-zz"):
            found = service.search(query, engine=engine, where=where)
            assert found.engine == f"{name} (phrase from fts5)"
            assert found == service.search(query, engine="fts5", where=where)
            assert len(found.hits) == 150


def test_a_phrase_of_many_products_goes_to_fts5_by_name(
    service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MAX_APART", 299)
    found = service.search("usb-c", engine="fast")
    assert found.engine == "fts5 (a phrase of more than 299 products)"
    assert found == service.search("usb-c", engine="fts5")


def test_a_word_that_nothing_forms_stays_fast(service: SearchService) -> None:
    found = service.search("保温杯 c-usb", engine="fast")
    assert found.engine == FAST
    assert found == service.search("保温杯 c-usb", engine="fts5")


def test_too_many_tokens_go_to_fts5_by_name(service: SearchService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MAX_TERMS", 2)
    assert MAX_TERMS == 4_096
    found = service.search("保温杯 usb", engine="fast")
    assert found.engine == "fts5 (more than 2 tokens)"
    assert found == service.search("保温杯 usb", engine="fts5")


@pytest.mark.parametrize("engine", ["fast", "numpy", "fts5"])
def test_empty_results(service: SearchService, engine: str) -> None:
    assert service.search("!?", engine=engine) == SearchResult("empty_query")
    assert service.search("钢琴", engine=engine) == SearchResult("ok")
    assert service.search("保温杯", 0, engine=engine) == SearchResult("ok")
    assert service.search("保温杯", -1, engine=engine) == SearchResult("ok")


@pytest.mark.parametrize("engine", ["fast", "numpy", "fts5"])
def test_ties_are_in_asin_order_and_depth_is_not_limited_to_a_page(
    service: SearchService, engine: str
) -> None:
    found = service.search("保温杯", 500, engine=engine)
    assert len(found.hits) == 300
    order = [(-hit.score, hit.asin) for hit in found.hits]
    assert order == sorted(order)
    assert [hit.rank for hit in found.hits] == list(range(1, 301))


@pytest.mark.parametrize("engine", ["fast", "numpy", "fts5"])
def test_filtered_hits_are_the_unfiltered_ones_without_the_others(
    service: SearchService, engine: str
) -> None:
    where = every_other()
    everything = service.search("保温杯 3 号", 300, engine=engine)
    kept = [hit.asin for hit in everything.hits if int(hit.asin) % 2 == 0]
    found = service.search("保温杯 3 号", 40, engine=engine, where=where)
    assert list(found.asins) == kept[:40]
    nothing = product_set([], 300, lambda _: None)
    assert service.search("保温杯", engine=engine, where=nothing) == SearchResult("ok")


def test_repeated_searches_come_from_the_cache(service: SearchService) -> None:
    first = service.search("保温杯")
    assert service.search("保温杯") is first
    assert service.search("保温杯", 20) is not first
    stats = service.cache_stats()
    assert (stats.hits, stats.misses, stats.entries, stats.stored_hits) == (1, 2, 2, 170)
    service.search("保温杯", where=every_other())
    assert service.cache_stats() == stats, "filtered searches are not kept"


def test_threads_share_one_service(folder: Path) -> None:
    service = SearchService(Fts5Engine.open(folder / "c.sqlite"), folder / "a.bin", cache_hits=0)
    queries = [f"保温杯 {number} 号 usb" for number in range(7)]
    expected = [service.search(query, engine="fts5") for query in queries]
    wrong: list[str] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(q for q, e in zip(queries, expected, strict=True) if service.search(q) != e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    service.close()
    assert wrong == []


def test_arrays_of_another_catalogue_are_refused(folder: Path, tmp_path: Path) -> None:
    build_search_index(RECORDS[:5], tmp_path / "c.sqlite")
    fts5 = Fts5Engine.open(tmp_path / "c.sqlite")
    with pytest.raises(SearchIndexError, match="expected the arrays of 5 products, found 300"):
        SearchService(fts5, folder / "a.bin")
    fts5.close()


@needs_kernel
def test_the_kernel_refuses_other_files_and_wrong_arguments(folder: Path, tmp_path: Path) -> None:
    from shopsim_env.search import _kernel

    good = (folder / "a.bin").read_bytes()
    for name, data in {"short": b"x", "other": b"y" * 5_000, "cut": good[:-1]}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match="file"):
            _kernel.Index(str(tmp_path / name))
    with pytest.raises(ValueError, match="opened"):
        _kernel.Index(str(tmp_path / "missing"))
    with pytest.raises(TypeError):
        _kernel.Index()
    index = _kernel.Index(str(folder / "a.bin"))
    with pytest.raises(ValueError, match="mask"):
        index.search(["保温"], 5, b"\xff", [])
    with pytest.raises(TypeError):
        index.search("保温", 5, None, [])
    with pytest.raises(TypeError):
        index.search([1], 5, None, [])
    unseen: list[str] = []
    assert index.search(["q-q", "zz", "q.9"], 5, None, unseen) == ([], [])
    assert unseen == ["q-q", "q.9"]


@needs_kernel
def test_a_closed_kernel_says_so(folder: Path) -> None:
    ranker = KernelRanker(folder / "a.bin")
    ranker.close()
    with pytest.raises(ValueError, match="closed"):
        ranker.search(["保温"], 5, None, [])


def test_numpy_forgets_the_oldest_lists(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankers, "_CACHED_POSTINGS", 1_200)
    ranker = NumpyRanker(folder / "a.bin")
    expected = ranker.search(["保温", "usb"], 150, None, [])
    for token in ("温杯", "号", "c", "保温", "usb"):
        ranker.search([token], 5, None, [])
        assert ranker._cached == sum(len(rows) for rows, _ in ranker._cache.values()) <= 1_200
    assert ranker.search(["保温", "usb"], 150, None, []) == expected
    ranker.close()
