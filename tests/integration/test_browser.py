"""Both pages in a real browser: episodes, replay, keyboard, languages, themes, attacks, access.

A script error, a line on the console, a breach of the content security policy or a request to another host
fails the test in which it happens.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import ACCESS, CONTRAST, chromium, watching
from builds import build, record, small_records, task, write_records
from run_folders import episode, failed, line, many, stubborn, write_run
from servers import ADMIN, ServerProcess

from shopsim_env import ShopEnv, load_release

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium on the PATH")
EVIL = '<script>window.hit=1</script><img src=x onerror="window.hit=2"><svg onload=window.hit=3>'
FORGED = "</pre></section><h1>页面：任务已终止</h1>\u202e反\u2066向\u2069"
VALUES = [EVIL, f"值{FORGED}", "' onclick='window.hit=5"]
TENT = "700000000003"


@pytest.fixture(scope="module")
def evil_release(tmp_path_factory) -> Path:
    """The small release and a product whose every text is an attack."""
    folder = tmp_path_factory.mktemp("evil")
    attack = record(
        "700000000066",
        f"陷阱 {EVIL}{FORGED}",
        shop_name=EVIL,
        category=f"陷阱›{EVIL}",
        attribute=[EVIL, "javascript:window.hit=4"],
        customization_options={f"轴{EVIL}": [{"value": value} for value in VALUES]},
        instructions=[task(f"想买陷阱 {EVIL}")],
    )
    report = build(folder, raw=write_records(folder / "raw.json.gz", [*small_records(), attack]))
    assert report.ok, report.problems
    return Path(report.release)


@pytest.fixture(scope="module")
def runs(evil_release, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    with load_release(evil_release) as release:
        odd = episode(release, 2, 5, reasoning=f"{EVIL}{FORGED}", instruction=EVIL)
        odd["episode_id"] = EVIL
        good = [episode(release, number, sample) for number in (2, 3) for sample in (0, 1)]
        write_run(root / "good", [*good, odd, failed(release.id, 3, 7, EVIL, FORGED)])
        write_run(root / "bad", [episode(release, number, 0, stubborn) for number in (2, 3)])
    write_run(root / f"{EVIL.replace('/', '_')}", many(120))
    return root


@pytest.fixture(scope="module")
def server(evil_release, runs):
    with ServerProcess(evil_release, "--runs", str(runs)) as found:
        yield found


@pytest.fixture(scope="module")
def browser(server):  # after the builds, which have event loops of their own
    with chromium(CHROMIUM) as found:
        yield found


Open = Callable[..., Any]


@pytest.fixture
def visit(browser, server) -> Iterator[Open]:
    """Opens a page of the server; at the end nothing may have gone wrong on any of them."""
    try:
        with watching(browser, server.port) as opening:
            yield opening
    finally:
        server.call("DELETE", "/v1/episodes", headers={"Authorization": f"Bearer {ADMIN}"})


def begin(page: Any, task_id: int, mode: str = "standard") -> None:
    page.wait_for_selector("#tasks option")
    page.select_option("#tasks", str(task_id))
    page.select_option("#task_mode", mode)
    page.click("#open")
    page.wait_for_selector("#typed")


def press(page: Any, name: str) -> None:
    page.locator("#episode button", has_text=name).first.click()


def shown(page: Any) -> str:
    return page.locator("#episode pre").first.text_content()


def seen(page: Any, text: str) -> None:
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)


def test_an_episode_by_mouse_is_what_an_agent_gets(visit, evil_release):
    page = visit("debug-ui")
    begin(page, 2)
    with load_release(evil_release) as release:
        env = ShopEnv(release, task_mode="standard")
        assert shown(page) == env.reset(2).observation
        page.locator("#episode form input").first.fill("露营帐篷")
        page.keyboard.press("Enter")
        seen(page, "search[露营帐篷]")
        assert shown(page) == env.step("search[露营帐篷]").observation
        press(page, TENT)
        seen(page, f"click[{TENT}]")
        assert shown(page) == env.step(f"click[{TENT}]").observation
        assert '{"name":"click","arguments":{"value":"700000000003"}}' in page.inner_text("#episode")
        press(page, "颜色分类=雾蓝")
        seen(page, "click[颜色分类=雾蓝]")
        press(page, "buy now")
        seen(page, "Reward")
    text = page.inner_text("#episode")
    assert "the gold one" in text
    assert "are shown with the admin token" in text
    assert page.locator("#episode section").filter(has_text="Gold against bought").count() == 0
    link = page.url
    again = visit(link.rpartition("/")[2], lang="zh-CN", theme="dark")
    seen(again, "click[buy now]")
    seen(again, "目标商品")
    assert shown(again) == shown(page)


def test_the_admin_token_opens_the_evidence(visit):
    page = visit("debug-ui")
    page.fill("input[type=password]", ADMIN)
    begin(page, 2)
    for action in ("search[露营帐篷]", f"click[{TENT}]", "click[颜色分类=雾蓝]", "click[buy now]"):
        page.fill("#typed", action)
        page.keyboard.press("Enter")
        seen(page, action)
    seen(page, "Gold against bought")
    assert "met" in page.inner_text("#episode")


def test_an_episode_by_keyboard_alone(visit):
    page = visit("debug-ui")
    page.wait_for_selector("#tasks option")
    page.select_option("#task_mode", "standard")
    page.focus("#tasks")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("#typed")
    assert page.evaluate("document.activeElement.id") == "observation_heading"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "typed"
    page.keyboard.type("click[nothing]")
    page.keyboard.press("Enter")
    seen(page, "unavailable_action")
    page.keyboard.press("/")
    page.keyboard.press("ArrowUp")
    assert page.input_value("#typed") == "click[nothing]"
    page.fill("#typed", json.dumps({"name": "search", "arguments": {"query": "水壶"}}))
    page.keyboard.press("Enter")
    seen(page, "search[水壶]")
    page.fill("#typed", "{not json")
    seen(page, "2 of 30 actions")
    page.keyboard.press("Enter")
    seen(page, "invalid_format")


def test_tasks_are_searched_filtered_and_drawn(visit):
    page = visit("debug-ui")
    page.wait_for_selector("#tasks option")
    page.fill("#find", "2")
    page.wait_for_function("() => document.querySelectorAll('#tasks option').length === 1")
    page.fill("#find", "")
    page.select_option("#persona", "yes")
    page.wait_for_function(
        "() => document.querySelector('#tasks').textContent.startsWith('0 · with persona')"
    )
    page.select_option("#persona", "")
    page.select_option("#split", "source/standard_eval")
    page.click("#draw")
    page.wait_for_selector("#typed")
    page.click("#give_back")
    seen(page, "No episode yet")


def test_a_persona_is_folded_and_a_shopper_can_be_asked(visit):
    page = visit("debug-ui")
    page.wait_for_selector("#tasks option")
    page.select_option("#interaction_mode", "multi_turn")
    begin(page, 0, "persona")
    folded = page.locator("details", has_text="Persona shown to the agent")
    assert not folded.evaluate("element => element.open")
    folded.locator("summary").click()
    seen(page, "露营")
    page.locator("input[placeholder=question]").fill("预算多少？")
    page.keyboard.press("Enter")
    seen(page, "ask_shopper[预算多少？]")


@pytest.mark.parametrize("fragment", ["#nothing", "#%7B%7D", "#%7B%22task_id%22%3A1e99%7D", "#%E0%A4%A"])
def test_a_link_that_holds_no_episode_says_so(visit, fragment):
    page = visit(f"debug-ui{fragment}")
    seen(page, "This link does not hold an episode")


def test_refusals_are_shown(visit):
    visit.allowed.append("status of 422")
    page = visit("debug-ui#" + "%7B%22task_id%22%3A999%7D")
    seen(page, "unknown_task")


@pytest.mark.parametrize("path", ["debug-ui", "replay-ui"])
def test_language_and_theme_are_chosen_and_kept(visit, path):
    page = visit(path)
    seen(page, "Agent view")
    assert page.evaluate("document.documentElement.lang") == "en"
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.select_option("header select >> nth=0", "zh")
    page.select_option("header select >> nth=1", "dark")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.evaluate(ground) != light
    page.reload()
    seen(page, "智能体视角")
    assert page.evaluate(ground) != light
    page.select_option("header select >> nth=1", "auto")
    assert page.evaluate(ground) == light


def test_catalogue_text_stays_text(visit):
    page = visit("debug-ui")
    begin(page, 4)
    for action in ("search[陷阱]", "click[700000000066]"):
        page.fill("#typed", action)
        page.keyboard.press("Enter")
        seen(page, action)
    assert "<script>window.hit=1</script>" in shown(page)
    values = page.locator("#episode button", has_text="轴<script>")
    assert values.count() == 3
    values.first.click()
    seen(page, "executed")
    page.locator("summary", has_text="observation_state").click()
    made = "script:not([src]), main img, main svg, main iframe, [onerror], [onload], [onclick], h1 ~ h1"
    assert page.locator(made).count() == 0
    assert page.locator("h1").count() == 1
    assert page.title() == "shopsim · agent view"


def test_replay_from_the_list_to_an_episode(visit):
    page = visit("replay-ui")
    seen(page, "3 runs and trace files")
    page.fill("#filter", "goo")
    seen(page, "1 runs and trace files")
    page.click("button:has-text('good')")
    seen(page, "Mean reward")
    assert page.locator("figure svg[role=img]").count() >= 4
    page.locator("figure summary").first.click()
    page.wait_for_selector("figure table")
    page.fill("#find", "task-000002__sample-001")
    page.keyboard.press("Enter")
    seen(page, "1 episodes")
    page.click("button:has-text('task-000002__sample-001')")
    seen(page, "Timeline")
    assert page.evaluate("document.activeElement.id") == "heading"
    page.locator("summary", has_text="Thinking").first.click()
    seen(page, "想一想")
    page.locator("article summary", has_text="Observation").first.click()
    seen(page, "页面：搜索首页")
    text = page.inner_text("main")
    assert "prompt 100" in text
    assert "13 ms" in text or "12 ms" in text
    page.fill("input[type=password]", ADMIN)
    page.keyboard.press("Tab")
    page.click("#evidence")
    seen(page, "Required attributes")
    page.go_back()
    seen(page, "1 episodes")


def test_replay_filters_sorts_and_turns_pages(visit):
    page = visit("replay-ui")
    page.locator("table button", has_text="script").click()
    seen(page, "120 episodes")
    seen(page, "1–50 / 120")
    page.click("button:has-text('Next')")
    seen(page, "51–100 / 120")
    page.locator("label", has_text="Sort by").locator("select").select_option("reward")
    seen(page, "1–50 / 120")
    page.locator("label", has_text="Order").locator("select").select_option("down")
    page.wait_for_function(
        "() => document.querySelector('section[aria-label=Episodes] tbody').innerText.includes('✓')"
    )
    page.locator("label", has_text="Success").locator("select").select_option("no")
    page.wait_for_function(
        "() => !document.querySelector('section[aria-label=Episodes] tbody').innerText.includes('✓')"
    )
    page.locator("label", has_text="Status").locator("select").select_option("failed")
    seen(page, "0 episodes")


def test_two_runs_side_by_side_in_the_browser(visit):
    page = visit("replay-ui")
    page.click("button:has-text('good')")
    seen(page, "Mean reward")
    page.locator("label", has_text="Compare with").locator("select").select_option(label="bad")
    seen(page, "B worse")
    assert "Pairs" in page.inner_text("main")
    page.click("button:has-text('Swap')")
    seen(page, "B better")
    page.reload()
    seen(page, "B better")


def test_text_of_traces_stays_text(visit):
    page = visit("replay-ui")
    page.click("button:has-text('good')")
    seen(page, "Mean reward")
    page.locator("table button", has_text="<script>").click()
    seen(page, "Timeline")
    page.locator("summary", has_text="Thinking").first.click()
    page.wait_for_selector("span.mark")
    assert "U+202E" in page.inner_text("main")
    assert page.locator("script:not([src]), main img, main iframe, [onerror], [onload]").count() == 0
    assert page.locator("h1").count() == 1


def test_a_run_that_is_not_there_says_so(visit):
    visit.allowed.append("status of 404")
    page = visit(f"replay-ui#run={'0' * 16}")
    seen(page, "unknown_run")
    page.click("button:has-text('All runs')")
    seen(page, "runs and trace files")


def test_a_server_with_a_token_asks_for_it(visit, evil_release, browser):
    token = "of-the-tests-a-token"  # noqa: S105
    with ServerProcess(evil_release, SHOPSIM_TOKEN=token) as guarded:
        context = browser.new_context(locale="en-US")
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{guarded.port}/debug-ui")
        seen(page, "unauthorized")
        page.fill("input[type=password]", token)
        page.keyboard.press("Enter")
        begin(page, 2)
        page.reload()
        seen(page, "Task 2")
        context.close()


def test_a_run_that_grows_is_followed_without_losing_what_is_typed(visit, runs):
    growing = runs / "growing.jsonl"
    records = [line(one) for one in many(3)]
    growing.write_bytes(records[0])
    page = visit("replay-ui")
    page.click("button:has-text('growing')")
    seen(page, "1 episodes")
    page.locator("#follow").check()
    page.fill("#find", "task-0000")
    with growing.open("ab") as stream:
        stream.write(records[1] + records[2])
    seen(page, "3 episodes")
    assert page.input_value("#find") == "task-0000"
    assert page.evaluate("document.activeElement.id") == "find"
    growing.unlink()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_everything_has_a_name_and_can_be_read(visit, theme, width):
    page = visit("debug-ui", lang="zh-CN", theme=theme, width=width)
    begin(page, 4)
    page.fill("#typed", "search[陷阱]")
    page.keyboard.press("Enter")
    seen(page, "700000000066")
    assert page.evaluate(ACCESS) + page.evaluate(CONTRAST) == []
    page.goto(page.url.partition("debug-ui")[0] + "replay-ui")
    page.click("button:has-text('good')")
    page.wait_for_selector("figure")
    assert page.evaluate(ACCESS) + page.evaluate(CONTRAST) == []
    page.click("button:has-text('task-000002__sample-001')")
    page.wait_for_selector("article")
    assert page.evaluate(ACCESS) + page.evaluate(CONTRAST) == []


def test_tab_goes_through_the_page_in_its_order(visit):
    page = visit("replay-ui")
    seen(page, "runs and trace files")
    order = []
    for _ in range(10):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
    assert order[0] == "skip"
    places = page.evaluate(
        "() => [...document.querySelectorAll('a, button, input, select, [tabindex=\"0\"]')]"
        ".map((element) => element.className || element.tagName)"
    )
    assert order == places[: len(order)]
