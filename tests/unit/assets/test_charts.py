"""Bar charts: lengths by arithmetic, labels as text and never as markup, the numbers in words beside them."""

import base64
import re
from xml.etree import ElementTree

from assets._charts import bar_chart

SVG = "{http://www.w3.org/2000/svg}"


def picture(markdown: str) -> ElementTree.Element:
    found = re.search(r"\(data:image/svg\+xml;base64,([^)]*)\)", markdown)
    assert found
    return ElementTree.fromstring(base64.b64decode(found.group(1)))


def test_bars_are_as_long_as_their_values() -> None:
    svg = picture(bar_chart("tasks", {"a": 50, "b": 100, "c": 0}))
    widths = [float(rect.attrib["width"]) for rect in svg.findall(f"{SVG}rect")[1:]]
    # 680 wide; labels take 2 * 8 + 7.2, numbers 70: the longest bar has 586.8.
    assert widths == [293.4, 586.8, 0]


def test_labels_and_numbers_are_text() -> None:
    svg = picture(bar_chart("<b>任务</b>", {"<script>": 1.5, "中文": 2}))
    assert [text.text for text in svg.findall(f"{SVG}text")] == [
        "<b>任务</b>",
        "<script>",
        "1.5",
        "中文",
        "2",
    ]
    assert {element.tag for element in svg.iter()} == {f"{SVG}svg", f"{SVG}rect", f"{SVG}text"}


def test_the_words_repeat_the_picture() -> None:
    assert bar_chart("tasks", {"a": 1, "b": 2.5}).endswith("\n\na: 1, b: 2.5")
    assert bar_chart("nothing", {}).startswith("![nothing. ](data:image/svg+xml;base64,")
