"""Labels: whether what a task grades can be derived from what its mode shows.

Belongs here: one label per graded option, attribute and ceiling for each mode, and the table of them.
Standard mode shows the full text, persona mode the simple text and the projected persona. Labels are about
the gold product: which of its values would the words pick?
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit.cases import Case, Place
from pipelines.stages.audit.coverage import covered, leaves, said, size, verbatim
from pipelines.stages.tables import read_rows, write_rows
from shopsim_env.catalog.prices import resolve_price
from shopsim_env.shop.pages import OfferedAxis
from shopsim_env.tasks.budget import parse_budget

STANDARD, PERSONA = "standard", "persona"
MODES = (STANDARD, PERSONA)

STATED = "stated"
PERSONA_DERIVABLE = "persona_derivable"
ONLY_CHOICE = "only_choice"
UNDERIVABLE = "underivable"
NOT_GRADED = "not_graded"
LABELS = (STATED, PERSONA_DERIVABLE, ONLY_CHOICE, UNDERIVABLE)
"""From the plainest to the worst. `not_graded` stands for a ceiling that a task does not have."""

_LABEL_LIST = pa.list_(pa.field("element", pa.string()))
LABEL_SCHEMA = pa.schema(
    [
        pa.field("task_id", pa.int64(), nullable=False),
        pa.field("mode", pa.string(), nullable=False),
        pa.field("option_labels", _LABEL_LIST, nullable=False),
        pa.field("attribute_labels", _LABEL_LIST, nullable=False),
        pa.field("budget_label", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class TaskLabels:
    """Labels of one task in one mode, options and attributes in the order of the goal. Holds no goal text."""

    task_id: int
    mode: str
    option_labels: tuple[str, ...]
    attribute_labels: tuple[str, ...]
    budget_label: str

    @property
    def derivable(self) -> bool:
        """Whether nothing that is graded is underivable: witness grade W3 (contract 7.7)."""
        every = (*self.option_labels, *self.attribute_labels, self.budget_label)
        return UNDERIVABLE not in every


@dataclass(frozen=True, slots=True, repr=False)
class _Shown:
    """What one mode shows, in comparable form: the text, and text and persona together."""

    text: str
    everything: str


def label_case(case: Case, annotation: Annotation | None = None) -> list[TaskLabels]:
    """Labels of a task: for standard mode, and for persona mode where it has a persona.

    Args:
        case: The task.
        annotation: Its recorded annotation, None for standard tasks.
    """
    modes = [(STANDARD, case.goal.instruction, _shown(case.goal.instruction, []))]
    if case.persona is not None:
        simple = case.goal.instruction_simple
        modes.append((PERSONA, simple, _shown(simple, leaves(case.persona))))
    ceiling, only_price = case.goal.budget_upper, _only_price(case)
    return [
        TaskLabels(
            case.task_id,
            mode,
            tuple(_option(case.axes, place, shown) for place in case.places),
            tuple(_attribute(value, shown) for value in case.goal.attributes),
            _budget(ceiling, text, only_price, annotation),
        )
        for mode, text, shown in modes
    ]


def worst(labels: Iterable[str]) -> str:
    """The worst of some labels, `not_graded` when there is none."""
    graded = [label for label in labels if label != NOT_GRADED]
    return max(graded, key=LABELS.index, default=NOT_GRADED)


def write_labels(path: Path, labels: Iterable[TaskLabels]) -> int:
    """Writes `task_labels.parquet`; returns the number of rows."""
    return write_rows(path, LABEL_SCHEMA, (astuple(row) for row in labels))


def read_labels(path: Path) -> Iterator[TaskLabels]:
    """Rows of `task_labels.parquet`: by task id, standard mode first."""
    for task_id, mode, options, attributes, budget in read_rows(path, LABEL_SCHEMA):
        yield TaskLabels(task_id, mode, tuple(options), tuple(attributes), budget)


def _shown(text: str, more: Sequence[str]) -> _Shown:
    return _Shown(said([text]), said([text, *more]))


def _option(axes: Sequence[OfferedAxis], place: Place | None, shown: _Shown) -> str:
    """Whether the words pick the gold value among the values of its axis.

    A reader takes the value of which the text says most; among those one that stands there in one piece, then
    the one that adds least. The persona decides between values that the text leaves open.
    """
    if place is None:
        return UNDERIVABLE
    values, gold = axes[place[0]].public, place[1]
    text = [covered(value, shown.text) for value in values]
    if text[gold] and _picks(values, gold, text, shown.text):
        return STATED
    if len(values) == 1:
        return ONLY_CHOICE
    if text[gold] < max(text):
        return UNDERIVABLE
    every = [
        covered(value, shown.everything) if text[index] == text[gold] else -1
        for index, value in enumerate(values)
    ]
    picked = every[gold] and _picks(values, gold, every, shown.everything)
    return PERSONA_DERIVABLE if picked else UNDERIVABLE


def _picks(values: Sequence[str], gold: int, coverage: Sequence[int], text: str) -> bool:
    if coverage[gold] < max(coverage):
        return False
    ranks = {
        index: (verbatim(value, text), -size(value))
        for index, value in enumerate(values)
        if coverage[index] == coverage[gold]
    }
    return all(ranks[gold] > rank for index, rank in ranks.items() if index != gold)


def _attribute(value: str, shown: _Shown) -> str:
    """Every character must be said: an attribute is not chosen among others."""
    needed = size(value)
    if needed and covered(value, shown.text) == needed:
        return STATED
    return PERSONA_DERIVABLE if needed and covered(value, shown.everything) == needed else UNDERIVABLE


def _budget(ceiling: Decimal | None, text: str, only_price: bool, annotation: Annotation | None) -> str:
    """A text that names a lower ceiling than the graded one states it too: who obeys it stays within."""
    if ceiling is None:
        return NOT_GRADED
    found = parse_budget(text).upper
    if found is not None and found <= ceiling:
        return STATED
    if annotation is not None and annotation.has_ceiling and _holds(text, annotation.evidence):
        return STATED
    return ONLY_CHOICE if only_price else UNDERIVABLE


def _holds(text: str, evidence: str) -> bool:
    """Whether the evidence of a ceiling stands in the text, and no number goes on beyond its ends."""
    return bool(re.search(rf"(?<!\d)(?<!\d\.){re.escape(evidence)}(?!\.?\d)", text))


def _only_price(case: Case) -> bool:
    """Whether every choice on the gold product is known to stay within the ceiling."""
    ceiling, product = case.goal.budget_upper, case.goal.product
    if ceiling is None:
        return False
    first = {axis.name: axis.public[0] for axis in case.axes}
    # At most one axis moves the price (contract 7.2), so one choice per value meets every price.
    choices = [{**first, axis.name: value} for axis in case.axes for value in axis.public] or [first]
    prices = [resolve_price(product, choice).price for choice in choices]
    return all(price is not None and price <= ceiling for price in prices)
