"""The report in a real browser: policy, attacks, access, contrast, both languages and themes, narrow screens.

A line on the console, a breach of the policy or a request beyond the file fails the test.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browsing import ACCESS, CONTRAST, chromium, watching
from evaluated_runs import altered, broken, outcome, planned_run

from shopsim_env.evaluation.card import make_card
from shopsim_env.evaluation.card_view import card_sections
from shopsim_env.evaluation.comparison_view import comparison_sections
from shopsim_env.evaluation.paired import compare_runs
from shopsim_env.evaluation.report import write_html
from shopsim_env.evaluation.results import read_run
from shopsim_env.evaluation.words import Words

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium on the PATH")
EVIL = (
    '</style></table><script>window.hit=1</script><img src=x onerror="window.hit=2"><svg onload=window.hit=3>'
)
JOBS = [(task, sample) for task in range(8) for sample in (0, 1)]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of runs whose every text is an attack."""
    root = tmp_path_factory.mktemp("reports")
    runs = []
    for name, step in (("a", 2), ("b", 3)):
        records = [
            altered(
                outcome(task, sample, float((task + sample) % step == 0), reason=("purchase", EVIL)[sample]),
                "provenance.model.name",
                f"{name} {EVIL}",
            )
            for task, sample in JOBS[:-1]
        ]
        runs.append(read_run(planned_run(root / name, [*records, broken(7, 1, EVIL)], JOBS)))
    for language in ("en", "zh"):
        words = Words(language)
        documents = {
            "card": card_sections(make_card(runs[0]), words),
            "comparison": comparison_sections(compare_runs(*runs), words),
        }
        for name, sections in documents.items():
            text = write_html(EVIL, EVIL, sections, words)
            (root / f"{name}-{language}.html").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def opening(folder: Path) -> Iterator[Callable[..., Any]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with chromium(CHROMIUM) as browser, watching(browser, server.server_port) as opener:
        yield opener
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["card", "comparison"])
@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh", "dark")])
def test_report(opening: Callable[..., Any], name: str, language: str, theme: str) -> None:
    page = opening(f"{name}-{language}.html", theme=theme)
    assert page.evaluate(ACCESS) == []
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    # The style applies: its hash is the one that the policy names.
    panel = page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert panel == ("rgb(255, 255, 255)" if theme == "light" else "rgb(29, 32, 38)")
    assert page.inner_text("h1") == EVIL
    labels = page.evaluate(
        """() => [...document.querySelectorAll('svg text')].filter((text) => {
            const [box, all] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
            return box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1;
        }).map((text) => text.textContent)"""
    )
    assert labels == []


def test_report_on_a_narrow_screen(opening: Callable[..., Any]) -> None:
    page = opening("comparison-en.html", width=360)
    assert page.evaluate(ACCESS) == []
