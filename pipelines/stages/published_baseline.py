"""The published search baseline beside the measured one, figure by figure, without tolerance.

A figure is met when the measured value, rounded to the published digits, is the published text. Belongs here:
the comparison. The figures stand in the data set's configuration (`[published_baseline]`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.settings import PublishedBaseline
from shopsim_env.versions import PAGE_SIZE, TOP_K

NOT_MEASURED: Final = "not measured"
_MODES = {"instruction_simple": "simple", "instruction": "full"}
_DEPTHS = {"recall_1": 1, "recall_20": PAGE_SIZE, "recall_150": TOP_K}


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One figure: what was published and what was found, in the same digits; recall in per cent."""

    name: str
    published: str
    found: str

    @property
    def met(self) -> bool:
        """Whether both texts are the same."""
        return self.published == self.found


def compare_published(
    published: PublishedBaseline, measured: Mapping[str, Mapping[str, Any]]
) -> list[PublishedFigure]:
    """Every published figure in the order of the configuration.

    Args:
        published: The table of the configuration.
        measured: Split name to the metrics of `search_metrics.summarise`.
    """
    result = measured.get(published.split)
    tasks = str(result["task_count"]) if result else NOT_MEASURED
    return [
        PublishedFigure("tasks", str(published.tasks), tasks),
        *(figure for mode in _MODES for figure in _figures(mode, published, result)),
    ]


def _figures(
    mode: str, published: PublishedBaseline, result: Mapping[str, Any] | None
) -> Iterator[PublishedFigure]:
    values = result["modes"][mode] if result else {}
    for name, text in getattr(published, mode).model_dump().items():
        value = None
        if values:
            value = values["mrr"] if name == "mrr" else values["recall"][str(_DEPTHS[name])]["rate"]
        digits = len(text.partition(".")[2])
        scale = 1 if name == "mrr" else 100
        found = NOT_MEASURED if value is None else f"{value * scale:.{digits}f}"
        yield PublishedFigure(f"{_MODES[mode]} {name}", text, found)
