"""Bar charts for Dagster's metadata: small SVG pictures inside Markdown.

Drawn here because a build shows some forty of them: matplotlib took two thirds of the time of a small build,
and its fonts lack Chinese; pygal breaks the import system of its process (docs/decisions/0027).
"""

import base64
from collections.abc import Mapping
from xml.etree import ElementTree

_WIDTH, _ROW, _TOP, _GAP = 680, 24, 34, 8
_VALUE_ROOM = 70
_CHARACTER = 7.2  # average width of a character at 12 px; a Chinese one counts twice


def bar_chart(title: str, bars: Mapping[str, float]) -> str:
    """A horizontal bar chart as Markdown with an inline SVG: shown offline and in any script.

    Args:
        title: What the bars count.
        bars: Label to value, in the order shown; values are at least 0.
    """
    image = base64.b64encode(_draw(title, bars)).decode("ascii")
    # The words repeat the picture for people who do not see it.
    words = ", ".join(f"{name}: {value:g}" for name, value in bars.items())
    return f"![{title}. {words}](data:image/svg+xml;base64,{image})\n\n{words}"


def _draw(title: str, bars: Mapping[str, float]) -> bytes:
    height = _TOP + _ROW * len(bars) + _GAP
    left = min(_WIDTH / 2, 2 * _GAP + _CHARACTER * max(map(_cells, bars), default=0))
    scale = (_WIDTH - left - _VALUE_ROOM) / max([*bars.values(), 1e-9])
    size = {"width": str(_WIDTH), "height": str(height)}
    svg = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "font-family": "sans-serif", "font-size": "12"}
    )
    ElementTree.SubElement(svg, "rect", {**size, "fill": "#ffffff"})
    _text(svg, title, _WIDTH / 2, 20, {"text-anchor": "middle", "font-size": "14"})
    for number, (name, value) in enumerate(bars.items()):
        top = _TOP + _ROW * number
        _text(svg, name, left - _GAP, top + 15, {"text-anchor": "end"})
        place = {
            "x": f"{left:g}",
            "y": str(top + 2),
            "width": f"{scale * value:.4g}",
            "height": str(_ROW - 6),
        }
        ElementTree.SubElement(svg, "rect", {**place, "fill": "#2f6f9f"})
        _text(svg, f"{value:g}", left + scale * value + _GAP / 2, top + 15, {})
    return bytes(ElementTree.tostring(svg, encoding="utf-8"))


def _text(svg: ElementTree.Element, text: str, x: float, y: float, style: Mapping[str, str]) -> None:
    attributes = {"x": f"{x:g}", "y": f"{y:g}", "fill": "#1c1c1c", **style}
    ElementTree.SubElement(svg, "text", attributes).text = text


def _cells(text: str) -> int:
    return sum(2 if ord(character) > 0x2E7F else 1 for character in text)
