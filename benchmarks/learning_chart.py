"""The curves of `benchmarks.learning` as SVG: one panel a mode, mean and range of the seeds, floors dashed.

Belongs here: geometry. Made with the standard library, as the bars of the metadata are.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final
from xml.etree import ElementTree

_WIDTH, _HEIGHT, _GAP = 360, 240, 60
_LEFT, _TOP, _BOTTOM = 50, 40, 50
_TICKS: Final = 5
_LINE, _BAND, _GREY, _INK = "#1f6feb", "#1f6feb", "#8b949e", "#24292f"
_FLOORS: Final = {"first-result": ("6 4", "first result"), "persona-keywords": ("2 3", "keyword copier")}


def draw(found: Sequence[Mapping[str, Any]]) -> str:
    """The picture of all modes, side by side."""
    width = _LEFT + len(found) * (_WIDTH + _GAP)
    height = _TOP + _HEIGHT + _BOTTOM
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    ElementTree.SubElement(svg, "title").text = "Reward on held-out tasks over updates, and floors"
    ElementTree.SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    for place, one in enumerate(found):
        _Panel(svg, _LEFT + place * (_WIDTH + _GAP), one).draw()
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


class _Panel:
    def __init__(self, svg: ElementTree.Element, left: float, found: Mapping[str, Any]) -> None:
        self._svg, self._left, self._found = svg, left, found

    def draw(self) -> None:
        """Axes, floors, band and mean."""
        found = self._found
        self._axes()
        for agent, (dashes, name) in self._floors():
            y = self._y(found["floors"][agent]["r_strict"])
            self._line((self._left, y), (self._left + _WIDTH, y), _GREY, {"stroke-dasharray": dashes})
            self._text(name, (self._left + _WIDTH - 4, y - 5), "end", _GREY)
        columns = list(zip(*found["curves"], strict=True))
        upper = [
            self._point(mark, max(values)) for mark, values in zip(found["updates"], columns, strict=True)
        ]
        lower = [
            self._point(mark, min(values)) for mark, values in zip(found["updates"], columns, strict=True)
        ]
        band = {"points": " ".join(upper + lower[::-1]), "fill": _BAND, "fill-opacity": "0.18"}
        ElementTree.SubElement(self._svg, "polygon", band)
        mean = [
            self._point(mark, fmean(values)) for mark, values in zip(found["updates"], columns, strict=True)
        ]
        path = {"points": " ".join(mean), "fill": "none", "stroke": _LINE, "stroke-width": "2"}
        ElementTree.SubElement(self._svg, "polyline", path)

    def _floors(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """The floors; of equal ones the first alone."""
        seen = set()
        for agent, style in _FLOORS.items():
            value = self._found["floors"][agent]["r_strict"]
            if value not in seen:
                seen.add(value)
                yield agent, style

    def _axes(self) -> None:
        for tick in range(_TICKS):
            value = tick / (_TICKS - 1)
            y = self._y(value)
            self._line((self._left, y), (self._left + _WIDTH, y), "#d0d7de", {})
            self._text(f"{value:g}", (self._left - 8, y + 4), "end")
        last = self._found["updates"][-1]
        for tick in range(_TICKS):
            mark = round(last * tick / (_TICKS - 1))
            self._text(str(mark), (self._x(mark), _TOP + _HEIGHT + 18), "middle")
        middle = self._left + _WIDTH / 2
        per_update = self._found["episodes"] // last
        held = f"{self._found['tasks']['held_out']} held-out tasks"
        self._text(f"{self._found['mode']} mode: r_strict, {held}", (middle, _TOP - 16), "middle")
        self._text(f"updates ({per_update} episodes each)", (middle, _TOP + _HEIGHT + 38), "middle")

    def _x(self, mark: float) -> float:
        return self._left + _WIDTH * mark / max(self._found["updates"][-1], 1)

    def _y(self, value: float) -> float:
        return _TOP + _HEIGHT * (1 - value)

    def _point(self, mark: float, value: float) -> str:
        return f"{self._x(mark):.1f},{self._y(value):.1f}"

    def _line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, more: dict[str, str]
    ) -> None:
        ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        places = {name: f"{value:.1f}" for name, value in ends.items()}
        ElementTree.SubElement(self._svg, "line", {**places, "stroke": colour, **more})

    def _text(self, text: str, place: tuple[float, float], anchor: str, colour: str = _INK) -> None:
        style = {"x": f"{place[0]:.1f}", "y": f"{place[1]:.1f}", "text-anchor": anchor, "fill": colour}
        ElementTree.SubElement(self._svg, "text", style).text = text
