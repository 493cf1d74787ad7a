"""A report as one HTML file: charts with tables, offline, without script.

Belongs here: elements. The document is a tree of ElementTree, so text of models and catalogues is only ever
text; a Content-Security-Policy allows nothing but the style that the file carries, by its hash.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from shopsim_env.evaluation.charts import draw
from shopsim_env.evaluation.views import Section, Table
from shopsim_env.evaluation.words import Words

_HERE: Final = Path(__file__).resolve().parent
# Colours are named once, at the head of the style of the pages.
_PALETTE: Final = _HERE.parent / "server" / "ui" / "style.css"


def write_html(title: str, subtitle: str, sections: Sequence[Section], words: Words) -> str:
    """The document as text."""
    language = "zh-Hans" if words.language == "zh" else "en"
    html = Element("html", {"lang": language})
    html.append(_head(title))
    body = SubElement(html, "body")
    SubElement(body, "a", {"class": "skip", "href": "#content"}).text = words["to_content"]
    header = SubElement(body, "header")
    SubElement(header, "h1").text = title
    SubElement(header, "p").text = subtitle
    body.append(_contents(sections, words))
    main = SubElement(body, "main", {"id": "content"})
    for number, section in enumerate(sections, start=1):
        main.append(_section(number, section))
    return "<!doctype html>\n" + ElementTree.tostring(html, encoding="unicode", method="html") + "\n"


def _head(title: str) -> Element:
    head, style = Element("head"), _style()
    SubElement(head, "meta", {"charset": "utf-8"})
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": policy})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    SubElement(head, "title").text = title
    SubElement(head, "style").text = style
    return head


def _style() -> str:
    """Palette and style; style elements are not escaped, and ours need not be."""
    palette, end, _ = _PALETTE.read_text(encoding="utf-8").partition("}\n")
    return palette + end + (_HERE / "report.css").read_text(encoding="utf-8")


def _contents(sections: Iterable[Section], words: Words) -> Element:
    nav = Element("nav", {"aria-label": words["sections"]})
    entries = SubElement(nav, "ul")
    for number, section in enumerate(sections, start=1):
        link = SubElement(SubElement(entries, "li"), "a", {"href": f"#section-{number}"})
        link.text = section.title
    return nav


def _section(number: int, section: Section) -> Element:
    heading = f"heading-{number}"
    element = Element("section", {"id": f"section-{number}", "aria-labelledby": heading})
    SubElement(element, "h2", {"id": heading}).text = section.title
    for note in section.notes:
        SubElement(element, "p").text = note
    for chart, table in section.charts:
        figure = SubElement(_scroll(element, chart.label), "figure")
        figure.append(draw(chart))
        _table(element, table, named=table.caption != section.title)
    for table in section.tables:
        _table(element, table, named=table.caption != section.title)
    return element


def _scroll(parent: Element, label: str) -> Element:
    """A part that scrolls sideways on narrow screens, with the keyboard as well."""
    part = {"class": "scroll", "role": "region", "tabindex": "0", "aria-label": label}
    return SubElement(parent, "div", part)


def _table(parent: Element, table: Table, *, named: bool) -> None:
    element = SubElement(_scroll(parent, table.caption), "table")
    # A table under its own heading needs no second one to look at; readers of the screen still name it.
    SubElement(element, "caption", {} if named else {"class": "spoken"}).text = table.caption
    head = SubElement(SubElement(element, "thead"), "tr")
    for text in table.head:
        SubElement(head, "th", {"scope": "col"}).text = text
    body = SubElement(element, "tbody")
    for row in table.rows:
        line = SubElement(body, "tr")
        for text in row:
            SubElement(line, "td").text = text
