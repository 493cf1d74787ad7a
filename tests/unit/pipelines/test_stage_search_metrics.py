"""Search baseline: counts by hand on a small catalogue, splits that overlap, several workers."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pipelines.stages.processes import Workers
from pipelines.stages.search_index import build_search_index
from pipelines.stages.search_metrics import TaskQuery, evaluate_search, rank_golds, summarise, wilson_interval
from shopsim_env.errors import UsageError
from shopsim_env.search.fts5 import Fts5Engine


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """30 equal cups 000 to 029, which tie and so rank by asin, and one kettle."""
    cups = [{"asin": f"{i:03}", "title": "保温杯"} for i in range(30)]
    build_search_index([*cups, {"asin": "900", "title": "热水壶"}], tmp_path / "c.sqlite")
    return tmp_path / "c.sqlite"


@pytest.fixture
def engine(catalogue: Path) -> Iterator[Fts5Engine]:
    opened = Fts5Engine.open(catalogue)
    yield opened
    opened.close()


# ranks by hand: simple 1, 4, 25, not found, empty, without text; full 1, 1, 25, 1, not found, 1
QUERIES: list[TaskQuery] = [
    (0, "000", "保温杯", "保温杯"),
    (1, "003", "保温杯", "热水壶和保温杯"),
    (2, "024", "保温杯", "保温杯"),
    (3, "900", "保温杯", "热水壶"),
    (4, "001", "！", "热水壶"),
    (5, "900", None, "热水壶"),
]


def counted(hits: int, rate: float | None, total: int = 0) -> dict[str, object]:
    """An entry of `recall`; the number of tasks follows from the rate where there are hits."""
    total = total or (round(hits / rate) if rate and hits else 1 if rate is not None else 0)
    return {"hits": hits, "rate": rate, "interval": wilson_interval(hits, total)}


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [
        # worked out from (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.959964
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (307, 1274, 0.2183, 0.2652),
    ],
)
def test_wilson_interval(hits: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(hits, total) == pytest.approx([low, high], abs=5e-5)
    assert wilson_interval(0, 0) is None


def test_counts_rates_and_causes(engine: Fts5Engine) -> None:
    queries = [*QUERIES[:1], (1, "003", "保温杯", "保温杯"), *QUERIES[2:]]
    metrics = evaluate_search(engine, queries)
    assert metrics["top_k"] == 150
    assert metrics["task_count"] == 6
    simple, full = metrics["modes"]["instruction_simple"], metrics["modes"]["instruction"]
    assert simple["task_count"] == 5
    assert simple["tasks_without_text"] == 1
    assert simple["recall"] == {
        "1": counted(1, 0.2),
        "20": counted(2, 0.4),
        "150": counted(3, 0.6),
    }
    assert simple["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 25) / 5)
    assert simple["failures"] == {"empty_query": 1, "not_found": 1}
    assert full["recall"] == {
        "1": counted(3, 0.5),
        "20": counted(4, 4 / 6),
        "150": counted(5, 5 / 6),
    }
    assert full["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 25 + 1 + 1) / 6)
    assert full["failures"] == {"empty_query": 0, "not_found": 1}
    assert json.loads(json.dumps(metrics)) == metrics


def test_top_k_limits_the_search(engine: Fts5Engine) -> None:
    metrics = evaluate_search(engine, QUERIES[2:3], top_k=24)
    assert metrics["modes"]["instruction"]["recall"] == {
        "1": counted(0, 0.0),
        "20": counted(0, 0.0),
        "24": counted(0, 0.0),
    }
    assert (
        evaluate_search(engine, QUERIES[2:3], top_k=25)["modes"]["instruction"]["recall"]["25"]["hits"] == 1
    )


def test_page_deep_search_has_two_depths(engine: Fts5Engine) -> None:
    assert list(evaluate_search(engine, QUERIES, top_k=20)["modes"]["instruction"]["recall"]) == ["1", "20"]


def test_overlapping_splits_share_one_search(engine: Fts5Engine) -> None:
    outcomes = rank_golds(engine, QUERIES)
    assert summarise(outcomes, [0, 2])["modes"]["instruction_simple"]["recall"]["20"] == counted(
        1, 0.5, total=2
    )
    assert summarise(outcomes, [2])["modes"]["instruction_simple"]["mrr"] == 1 / 25
    assert summarise(outcomes, [2, 0, 3]) == summarise(outcomes, [0, 3, 2])


def test_mode_without_tasks_has_no_rates(engine: Fts5Engine) -> None:
    simple = evaluate_search(engine, QUERIES[5:])["modes"]["instruction_simple"]
    assert (simple["task_count"], simple["mrr"]) == (0, None)
    assert simple["recall"]["1"] == counted(0, None)
    assert evaluate_search(engine, [])["task_count"] == 0


def test_progress_counts_searches(engine: Fts5Engine) -> None:
    calls: list[tuple[int, int]] = []
    evaluate_search(engine, QUERIES, on_progress=lambda done, total: calls.append((done, total)))
    assert calls == [(i, 11) for i in range(1, 12)]


def test_workers_give_the_same_result(engine: Fts5Engine, catalogue: Path) -> None:
    opener = partial(Fts5Engine.open, catalogue)
    assert evaluate_search(engine, QUERIES, workers=Workers(2), opener=opener) == evaluate_search(
        engine, QUERIES
    )
    assert evaluate_search(engine, [], workers=Workers(2), opener=opener) == evaluate_search(engine, [])


def test_wrong_use_is_refused(engine: Fts5Engine) -> None:
    with pytest.raises(UsageError, match="at least 20, found 19"):
        evaluate_search(engine, QUERIES, top_k=19)
    with pytest.raises(UsageError, match=r"found again \[2\]"):
        evaluate_search(engine, [*QUERIES, QUERIES[2]])
    with pytest.raises(UsageError, match="opener"):
        evaluate_search(engine, QUERIES, workers=Workers(2))
