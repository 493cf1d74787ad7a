"""The published search table beside a measured one: rounding to the published digits, no tolerance."""

from pathlib import Path

from pipelines.settings import PublishedBaseline, load_dataset
from pipelines.stages.published_baseline import compare_baseline
from pipelines.stages.published_figures import Figure
from pipelines.stages.search_metrics import summarise

FIGURES = ("recall_1", "recall_20", "recall_150", "mrr")
CONFIGS = Path(__file__).resolve().parents[3] / "configs"


def published(simple_mrr: str = "0.5000") -> PublishedBaseline:
    simple = {"recall_1": "33.33", "recall_20": "66.67", "recall_150": "66.67", "mrr": simple_mrr}
    full = {"recall_1": "100.0", "recall_20": "100.0", "recall_150": "100.0", "mrr": "1.0000"}
    return PublishedBaseline(split="source/a", tasks=3, instruction_simple=simple, instruction=full)


def measured() -> dict[str, dict[str, object]]:
    # simple: ranks 1, 2, none: 1/3 and 2/3 found; MRR (1 + 1/2) / 3 = 0.5. full: all first.
    outcomes = {
        0: {"instruction_simple": 1, "instruction": 1},
        1: {"instruction_simple": 2, "instruction": 1},
        2: {"instruction_simple": "not_found", "instruction": 1},
    }
    return {"source/a": summarise(outcomes, [0, 1, 2])}


def test_all_figures_met() -> None:
    figures = compare_baseline(published(), measured())
    assert [figure.name for figure in figures] == [
        "search baseline: tasks",
        *(f"search baseline: simple text: {name}" for name in FIGURES),
        *(f"search baseline: full text: {name}" for name in FIGURES),
    ]
    assert not any(figure.failed for figure in figures)


def test_the_last_digit_counts() -> None:
    figures = compare_baseline(published(simple_mrr="0.5001"), measured())
    missed = [figure for figure in figures if figure.failed]
    assert missed == [Figure("search baseline: simple text: mrr", "0.5001", "0.5000", "differs")]


def test_a_split_that_was_not_measured() -> None:
    figures = compare_baseline(published(), {"source/b": measured()["source/a"]})
    assert {(figure.found, figure.status) for figure in figures} == {(None, "not built")}


def test_tasks_without_texts() -> None:
    result = {"source/a": summarise({0: {}, 1: {}, 2: {}}, [0, 1, 2])}
    figures = compare_baseline(published(), result)
    assert [figure.found for figure in figures] == ["3", *[None] * 8]


def test_the_table_of_the_paper_data_set() -> None:
    """The figures of the published table, search version 3, 1,274 tasks."""
    settings = load_dataset(CONFIGS, "paper")
    table = settings.published_baseline
    assert table is not None
    assert table.split in settings.baseline.splits
    assert table.tasks == 1274
    assert table.instruction_simple.model_dump() == {
        "recall_1": "24.10",
        "recall_20": "69.07",
        "recall_150": "95.68",
        "mrr": "0.3536",
    }
    assert table.instruction.model_dump() == {
        "recall_1": "49.84",
        "recall_20": "85.71",
        "recall_150": "95.29",
        "mrr": "0.6098",
    }
