"""Cards and comparisons as sections: headings, notes, tables, and what a chart of them would show.

Belongs here: which figures stand together, their words and their form. Markup is in `markdown` and `report`,
drawing in `charts`.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shopsim_env.canonical import compact_json
from shopsim_env.evaluation.words import Words

NOTHING: Final = "–"
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names the row."""

    caption: str
    head: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a chart: a mean with its interval, and a second value (worst case). None is left out."""

    label: str
    value: float | None
    interval: Sequence[float] | None = None
    second: float | None = None
    strong: bool = False


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """Means on one axis from `low` to `high`."""

    label: str
    marks: tuple[Mark, ...]
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class LineChart:
    """Shares by a number on the x axis, one line each."""

    label: str
    x: tuple[str, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with notes, then charts each with its table, then other tables."""

    title: str
    notes: tuple[str, ...] = ()
    charts: tuple[tuple[IntervalChart | LineChart, Table], ...] = ()
    tables: tuple[Table, ...] = field(default=())


def named_groups(document: Mapping[str, Any], words: Words) -> list[tuple[str, Mapping[str, Any]]]:
    """Groups with their names in words; the whole comes first where there is one."""
    named = [(group_name(group, words), group) for group in document["groups"]]
    overall = document["overall"]
    return named if overall is None else [(words["overall"], overall), *named]


def group_name(group: Mapping[str, Any], words: Words) -> str:
    """A scenario, or an environment with its difficulty, in words."""
    if "task_mode" in group:
        return f"{words.name(group['task_mode'])} · {words.name(group['interaction_mode'])}"
    return f"{group['env_id']} · {words['difficulty']} {group['difficulty']}"


def share(value: float | None) -> str:
    """Three decimals."""
    return NOTHING if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Three decimals with a sign."""
    return NOTHING if value is None else f"{value:+.3f}"


def span(interval: Sequence[float] | None, form: Any = share) -> str:
    """Both ends of an interval."""
    return NOTHING if interval is None else f"{form(interval[0])} … {form(interval[1])}"


def p_value(value: float | None) -> str:
    """Four decimals, and powers of ten below."""
    if value is None:
        return NOTHING
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def cells(text: str) -> int:
    """The room that text takes, in half-width characters; a Chinese one takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def told(value: Any, words: Words) -> str:
    """A value of any kind as text."""
    if value is None or value in ({}, []):
        return words["no_value"]
    return value if isinstance(value, str) else compact_json(value)


def metric_name(name: str, words: Words) -> str:
    """A metric in words and by its name in the data."""
    word = words[name]
    return word if word == name else f"{word} ({name})"


def stratum_name(row: Mapping[str, Any], words: Words) -> str:
    """A stratum with its dimension."""
    return f"{words[row['dimension']]}: {words.name(row['stratum'])}"


def about(document: Mapping[str, Any], words: Words) -> Section:
    """What was played: release, versions, environment, model, prompt, splits, plan."""
    facts = [(name, document.get(name)) for name in ("release", "dataset", "model", "prompt")]
    facts = [(name, value) for name, value in facts if name in document]
    facts.append(("splits", ", ".join(document["splits"])))
    facts += [(name, value) for name, value in document.get("plan", {}).items() if name != "planned"]
    rows = [(words[name], told(value or None, words)) for name, value in facts]
    return Section(
        words["about"], tables=(Table(words["about"], (words["item"], words["value"]), tuple(rows)),)
    )


def rules(document: Mapping[str, Any], words: Words) -> Section:
    """Versions and environment, under which alone figures are comparable."""
    head = (words["item"], words["value"])
    tables = tuple(
        Table(words[name], head, tuple((key, told(value, words)) for key, value in document[name].items()))
        for name in ("versions", "environment")
    )
    return Section(words["rules"], tables=tables)


def method_text(document: Mapping[str, Any], words: Words) -> str:
    """How intervals were made."""
    drawn = document["method"]["bootstrap"]
    return words["method_text"].format(resamples=f"{drawn['resamples']:,}", seed=drawn["seed"])
