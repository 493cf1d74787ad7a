"""A comparison of two runs as sections: the runs, differences, McNemar's table, strata.

Belongs here: which figures of a comparison stand together. Forms shared with cards are in `views`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shopsim_env.evaluation.views import (
    IntervalChart,
    Mark,
    Row,
    Section,
    Table,
    about,
    method_text,
    metric_name,
    named_groups,
    p_value,
    rules,
    share,
    signed,
    span,
    stratum_name,
    told,
)
from shopsim_env.evaluation.words import Words


def comparison_sections(comparison: Mapping[str, Any], words: Words) -> list[Section]:
    """The sections of a comparison."""
    groups = named_groups(comparison, words)
    sections = [_runs(comparison, words)]
    if comparison["overall"] is not None:
        groups, many = groups[:1], groups[1:]
        sections.append(_group_differences(many, words))
    for name, group in groups:
        sections.append(_differences(name, group, words))
        if group.get("strata"):
            sections.append(_stratum_differences(name, group, comparison["strata_source"], words))
    notes = (method_text(comparison, words), words["test_text"])
    return [*sections, about(comparison, words), rules(comparison, words), Section(words["method"], notes)]


def _runs(comparison: Mapping[str, Any], words: Words) -> Section:
    sides = (comparison["first"], comparison["second"])
    rows = [
        (words[name], *(told(side[name], words) for side in sides))
        for name in ("model", "prompt", "fingerprint")
    ]
    rows += [
        (words[name], *(str(side["counts"][name]) for side in sides))
        for name in ("requested", "scored", "failed", "invalid", "unfinished", "missing")
    ]
    head = (words["item"], words["first"], words["second"])
    notes = tuple(comparison["differs"]) or (words["differs_none"],)
    return Section(words["runs"], notes, tables=(Table(words["runs"], head, tuple(rows)),))


def _differences(name: str, group: Mapping[str, Any], words: Words) -> Section:
    title = f"{words['differences']}: {name}"
    columns = (
        "first",
        "second",
        "difference",
        "bootstrap",
        "better",
        "equal",
        "worse",
        "missing_as_failures",
    )
    head = (words["metric"], *(words[column] for column in columns))
    rows = tuple(
        (
            metric_name(metric, words),
            share(found["first"]),
            share(found["second"]),
            signed(found["difference"]),
            span(found["bootstrap"], signed),
            *(str(found[column]) for column in ("better", "equal", "worse")),
            signed(found["missing_as_failures"]),
        )
        for metric, found in group["metrics"].items()
    )
    marks = [_gap(metric_name(metric, words), found) for metric, found in group["metrics"].items()]
    chart = (_around_zero(title, marks), Table(title, head, rows))
    return Section(title, (words["differences_legend"],), (chart,), (_success(group, words),))


def _success(group: Mapping[str, Any], words: Words) -> Table:
    """McNemar's table and the pairs that were left out."""
    facts = {"pairs": group["pairs"], "tasks": group["tasks"], **group["unpaired"]}
    facts["other_seeds"] = group["other_seeds"]
    facts.update({name: group["success"][name] for name in ("gained", "lost", "tied")})
    rows = [(words[name], str(number)) for name, number in facts.items()]
    rows.append((words["p"], p_value(group["success"]["p"])))
    return Table(words["task_success"], (words["item"], words["value"]), tuple(rows))


def _gap(label: str, found: Mapping[str, Any]) -> Mark:
    return Mark(label, found["difference"], found["bootstrap"], found["missing_as_failures"])


def _around_zero(title: str, marks: Sequence[Mark]) -> IntervalChart:
    """An axis around zero, as narrow as its marks allow."""
    values = [
        abs(value) for mark in marks for value in (mark.value, mark.second, *(mark.interval or ())) if value
    ]
    reach = next((step for step in (0.1, 0.2, 0.5, 1.0) if max(values, default=0) <= step), 2.0)
    return IntervalChart(title, tuple(marks), -reach, reach)


def _group_differences(groups: Sequence[tuple[str, Any]], words: Words) -> Section:
    """Success of every environment and difficulty of RLVE, which are many, in one section."""
    title = words["groups"]
    columns = ("group", "pairs", "first", "second", "difference", "bootstrap", "p")
    rows = tuple((name, *_success_figures(group, "success")) for name, group in groups)
    marks = [_gap(name, group["metrics"]["success"]) for name, group in groups]
    table = Table(title, tuple(words[column] for column in columns), rows)
    return Section(title, (words["differences_legend"],), ((_around_zero(title, marks), table),))


def _success_figures(row: Mapping[str, Any], metric: str) -> Row:
    """Pairs, both means, their difference with its interval, McNemar's p."""
    found = row["metrics"][metric]
    return (
        str(row["pairs"]),
        share(found["first"]),
        share(found["second"]),
        signed(found["difference"]),
        span(found["bootstrap"], signed),
        p_value(row["success"]["p"]),
    )


def _stratum_differences(name: str, group: Mapping[str, Any], source: str, words: Words) -> Section:
    title = f"{words['strata']}: {name}"
    columns = ("dimension", "stratum", "pairs", "first", "second", "difference", "bootstrap", "p")
    rows = tuple(
        (words[row["dimension"]], words.name(row["stratum"]), *_success_figures(row, "r_success"))
        for row in group["strata"]
    )
    marks = [_gap(stratum_name(row, words), row["metrics"]["r_success"]) for row in group["strata"]]
    table = Table(title, tuple(words[column] for column in columns), rows)
    notes = (words[f"strata_{source}"], words["differences_legend"])
    return Section(title, notes, ((_around_zero(title, marks), table),))
