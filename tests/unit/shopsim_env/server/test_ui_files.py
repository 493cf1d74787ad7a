"""The files of the pages: words in both languages, no way from text to markup, contrast of every colour."""

import json
import re
from itertools import product

import pytest
from places import ROOT

from shopsim_env.server.pages import CONTENT_SECURITY_POLICY, read_pages

UI = ROOT / "shopsim_env" / "server" / "ui"
WORDS = json.loads((UI / "words.json").read_text(encoding="utf-8"))
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(UI.glob("*.js"))}
MARKUP = {path.name: path.read_text(encoding="utf-8") for path in sorted(UI.glob("*.html"))}
STYLE = (UI / "style.css").read_text(encoding="utf-8")


def test_every_word_is_there_in_both_languages() -> None:
    for key, row in WORDS.items():
        assert set(row) == {"en", "zh"}, key
        assert all(text.strip() for text in row.values()), key
        named = [set(re.findall(r"\{(\w+)\}", text)) for text in row.values()]
        assert named[0] == named[1], f"{key}: both languages say the same things"


def test_the_pages_use_the_words_that_there_are() -> None:
    used = set()
    for text in SCRIPTS.values():
        used |= set(re.findall(r'\bw\("([^"]+)"', text))
        used |= set(re.findall(r'"word:([^"]+)"', text))
    for text in MARKUP.values():
        used |= set(re.findall(r'data-(?:word|label|hint|title)="([^"]+)"', text))
    assert used <= set(WORDS)
    spoken = " ".join([*SCRIPTS.values(), *MARKUP.values()])
    prefixes = {*re.findall(r"w\(`([\w.]+)\.\$\{", spoken), *re.findall(r'known\("(\w+)"', spoken)}
    quoted = set(re.findall(r'"(?:word:)?([^"\s]+)"', spoken))
    unused = {key for key in WORDS if key not in quoted and key.rpartition(".")[0] not in prefixes}
    assert not unused


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_no_script_makes_markup_or_code_from_text(name: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
        r"|\beval\b|new Function|javascript:|setTimeout\(\s*[\"'`]|\.(?:href|src|style)\s*=(?!=)|import\("
        r"|https?://(?!www\.w3\.org/2000/svg)"
    )
    assert not re.findall(forbidden, SCRIPTS[name])


def test_the_pages_have_nothing_inline_and_nothing_from_elsewhere() -> None:
    for text in MARKUP.values():
        assert not re.findall(r"<style|\son\w+=|\sstyle=|https?:|//", text.replace("<!doctype", ""))
        assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.S) == [""]
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_every_file_is_a_page() -> None:
    pages = read_pages()
    assert set(pages) == {
        "/debug-ui",
        "/replay-ui",
        "/rlve-ui",
        *(f"/ui/{path.name}" for path in UI.iterdir() if path.suffix != ".html"),
    }


def luminance(colour: str) -> float:
    """WCAG 2.2: relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_by_hand() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


TEXTS = ("text", "quiet", "accent", "good", "bad", "warn")
GROUNDS = ("page", "panel", "sunken")


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_and_borders_can_be_told_from_their_ground(theme: int) -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", STYLE)
    colours = {name: values[theme] for name, *values in pairs}
    for text, ground in [*product(TEXTS, GROUNDS), ("on-accent", "accent"), ("on-mark", "mark")]:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for ground in GROUNDS:
        assert contrast(colours["line"], colours[ground]) >= 3, ground
