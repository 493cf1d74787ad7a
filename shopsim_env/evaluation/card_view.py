"""A result card as sections: counts, metrics, strata, floors and ceilings, contamination.

Belongs here: which figures of a card stand together. Forms shared with comparisons are in `views`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shopsim_env.evaluation.views import (
    NOTHING,
    IntervalChart,
    LineChart,
    Mark,
    Section,
    Table,
    about,
    group_name,
    method_text,
    metric_name,
    named_groups,
    rules,
    share,
    span,
    stratum_name,
)
from shopsim_env.evaluation.words import Words


def card_sections(card: Mapping[str, Any], words: Words) -> list[Section]:
    """The sections of a card."""
    groups = named_groups(card, words)
    sections = [about(card, words), _counts(card, groups, words)]
    if card["overall"] is not None:
        # RLVE has many groups: the whole in full, the groups as rows of one section.
        groups, many = groups[:1], groups[1:]
        sections.append(_groups(many, words))
    sections += [_metrics(f"{words['metrics']}: {name}", group["metrics"], words) for name, group in groups]
    sections += [_passes(name, group["passes"], words) for name, group in groups]
    sections += [
        _strata(f"{words['strata']}: {name}", group["strata"], card["strata_source"], words)
        for name, group in groups
        if group.get("strata")
    ]
    sections.append(_endings(groups, words))
    if card["release"] is not None and card["ceilings"] is not None:
        sections += [_bounds(card, groups, words), _contamination(card, words)]
    if card["overall"] is not None and card["floors"] is not None:
        sections.append(_rlve_bounds(card, words))
    if card["behaviour"] is not None:
        sections.append(_behaviour(card, words))
    return [*sections, rules(card, words), Section(words["method"], (method_text(card, words),))]


def _counts(card: Mapping[str, Any], groups: Iterable[tuple[str, Any]], words: Words) -> Section:
    names = ("requested", "scored", "failed", "invalid", "unfinished", "missing", "tasks")
    head = (words["group"], *(words[name] for name in names), words["coverage"])
    rows = tuple(
        (name, *(str(group["counts"][key]) for key in names), share(group["counts"]["coverage"]))
        for name, group in groups
    )
    tables = [Table(words["counts"], head, rows)]
    reading = tuple((words[name], str(number)) for name, number in card["reading"].items())
    tables.append(Table(words["reading"], (words["kind"], words["count"]), reading))
    if card["errors"]:
        errors = tuple((name, str(number)) for name, number in card["errors"].items())
        tables.append(Table(words["errors"], (words["kind"], words["count"]), errors))
    notes = (words["counts_note"],) if card["plan"]["planned"] else (words["counts_note"], words["no_plan"])
    return Section(words["counts"], notes, tables=tuple(tables))


def _groups(groups: Sequence[tuple[str, Any]], words: Words) -> Section:
    """Success and total of every environment and difficulty."""
    title = words["groups"]
    names = ("group", "scored", "requested", "success", "wilson", "total", "bootstrap")
    head = (*(words[name] for name in names), f"{words['total']}: {words['worst_case']}")
    rows = []
    for name, group in groups:
        success, total = group["metrics"]["success"], group["metrics"]["total"]
        sizes = (str(group["counts"][state]) for state in ("scored", "requested"))
        figures = (
            share(success["mean"]),
            span(success["wilson"]),
            share(total["mean"]),
            span(total["bootstrap"]),
        )
        rows.append((name, *sizes, *figures, share(total["worst_case"])))
    marks = tuple(_mark(name, group["metrics"]["success"]) for name, group in groups)
    table = Table(title, head, tuple(rows))
    return Section(title, (words["metrics_legend"],), ((IntervalChart(title, marks), table),))


def _metrics(title: str, metrics: Mapping[str, Any], words: Words) -> Section:
    head = tuple(
        words[name] for name in ("metric", "mean", "wilson", "bootstrap", "episodes", "tasks", "worst_case")
    )
    rows = tuple(
        (
            metric_name(name, words),
            share(found["mean"]),
            span(found.get("wilson")),
            span(found["bootstrap"]),
            str(found["episodes"]),
            str(found["tasks"]),
            share(found["worst_case"]),
        )
        for name, found in metrics.items()
    )
    marks = tuple(_mark(metric_name(name, words), found) for name, found in metrics.items())
    chart = IntervalChart(title, marks, -1.0 if "total" in metrics else 0.0)
    return Section(title, (words["metrics_legend"],), ((chart, Table(title, head, rows)),))


def _mark(label: str, found: Mapping[str, Any], strong: bool = False) -> Mark:
    return Mark(
        label, found["mean"], found.get("wilson") or found["bootstrap"], found.get("worst_case"), strong
    )


def _passes(name: str, passes: Sequence[Mapping[str, Any]], words: Words) -> Section:
    title = f"{words['passes']}: {name}"
    kinds = ("pass_at_k", "pass_hat_k")
    head = ("k", *(text for kind in kinds for text in (words[kind], words["bootstrap"])))
    head = (*head, words["tasks"], words["too_few"])
    rows = tuple(
        (
            str(row["k"]),
            *(text for kind in kinds for text in (share(row[kind]["mean"]), span(row[kind]["bootstrap"]))),
            str(row["tasks"]),
            str(row["tasks_with_fewer"]),
        )
        for row in passes
    )
    table = Table(title, head, rows)
    notes = (words["passes_note"],)
    if len(passes) < 2:
        return Section(title, notes, tables=(table,))
    x = tuple(f"k={row['k']}" for row in passes)
    series = tuple((words[kind], tuple(row[kind]["mean"] for row in passes)) for kind in kinds)
    return Section(title, notes, ((LineChart(title, x, series), table),))


def _strata(title: str, strata: Sequence[Mapping[str, Any]], source: str, words: Words) -> Section:
    head = tuple(
        words[name]
        for name in (
            "dimension",
            "stratum",
            "tasks",
            "scored",
            "requested",
            "r_success",
            "wilson",
            "r_strict",
        )
    )
    rows = tuple(
        (
            words[row["dimension"]],
            words.name(row["stratum"]),
            str(row["counts"]["tasks"]),
            str(row["counts"]["scored"]),
            str(row["counts"]["requested"]),
            share(row["metrics"]["r_success"]["mean"]),
            span(row["metrics"]["r_success"]["wilson"]),
            share(row["metrics"]["r_strict"]["mean"]),
        )
        for row in strata
    )
    marks = tuple(_mark(stratum_name(row, words), row["metrics"]["r_success"]) for row in strata)
    notes = (words[f"strata_{source}"], words["metrics_legend"])
    return Section(title, notes, ((IntervalChart(title, marks), Table(title, head, rows)),))


def _endings(groups: Iterable[tuple[str, Any]], words: Words) -> Section:
    rows = [
        (name, reason, str(number), share(number / group["counts"]["scored"]))
        for name, group in groups
        for reason, number in group["termination_reasons"].items()
    ]
    head = tuple(words[name] for name in ("group", "reason", "episodes", "share"))
    return Section(words["endings"], tables=(Table(words["endings"], head, tuple(rows)),))


def _bounds(card: Mapping[str, Any], groups: Sequence[tuple[str, Any]], words: Words) -> Section:
    """Floors, the run and ceilings on one axis of success."""
    title, many = words["floors"], len(groups) > 1
    marks = [
        _mark(
            f"{words['this_run']}: {name}" if many else words["this_run"], group["metrics"]["r_success"], True
        )
        for name, group in groups
    ]
    rows = [
        (mark.label, share(mark.value), span(mark.interval), share(group["metrics"]["r_strict"]["mean"]))
        for mark, (_, group) in zip(marks, groups, strict=True)
    ]
    for floor in card["floors"] or ():
        label = f"{floor['agent']}: {group_name(floor, words)}" if many else floor["agent"]
        interval = (floor["success_low"], floor["success_high"])
        marks.append(Mark(label, floor["r_success"], interval))
        rows.append((label, share(floor["r_success"]), span(interval), share(floor["r_strict"])))
    for row in card["ceilings"]:
        label = f"{words['ceiling']} W1: {row['split']} · {words.name(row['task_mode'])}"
        marks.append(Mark(label, row["W1"] / row["tasks"] if row["tasks"] else None))
        rows.append((label, share(marks[-1].value), NOTHING, NOTHING))
    head = (words["agent"], words["r_success"], words["wilson"], words["r_strict"])
    floors = words["no_floors"] if card["floors"] is None else words["floors_note"]
    chart = (IntervalChart(title, tuple(marks)), Table(title, head, tuple(rows)))
    return Section(title, (floors, words["ceilings_note"]), (chart,), (_grades(card, words),))


def _rlve_bounds(card: Mapping[str, Any], words: Words) -> Section:
    """Agents without skill and the oracle on the keys of the run, by environment and difficulty."""
    head = tuple(words[name] for name in ("group", "agent", "episodes", "success", "wilson", "total"))
    rows = tuple(
        (
            group_name(row, words),
            row["agent"],
            str(row["episodes"]),
            share(row["success"]),
            span((row["success_low"], row["success_high"])),
            share(row["total"]),
        )
        for row in card["floors"]
    )
    title = words["floors"]
    return Section(title, (words["rlve_floors_note"],), tables=(Table(title, head, rows),))


def _grades(card: Mapping[str, Any], words: Words) -> Table:
    names = ("tasks", "W1", "W2", "W3", "all_grades")
    rows = tuple(
        (f"{row['split']} · {words.name(row['task_mode'])}", *(str(row[name]) for name in names))
        for row in card["ceilings"]
    )
    return Table(words["ceiling"], (words["split"], *(words[name] for name in names)), rows)


def _contamination(card: Mapping[str, Any], words: Words) -> Section:
    rows = card["contamination"]
    if not rows:
        return Section(words["contamination"], (words["contamination_none"],))
    fields = sorted({name for row in rows for name in row} - {"splits"})
    table = Table(
        words["contamination"],
        (words["splits"], *fields),
        tuple((row["splits"], *(str(row.get(name, NOTHING)) for name in fields)) for row in rows),
    )
    return Section(words["contamination"], (words["contamination_note"],), tables=(table,))


def _behaviour(card: Mapping[str, Any], words: Words) -> Section:
    cost = card["cost"]
    facts = {**card["behaviour"], **{name: cost[name] for name in ("duration_ms_mean", "duration_ms_p95")}}
    facts.update(cost["tokens"] or {})
    rows = tuple((words[name], _number(value)) for name, value in facts.items())
    title = words["behaviour"]
    return Section(title, tables=(Table(title, (words["item"], words["value"]), rows),))


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
