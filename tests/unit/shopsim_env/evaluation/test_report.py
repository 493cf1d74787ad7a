"""Markdown and HTML: every text stays text, charts have tables, words exist in both languages."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from evaluated_runs import altered, broken, outcome, planned_run, write_lines

from shopsim_env.evaluation.card import make_card
from shopsim_env.evaluation.card_view import card_sections
from shopsim_env.evaluation.charts import shortened
from shopsim_env.evaluation.comparison_view import comparison_sections
from shopsim_env.evaluation.markdown import write_markdown
from shopsim_env.evaluation.paired import compare_runs
from shopsim_env.evaluation.report import write_html
from shopsim_env.evaluation.results import read_run
from shopsim_env.evaluation.views import cells, p_value, signed, span
from shopsim_env.evaluation.words import _WORDS, Words

EVIL = "</style></td><script>hit()</script><img src=x onerror=hit()>|[a](javascript:hit())`*_~&amp;\"'"
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "p", "nav", "ul", "li"),
    *("main", "section", "div", "figure", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "line", "circle", "polygon", "polyline", "text"),
}


class Reader(HTMLParser):
    """Takes an HTML file apart as browsers do."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def evil_run(tmp_path: Path) -> Any:
    records = [
        altered(outcome(1, sample, 1.0, reason=EVIL), "provenance.model.name", EVIL) for sample in (0, 1)
    ]
    records.append(altered(broken(2, 0, EVIL), "provenance.model", {"name": EVIL}))
    for record in records:
        record["provenance"][EVIL] = EVIL
        record["provenance"]["prompt"] = {EVIL: EVIL}
        record["job"]["split"] = EVIL
    return read_run(write_lines(tmp_path / "a.jsonl", records))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_texts_of_a_run_are_never_markup(evil_run: Any, language: str) -> None:
    words = Words(language)
    documents = [
        card_sections(make_card(evil_run), words),
        comparison_sections(compare_runs(evil_run, evil_run), words),
    ]
    for sections in documents:
        html = write_html(EVIL, EVIL, sections, words)
        found = Reader(html)
        assert set(found.tags) <= TAGS
        names = {name for name, _ in found.attributes}
        assert not {name for name in names if name.startswith("on") or name in ("style", "src")}
        assert {value for name, value in found.attributes if name == "href"} <= {
            "#content",
            *(f"#section-{number}" for number in range(1, len(sections) + 1)),
        }
        assert found.texts.count(EVIL) >= 3  # as title, as heading and as subtitle, whole


def test_the_policy_allows_the_style_of_the_file_and_nothing_else(evil_run: Any) -> None:
    html = write_html("t", "s", card_sections(make_card(evil_run), Words("en")), Words("en"))
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert ("content", policy) in Reader(html).attributes
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert "--accent: light-dark(" in style
    assert "http" not in style
    assert "url(" not in style
    assert "@import" not in style


def test_markdown_shows_texts_literally(evil_run: Any) -> None:
    text = write_markdown(EVIL, card_sections(make_card(evil_run), Words("en")))
    # Nothing unescaped that could begin a tag, a link, code or another cell.
    for line in text.splitlines():
        plain = re.sub(r"\\.", "", line)
        assert not re.search(r"[<>`\[\]~&]", plain), line
        if line.startswith("|"):
            assert plain.startswith("|")
            assert plain.endswith("|")
    tables = [part for part in re.split(r"\n\n", text) if part.startswith("|")]
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", row))) for row in table.splitlines()}
        assert len(widths) == 1, table


def test_every_chart_has_its_table(tmp_path: Path) -> None:
    records = [outcome(task, sample, float(sample)) for task in (1, 2) for sample in (0, 1)]
    jobs = [(task, sample) for task in (1, 2) for sample in (0, 1)]
    run = read_run(planned_run(tmp_path / "run", records, jobs))
    html = write_html("t", "s", card_sections(make_card(run), Words("en")), Words("en"))
    # Metrics, and pass@k with more than one k.
    assert html.count("<svg") == html.count("<figure") == 2
    for figure in html.split("<figure>")[1:]:
        after = figure.split("</figure>", 1)[1]
        assert re.match(r'</div><div class="scroll"[^>]*><table><caption[^>]*>', after)
    assert re.findall(r'<svg [^>]*role="img"[^>]*aria-label="[^"]+"', html)
    # Success of 1/2 stands in the middle of the axis, which reaches from 270 to 690.
    assert '<circle class="dot" cx="480.0"' in html


def test_words_exist_in_both_languages() -> None:
    for key, (english, chinese) in _WORDS.items():
        assert english.strip(), key
        assert chinese.strip(), key
        assert re.findall(r"\{\w+\}", english) == sorted(re.findall(r"\{\w+\}", chinese)), key
    assert Words("zh").name("persona") == "人设"
    assert Words("zh").name("no such word") == "no such word"


def test_forms_of_numbers() -> None:
    assert span((0.1, 0.25)) == "0.100 … 0.250"
    assert span(None) == "–"
    assert (signed(0.5), signed(-0.25), signed(None)) == ("+0.500", "-0.250", "–")
    assert (p_value(1.0), p_value(0.03125), p_value(2**-20), p_value(None)) == (
        "1.0000",
        "0.0312",
        "9.5e-07",
        "–",
    )
    assert cells("ab选项") == 6
    assert shortened("短 label") == "短 label"
    assert shortened("长" * 18) == "长" * 18
    assert shortened("长" * 19) == "长" * 17 + "…"
