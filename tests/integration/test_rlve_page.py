"""The playground of RLVE in a real browser: a person is the agent, from the opening to the score.

A script error, a line on the console, a breach of the content security policy or a request to another host
fails the test in which it happens.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import ACCESS, CONTRAST, chromium, watching
from places import ROOT
from rlve_world import sample_market
from servers import ServerProcess

from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.trace import compare_record

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium on the PATH")
SAMPLE = ROOT / "shopsim_env" / "sample_release"
EVIL = '<script>window.hit=1</script><img src=x onerror="window.hit=2">'


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ServerProcess(SAMPLE) as found:
        yield found


@pytest.fixture(scope="module")
def browser(server):
    with chromium(CHROMIUM) as found:
        yield found


Open = Callable[..., Any]


@pytest.fixture
def visit(browser, server) -> Iterator[Open]:
    """Opens a page of the server; at the end nothing may have gone wrong on any of them."""
    with watching(browser, server.port, "blob:") as opening:
        yield opening


def seen(page: Any, text: str) -> None:
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)


def field(page: Any, form: str, name: str) -> Any:
    """The control of a field by its name."""
    label = page.locator(f"{form} label.field").filter(has=page.locator(f"code:text-is('{name}')"))
    return label.locator("input, select, textarea")


def told(
    env_id: str, difficulty: int, seed: int, language: str = "zh"
) -> tuple[str, list[dict[str, Any]], Any]:
    """Opening, turns that the oracle plays, and the goal of an episode."""
    with sample_market() as market:
        episode, agent, turns = (
            Episode(market, EpisodeKey(env_id, difficulty, seed, language)),
            oracle(env_id),
            [],
        )
        opening = episode.observation()["conversation"][0]["content"]
        while not episode.done:
            turns.append(agent.act(episode.sight()))
            episode.step(turns[-1])
        return opening, turns, episode.goal()


def test_a_policy_question_is_answered_with_the_forms(visit, tmp_path):
    opening, turns, goal = told("POLICY", 4, 3)
    page = visit("rlve-ui", lang="zh-CN")
    page.wait_for_selector("#env option[value=POLICY]", state="attached")
    page.select_option("#env", "POLICY")
    page.fill("#difficulty", "4")
    page.fill("#seed", "3")
    page.click("#open")
    page.wait_for_selector("#composer")
    assert page.locator("article.said.user bdi").text_content() == opening
    for turn in turns[:-1]:
        page.fill("#message", turn["assistant_message"])
        for called in turn.get("tool_calls", []):
            page.select_option("#tool", called["name"])
            for name, value in called["args"].items():
                field(page, "#tool_form", name).fill(str(value))
            page.click("#add_call")
        count = page.locator("article").count()
        page.click("#send")
        page.wait_for_function(
            "count => document.querySelectorAll('article').length === count + 2", arg=count
        )
        assert goal["rule"] not in page.locator("#composer").inner_text()
    assert page.locator("#goal").count() == 0
    page.check("#done")
    right = turns[-1]["answer"]["policy_answer"]
    page.select_option("#answer_form fieldset select", right["kind"])
    page.fill("#answer_form fieldset input >> nth=0", str(right["value"]))
    field(page, "#answer_form", "policy_rule_id").fill(goal["rule"])
    page.click("#send")
    page.wait_for_selector("#goal")
    assert "成功" in page.locator("section[aria-label=结果] .badge").inner_text()
    assert goal["rule"] in page.inner_text("#goal")
    assert page.evaluate("document.activeElement.id") == "result_heading"
    with page.expect_download() as download:
        page.click("#trace")
    path = tmp_path / "trace.jsonl"
    download.value.save_as(path)
    with sample_market() as market:
        assert compare_record(path.read_bytes(), 1, market) is None
    again = visit(page.url.rpartition("/")[2], lang="en-US", theme="dark")
    again.wait_for_selector("#goal")
    assert again.locator("article").count() == page.locator("article").count()
    assert again.inner_text("#facts").startswith("POLICY · difficulty 4 · seed 3")
    again.set_input_files("#recorded", path)
    again.wait_for_selector("#equal")
    assert again.inner_text("#equal") == "as recorded"


def test_products_are_cards_whose_buttons_call_and_answer(visit):
    page = visit("rlve-ui?env=PD&difficulty=2&seed=3&language=en")
    page.wait_for_selector("#composer")
    field(page, "#tool_form", "price_max").fill("80")
    field(page, "#tool_form", "in_stock").select_option("true")
    page.click("#send")  # a call that was filled in belongs to the turn
    page.wait_for_selector("li.entry")
    first = page.locator("li.entry").first
    name = first.locator("code").inner_text()
    first.locator("button", has_text="Details").click()
    seen(page, "catalog.get_product")
    first.locator("button", has_text="Variants").click()
    seen(page, "Tool calls (2 of 2)")
    assert page.locator("#add_call").is_disabled()
    page.locator("#tool_form button[aria-label*=get_variants]").click()
    page.click("#send")
    seen(page, "Description")
    field(page, "#tool_form", "top_k").fill("many")
    page.click("#send")
    seen(page, "The turn was refused and does not count. bad_arguments")
    seen(page, "Turn 3 of 5")
    page.locator("#tool_form ol button").click()
    page.check("#done")
    field(page, "#answer_form", "recommended_product_ids").fill(name)
    page.click("#send")
    page.wait_for_selector("#goal")
    seen(page, "Weights")
    assert page.locator("#composer").count() == 0


def test_what_is_typed_stays_text(visit):
    page = visit("rlve-ui?env=CART&difficulty=0&seed=1")
    page.wait_for_selector("#composer")
    page.fill("#message", EVIL)
    page.select_option("#tool", "catalog.search")
    field(page, "#tool_form", "query").fill(EVIL)
    page.click("#send")
    seen(page, EVIL)
    made = "script:not([src]), main img, main svg, main iframe, [onerror], [onload], [onclick]"
    assert page.locator(made).count() == 0
    page.click("#give_back")
    seen(page, "No episode yet")


@pytest.mark.parametrize("query", ["?env=XX", "?env=PD#nothing", "?env=PD#%7B%7D", "?env=PD&overrides=x"])
def test_a_link_that_holds_no_episode_says_so(visit, query):
    seen(visit(f"rlve-ui{query}"), "This link does not hold an episode")


def test_wrong_numbers_and_files_are_named(visit, tmp_path):
    page = visit("rlve-ui")
    page.wait_for_selector("#env option", state="attached")
    page.fill("#difficulty", "101")
    page.click("#open")
    seen(page, "expected a whole number from 0 to 100")
    (tmp_path / "x.jsonl").write_text("{}")
    page.set_input_files("#recorded", tmp_path / "x.jsonl")
    seen(page, "does not begin with a record")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_everything_has_a_name_and_can_be_read(visit, theme, width):
    _, turns, _ = told("JOURNEY", 4, 3)
    link = "rlve-ui?env=JOURNEY&difficulty=4&seed=3&language=zh"
    page = visit(f"{link}#{json.dumps(turns[:-1])}", lang="zh-CN", theme=theme, width=width)
    page.wait_for_selector("#composer")
    page.check("#done")
    assert page.evaluate(ACCESS) + page.evaluate(CONTRAST) == []
    page.select_option("header select >> nth=0", "en")
    seen(page, "Send the turn")
    assert page.is_checked("#done"), "what was typed stays when the language changes"
    page = visit(f"{link}#{json.dumps(turns)}", lang="zh-CN", theme=theme, width=width)
    page.wait_for_selector("#goal")
    assert page.evaluate(ACCESS) + page.evaluate(CONTRAST) == []
