"""Charts as SVG elements: means with intervals on one axis, and shares by k. No script, colours by class.

Belongs here: geometry. Texts enter as text nodes of ElementTree, so none becomes markup; colours are in
`report.css`, figures come in words in the table below every chart.
"""

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from shopsim_env.evaluation.views import IntervalChart, LineChart, Mark, cells, share, signed

_WIDTH, _ROW, _TOP, _BOTTOM = 760, 26, 12, 30
_LEFT, _RIGHT = 270, 690
_LINE_LEFT, _LINE_HEIGHT = 60, 240
_MOST_CELLS: Final = 36  # of a label at 13 px left of the axis; a Chinese character takes two
_TICKS: Final = 5


def draw(chart: IntervalChart | LineChart) -> ElementTree.Element:
    """The chart as an `svg` element with a name for readers of the screen."""
    if isinstance(chart, IntervalChart):
        return _intervals(chart)
    return _lines(chart)


def _intervals(chart: IntervalChart) -> ElementTree.Element:
    bottom = _TOP + _ROW * len(chart.marks)
    svg = _canvas(chart.label, bottom + _BOTTOM)
    form = signed if chart.low < 0 else share
    for tick in range(_TICKS):
        value = chart.low + (chart.high - chart.low) * tick / (_TICKS - 1)
        x = _x(chart, value)
        _line(svg, "axis" if value == 0 else "grid", (x, _TOP), (x, bottom))
        _text(svg, f"{value:g}", (x, bottom + 18), "tick", "middle")
    for place, mark in enumerate(chart.marks):
        _mark(svg, chart, mark, _TOP + _ROW * place + _ROW / 2, form(mark.value))
    return svg


def _mark(svg: ElementTree.Element, chart: IntervalChart, mark: Mark, y: float, value: str) -> None:
    row = ElementTree.SubElement(svg, "g", {"class": "strong" if mark.strong else "mark"})
    ElementTree.SubElement(row, "title").text = f"{mark.label}: {value}"
    _text(row, shortened(mark.label), (_LEFT - 12, y + 4), "label", "end")
    _text(row, value, (_WIDTH - 6, y + 4), "number", "end")
    if mark.interval is not None:
        low, high = (_x(chart, end) for end in mark.interval)
        _line(row, "whisker", (low, y), (high, y))
        for end in (low, high):
            _line(row, "cap", (end, y - 5), (end, y + 5))
    if mark.second is not None and mark.second != mark.value:
        x = _x(chart, mark.second)
        points = f"{x - 5:.1f},{y:.1f} {x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f}"
        ElementTree.SubElement(row, "polygon", {"class": "second", "points": points})
    if mark.value is not None:
        _circle(row, "dot", (_x(chart, mark.value), y))


def _lines(chart: LineChart) -> ElementTree.Element:
    bottom = _TOP + _LINE_HEIGHT
    svg = _canvas(chart.label, bottom + _BOTTOM)
    for tick in range(_TICKS):
        y = bottom - _LINE_HEIGHT * tick / (_TICKS - 1)
        _line(svg, "grid" if tick else "axis", (_LINE_LEFT, y), (_RIGHT - 20, y))
        _text(svg, f"{tick / (_TICKS - 1):g}", (_LINE_LEFT - 10, y + 4), "tick", "end")
    step = (_RIGHT - 60 - _LINE_LEFT) / max(len(chart.x) - 1, 1)
    places = [_LINE_LEFT + 20 + step * place for place in range(len(chart.x))]
    for x, label in zip(places, chart.x, strict=True):
        _text(svg, label, (x, bottom + 18), "tick", "middle")
    ends: list[float] = []
    for number, (name, values) in enumerate(chart.series):
        points = [
            (x, bottom - _LINE_HEIGHT * value)
            for x, value in zip(places, values, strict=True)
            if value is not None
        ]
        _series(svg, f"series-{number}", name, points, ends)
    return svg


def _series(
    svg: ElementTree.Element,
    kind: str,
    name: str,
    points: Sequence[tuple[float, float]],
    ends: list[float],
) -> None:
    """A line with its name at the end, away from the names before it (`ends`)."""
    row = ElementTree.SubElement(svg, "g", {"class": kind})
    ElementTree.SubElement(row, "title").text = name
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ElementTree.SubElement(row, "polyline", {"class": "path", "points": path})
    for point in points:
        _circle(row, "dot", point)
    if points:
        y = points[-1][1] + 4
        while any(abs(y - other) < 16 for other in ends):
            y += 16
        ends.append(y)
        _text(row, name, (points[-1][0] + 10, y), "name", "start")


def shortened(label: str) -> str:
    """A label that fits beside the axis; the table and the title of the mark have the whole."""
    if cells(label) <= _MOST_CELLS:
        return label
    end = max(end for end in range(len(label)) if cells(label[:end]) < _MOST_CELLS)
    return label[:end] + "…"


def _canvas(label: str, height: float) -> ElementTree.Element:
    size = f"0 0 {_WIDTH} {height:g}"
    return ElementTree.Element("svg", {"viewBox": size, "role": "img", "aria-label": label})


def _x(chart: IntervalChart, value: float) -> float:
    """The place of a value; what lies beyond an end is put there."""
    part = (value - chart.low) / (chart.high - chart.low)
    return _LEFT + (_RIGHT - _LEFT) * min(max(part, 0.0), 1.0)


def _line(
    parent: ElementTree.Element, kind: str, start: tuple[float, float], end: tuple[float, float]
) -> None:
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    ElementTree.SubElement(
        parent, "line", {"class": kind, **{name: f"{value:.1f}" for name, value in ends.items()}}
    )


def _circle(parent: ElementTree.Element, kind: str, centre: tuple[float, float]) -> None:
    place = {"cx": f"{centre[0]:.1f}", "cy": f"{centre[1]:.1f}", "r": "4.5"}
    ElementTree.SubElement(parent, "circle", {"class": kind, **place})


def _text(parent: ElementTree.Element, text: str, place: tuple[float, float], kind: str, anchor: str) -> None:
    attributes = {"x": f"{place[0]:.1f}", "y": f"{place[1]:.1f}", "class": kind, "text-anchor": anchor}
    ElementTree.SubElement(parent, "text", attributes).text = text
