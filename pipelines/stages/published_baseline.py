"""The published search baseline beside the measured one, figure by figure, without tolerance.

A figure is met when the measured value, rounded to the published digits, is the published text. Belongs here:
the comparison. The figures stand in the data set's configuration (`[published_baseline]`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pipelines.settings import PublishedBaseline
from pipelines.stages.published_figures import DIFFERS, NOT_BUILT, OK, Figure
from shopsim_env.versions import PAGE_SIZE, TOP_K

_MODES: Final = {"instruction_simple": "simple", "instruction": "full"}
_DEPTHS: Final = {"recall_1": 1, "recall_20": PAGE_SIZE, "recall_150": TOP_K}


def compare_baseline(published: PublishedBaseline, measured: Mapping[str, Mapping[str, Any]]) -> list[Figure]:
    """Every published figure in the order of the configuration.

    Args:
        published: The table of the configuration.
        measured: Split name to the metrics of `search_metrics.summarise`.
    """
    result = measured.get(published.split)
    return [
        _judged("tasks", str(published.tasks), str(result["task_count"]) if result else None),
        *(figure for mode in _MODES for figure in _figures(mode, published, result)),
    ]


def _figures(mode: str, published: PublishedBaseline, result: Mapping[str, Any] | None) -> Iterator[Figure]:
    values = result["modes"][mode] if result else {}
    for name, text in getattr(published, mode).model_dump().items():
        value = None
        if values:
            value = values["mrr"] if name == "mrr" else values["recall"][str(_DEPTHS[name])]["rate"]
        digits = len(text.partition(".")[2])
        scale = 1 if name == "mrr" else 100
        found = None if value is None else f"{value * scale:.{digits}f}"
        yield _judged(f"{_MODES[mode]} text: {name}", text, found)


def _judged(name: str, expected: str, found: str | None) -> Figure:
    status = NOT_BUILT if found is None else OK if found == expected else DIFFERS
    return Figure(f"search baseline: {name}", expected, found, status)
