"""Recorded RLVE episodes on the replay page: list, figures, turns, goal; over HTTP and in a real browser."""

import copy
import json
import shutil

import pytest
from browsing import ACCESS, CONTRAST, chromium, watching
from places import ROOT
from rlve_world import DONE, sample_market
from servers import ADMIN, ServerProcess

from shopsim_env.canonical import compact_json
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.trace import TracedEpisode

SAMPLE = ROOT / "shopsim_env" / "sample_release"
API = "/replay-ui/api"
BEARER = {"Authorization": f"Bearer {ADMIN}"}
EVIL = '<script>window.hit=1</script><img src=x onerror="window.hit=2">\u202e'
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def played():
    """A success of the oracle, an early answer, a refused turn and one that was left."""
    with sample_market() as market:
        won = TracedEpisode(market, EpisodeKey("PD", 2, 1))
        agent = oracle("PD")
        while not won.done:
            won.step(agent.act(won.sight()))
        early = TracedEpisode(market, EpisodeKey("POLICY", 3, 4, "en", {"p_noise": 0.1}))
        early.step(DONE)
        left = TracedEpisode(market, EpisodeKey("POLICY", 3, 5), strict=False)
        left.step('{"assistant_message": 3}')
        left.step({"assistant_message": EVIL})
        assert won.reward.success
        return {"won": won, "early": early, "left": left}


@pytest.fixture(scope="module")
def runs(played, tmp_path_factory):
    root = tmp_path_factory.mktemp("rlve") / "runs"
    root.mkdir()
    lines = [played[name].record.line() for name in ("won", "early", "left")]
    (root / "ours.jsonl").write_bytes(b"".join(lines))
    second = copy.deepcopy(played["won"].record)
    second.reward["total"] -= 0.5
    (root / "theirs.jsonl").write_bytes(second.line())
    odd = json.loads(lines[1])
    strange = [
        {**odd, "release": "0" * 64},
        {**odd, "suite": "rlve-0"},
        {**odd, "observations": ["x" * 64, odd["observations"][1]]},
        {**odd, "key": {**odd["key"], "difficulty": 10**9}},
        {**odd, "key": {**odd["key"], "env_id": EVIL}},
        {**odd, "key": {"seed": 1}, "actions": 3, "reward": "x", "reason": []},
    ]
    bad = [b"{}", compact_json({**odd, "key": {"seed": "x"}}).encode()]
    body = b"\n".join([compact_json(one).encode() for one in strange] + bad) + b"\n"
    (root / "odd.jsonl").write_bytes(body)
    return root


@pytest.fixture(scope="module")
def server(runs):
    with ServerProcess(SAMPLE, "--runs", str(runs)) as found:
        yield found


def ok(answer):
    assert answer[0] == 200, answer
    return answer[1]


@pytest.fixture
def ids(server):
    return {run["name"]: run["id"] for run in ok(server.call("GET", f"{API}/runs"))["runs"]}


def test_list_and_figures(server, ids, played):
    run = ok(server.call("GET", f"{API}/run?run={ids['ours.jsonl']}"))
    assert run["figures"]["counts"] == {"recorded": 3, "completed": 2, "failed": 0, "scored": 2}
    totals = [played[name].reward.total for name in ("won", "early")]
    assert run["figures"]["reward"]["mean"] == pytest.approx(sum(totals) / 2)
    assert run["figures"]["reward"]["success"] == (1.0 + played["early"].reward.success) / 2
    assert run["figures"]["reward_least"] == -1.0
    bins = [0] * 10
    for total in totals:
        bins[int((total + 1) * 5)] += 1
    assert run["figures"]["reward_histogram"] == bins
    assert dict(run["figures"]["termination_reasons"]) == {"agent_done": 2}

    def listed(**wish):
        query = "&".join(f"{name}={value}" for name, value in wish.items())
        found = ok(server.call("GET", f"{API}/episodes?run={ids['ours.jsonl']}&{query}"))
        return [row["task"] for row in found["episodes"]]

    everything = ["PD d2 zh · 1", "POLICY d3 en p_noise=0.1 · 4", "POLICY d3 zh · 5"]
    assert listed() == everything
    assert listed(order="down") == everything[::-1]
    assert listed(find="policy") == everything[1:]
    assert listed(find="4") == everything[1:2]
    assert listed(success="yes") == everything[:1]
    assert listed(status="unfinished") == everything[2:]


def test_an_episode_turn_by_turn(server, ids, played):
    found = ok(server.call("GET", f"{API}/episode?run={ids['ours.jsonl']}&episode=line-000001"))
    episode = played["won"]
    assert (found["kind"], found["note"], found["reason"]) == ("rlve", None, "agent_done")
    assert found["reward"] == json.loads(json.dumps(episode.record.reward))
    assert found["opening"]["equal"]
    assert all(step["equal"] for step in found["steps"])
    assert [step["action"] for step in found["steps"]] == episode.record.actions
    said = [*found["opening"]["said"], *(one for step in found["steps"] for one in step["said"])]
    assert said == episode.observation()["conversation"]
    assert found["steps"][-1]["results"] == json.loads(json.dumps(episode.observation()["tool_results"]))
    left = ok(server.call("GET", f"{API}/episode?run={ids['ours.jsonl']}&episode=line-000003"))
    assert left["steps"][0]["fault"]["code"]
    assert left["steps"][0]["said"] == []
    assert left["status"] == "unfinished"


def test_what_cannot_be_played_says_why(server, ids):
    def shown(number):
        return ok(server.call("GET", f"{API}/episode?run={ids['odd.jsonl']}&episode=line-00000{number}"))

    notes = [shown(number)["note"] for number in range(1, 7)]
    assert notes == ["other_release", "other_suite", None, "unplayable", "unplayable", "unplayable"]
    assert [shown(3)["opening"]["equal"], shown(3)["steps"][0]["equal"]] == [False, True]
    run = ok(server.call("GET", f"{API}/run?run={ids['odd.jsonl']}"))
    assert (run["recorded"], run["invalid_lines"]) == (6, 2)


def test_the_goal_is_the_admins_and_comes_after_the_end(server, ids, played):
    path = f"{API}/evidence?run={ids['ours.jsonl']}&episode=line-00000"
    assert server.call("GET", f"{path}1")[1]["code"] == "admin_only"
    found = ok(server.call("GET", f"{path}1", headers=BEARER))
    assert found["goal"] == json.loads(json.dumps(played["won"].goal()))
    assert found["score"]["score"] == played["won"].score.score
    assert server.call("GET", f"{path}3", headers=BEARER)[1]["code"] == "not_ended"
    strange = f"{API}/evidence?run={ids['odd.jsonl']}&episode=line-00000"
    assert server.call("GET", f"{strange}1", headers=BEARER)[1]["code"] == "other_release"
    assert server.call("GET", f"{strange}4", headers=BEARER)[1]["code"] == "other_release"


def test_two_runs_are_paired_by_key(server, ids):
    found = ok(server.call("GET", f"{API}/compare?first={ids['ours.jsonl']}&second={ids['theirs.jsonl']}"))
    assert (found["pairs"], found["only_first"], found["worse"]) == (1, 2, 1)
    (task,) = found["tasks"]
    assert (task["task"], task["task_id"]) == ("PD d2 zh · 1", 1)
    assert task["difference"] == pytest.approx(-0.5)


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium on the PATH")
    with chromium(CHROMIUM) as found:
        yield found


@pytest.mark.parametrize(("lang", "theme", "width"), [("zh-CN", "light", 1280), ("en-US", "dark", 400)])
def test_the_page(browser, server, ids, tmp_path, lang, theme, width):
    zh = lang == "zh-CN"
    with watching(browser, server.port) as opening:
        page = opening(f"replay-ui#run={ids['ours.jsonl']}", lang, theme, width)

        def seen(text):
            page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)

        def fine():
            assert page.evaluate(ACCESS) == []
            assert page.evaluate(CONTRAST) == []

        seen("PD d2 zh · 1")
        seen("智能体给出答案" if zh else "answered")
        fine()
        page.screenshot(path=tmp_path / f"run-{lang}.png", full_page=True)
        page.click("text=line-000001")
        seen("第 1 轮" if zh else "Turn 1")
        seen("与记录一致" if zh else "as recorded")
        seen("总奖励" if zh else "Total reward")
        page.locator("summary").first.click()
        fine()
        page.screenshot(path=tmp_path / f"episode-{lang}.png", full_page=True)
        page.evaluate(f"location.hash = 'run={ids['ours.jsonl']}&episode=line-000003'")
        seen("U+202E")
        assert page.locator("article img, article script").count() == 0
        page.evaluate(f"location.hash = 'run={ids['odd.jsonl']}&episode=line-000005'")
        seen("无法在当前发行版上重放" if zh else "cannot be played on this release")
        fine()


def test_the_goal_on_the_page(browser, server, ids, played):
    with watching(browser, server.port) as opening:
        page = opening(f"replay-ui#run={ids['ours.jsonl']}&episode=line-000001")
        page.fill("input[type=password]", ADMIN)
        page.keyboard.press("Tab")
        page.click("#evidence")
        page.wait_for_selector("#goal")
        assert page.evaluate(ACCESS) == []
