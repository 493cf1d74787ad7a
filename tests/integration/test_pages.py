"""The pages over HTTP: headers, tokens, runs below the root alone, evidence for the admin alone."""

import http.client
import json
from pathlib import Path
from typing import Any

import builds
import pytest
from run_folders import episode, failed, line, many, stubborn, write_run
from servers import ADMIN, ServerProcess, call, serve_here

from shopsim_env import load_release
from shopsim_env.cli import main
from shopsim_env.recording import TracedEnv
from shopsim_env.runs.folder import RunRoot
from shopsim_env.server.replays import Replays
from shopsim_env.trace import TraceWriter

API = "/replay-ui/api"
BEARER = {"Authorization": f"Bearer {ADMIN}"}
CANARIES = [builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER]
WIN = ["search[露营帐篷]", "click[700000000003]", "click[颜色分类=雾蓝]", "click[buy now]"]


def write_traces(release: Any, path: Path) -> None:
    with TraceWriter(path) as writer:
        env = TracedEnv(release, writer=writer, task_mode="standard")
        env.reset(2, seed=1)
        for action in WIN:
            env.step(action)
        env.reset(2)
        env.step("click[nothing]")
        env.terminate("generation_length")
        env.reset(3)
        env.step("search[杯垫]")
        env.close()
        # A task with a persona, whose full text, options and attributes are canaries.
        env = TracedEnv(release, writer=writer)
        env.reset(0)
        env.step("search[营地灯]")
        env.step("click[700000000001]")
        env.terminate("action_limit")
        env.close()


@pytest.fixture(scope="module")
def runs(small_release, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("recorded") / "runs"
    with load_release(small_release) as release:
        first = [episode(release, task, sample) for task in (2, 3) for sample in (0, 1)]
        write_run(root / "first", [*first, failed(release.id, 3, 7)], plan={"jobs": [{}] * 6})
        write_run(root / "second", [episode(release, task, 0, stubborn) for task in (2, 3)])
        write_traces(release, root / "traces-v1.jsonl")
    write_run(root / "foreign", many(3))
    (root / "first" / "summary.json").write_text("[]", encoding="utf-8")
    (root.parent / "secret.jsonl").write_bytes(line(next(many(1))))
    (root / "link.jsonl").symlink_to("../secret.jsonl")
    return root


@pytest.fixture(scope="module")
def server(small_release, runs):
    with ServerProcess(small_release, "--runs", str(runs)) as found:
        yield found


def ok(answer: Any) -> Any:
    assert answer[0] == 200, answer
    return answer[1]


def ids(server: ServerProcess) -> dict[str, str]:
    return {run["name"]: run["id"] for run in ok(server.call("GET", f"{API}/runs"))["runs"]}


def code_of(answer: Any) -> tuple[int, str]:
    return answer[0], answer[1]["code"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/debug-ui", "text/html; charset=utf-8"),
        ("/replay-ui", "text/html; charset=utf-8"),
        ("/rlve-ui", "text/html; charset=utf-8"),
        ("/ui/common.js", "text/javascript; charset=utf-8"),
        ("/ui/style.css", "text/css; charset=utf-8"),
        ("/ui/words.json", "application/json"),
        ("/ui/icon.svg", "image/svg+xml"),
    ],
)
def test_pages_come_with_strict_headers_and_are_not_sent_twice(server, path, kind):
    status, _, headers = server.call("GET", path)
    assert (status, headers["content-type"]) == (200, kind)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    tag = headers["etag"]
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        status, body, again = server.call("GET", path, headers={"If-None-Match": known})
        assert (status, body, again["etag"]) == (304, b"", tag)
    assert server.call("GET", path, headers={"If-None-Match": '"other"'})[0] == 200
    assert code_of(server.call("POST", path, {})) == (405, "method_not_allowed")


PATHS = [
    "/ui/../server/app.py",
    "/ui/%2e%2e/app.py",
    "/ui/..%2fapp.py",
    "/ui//etc/passwd",
    "/ui/",
    "/debug-ui/",
    "/debug-ui/../ui/common.js",
    "/ui/common.js%00.html",
    "/replay-ui/api/../../ui/common.js",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_of_a_request_leads_to_a_file(server, path):
    wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    wire.putrequest("GET", path, skip_accept_encoding=True)
    wire.endheaders()
    answer = wire.getresponse()
    body = answer.read()
    wire.close()
    assert answer.status == 404
    assert json.loads(body)["code"] == "not_found"


BAD_RUNS = ["../secret.jsonl", "..%2Fsecret.jsonl", "%2Fetc%2Fpasswd", "first", "link.jsonl", "%00", ""]


@pytest.mark.parametrize("run", BAD_RUNS)
@pytest.mark.parametrize("name", ["run", "episodes", "episode", "compare"])
def test_a_run_is_named_by_its_id_alone(server, name, run):
    more = {"episode": f"run={run}&episode=x", "compare": f"first={run}&second={run}"}
    status, problem, _ = server.call("GET", f"{API}/{name}?{more.get(name, f'run={run}')}")
    assert (status, problem["code"]) == (422, "out_of_range")


def test_the_listing_shows_what_is_below_the_root(server, runs):
    found = ok(server.call("GET", f"{API}/runs"))
    assert found["configured"] is True
    names = {run["name"]: run["kind"] for run in found["runs"]}
    assert names == {"first": "run", "second": "run", "foreign": "run", "traces-v1.jsonl": "traces"}
    assert str(runs) not in json.dumps(found)
    assert code_of(server.call("GET", f"{API}/run?run={'0' * 16}")) == (404, "unknown_run")


def test_a_run_with_its_figures(server):
    run = ok(server.call("GET", f"{API}/run?run={ids(server)['first']}"))
    assert (run["recorded"], run["requested"], run["done"], run["invalid_lines"]) == (5, 6, True, 0)
    assert run["manifest"]["schema"] == "shopsim-run-v1"
    assert run["summary"] is None, "a summary that is no object is not shown"
    assert run["figures"]["counts"] == {"recorded": 5, "completed": 4, "failed": 1, "scored": 4}
    assert run["figures"]["errors"] == [["transport", 1]]


def test_episodes_by_page_and_filter(server):
    base = f"{API}/episodes?run={ids(server)['first']}"
    page = ok(server.call("GET", f"{base}&limit=2&offset=1&sort=task&order=up"))
    assert page["total"] == 5
    assert [row["task_id"] for row in page["episodes"]] == [2, 3]
    only = ok(server.call("GET", f"{base}&status=failed&find=transport"))
    assert [row["episode_id"] for row in only["episodes"]] == ["task-000003__sample-007"]
    for bad in ("limit=0", "limit=201", "sort=nothing", "order=x", "status=x", "unknown=1", "offset=-1"):
        assert server.call("GET", f"{base}&{bad}")[0] == 422
    assert code_of(server.call("POST", base, {})) == (405, "method_not_allowed")


def test_an_episode_with_messages_of_a_model(server):
    run = ids(server)["first"]
    found = ok(server.call("GET", f"{API}/episode?run={run}&episode=task-000002__sample-000"))
    assert found["kind"] == "episode"
    assert found["instruction"] == "想要防水的露营帐篷，预算40元以内"
    step = found["steps"][0]
    assert step["observation"].startswith("页面：搜索首页")
    assert step["model"]["reasoning"] == "想一想"
    assert step["model"]["usage"]["total_tokens"] == 120
    assert step["feedback"]["reason"] == "executed"
    assert step["tool_call"]["function"]["name"] == "search"
    assert found["final"]["termination_reason"] == "purchase"
    broken = ok(server.call("GET", f"{API}/episode?run={run}&episode=task-000003__sample-007"))
    assert broken["error"]["type"] == "transport"
    assert code_of(server.call("GET", f"{API}/episode?run={run}&episode=other")) == (404, "unknown_episode")


def test_a_plain_trace_is_played_again_and_compared(server):
    run = ids(server)["traces-v1.jsonl"]
    won = ok(server.call("GET", f"{API}/episode?run={run}&episode=line-000001"))
    assert won["final"]["reward"] == 1.0
    assert [step["action"] for step in won["steps"]] == WIN
    assert all(step["equal"] for step in [*won["steps"], won["final"]])
    assert won["steps"][1]["observation"].startswith("页面：搜索结果")
    assert won["steps"][1]["feedback"]["message"] == "点击已执行"
    forced = ok(server.call("GET", f"{API}/episode?run={run}&episode=line-000002"))
    assert forced["final"]["observation"].startswith("页面：任务已终止")
    assert forced["steps"][0]["feedback"]["valid"] is False
    left = ok(server.call("GET", f"{API}/episode?run={run}&episode=line-000003"))
    assert (left["status"], left["final"]["reward"]) == ("unfinished", None)
    assert left["final"]["observation"].startswith("页面：搜索结果")


def changed(line_bytes: bytes, **fields: Any) -> bytes:
    return line({**json.loads(line_bytes), **fields})


def test_plain_traces_that_cannot_be_played_say_why(server, runs):
    lines = (runs / "traces-v1.jsonl").read_bytes().splitlines(keepends=True)
    first = json.loads(lines[0])
    frames = {"observations": ["0" * 64] * 1002, "states": ["0" * 64] * 1002}
    records = [
        changed(lines[0], release="b" * 64),
        changed(lines[0], wordings=[{"request": "a", "answer": "b"}]),
        changed(lines[0], environment={"task_mode": "nothing"}),
        changed(lines[0], actions=["search[杯]"] * 1001, **frames),
        changed(lines[0], observations=["0" * 64, *first["observations"][1:]]),
        line({name: value for name, value in first.items() if name != "states"}),
    ]
    (runs / "odd.jsonl").write_bytes(b"".join(records))
    try:
        base = f"{API}/episode?run={ids(server)['odd.jsonl']}&episode=line-00000"
        notes = [ok(server.call("GET", f"{base}{number}"))["note"] for number in (1, 2, 3, 4, 5)]
        assert notes == ["other_release", "worded", "unplayable", "too_long", None]
        pages = ok(server.call("GET", f"{base}5"))["steps"]
        assert [page["equal"] for page in pages] == [False, True, True, True]
        assert code_of(server.call("GET", f"{base}6")) == (404, "unreadable_run")
    finally:
        (runs / "odd.jsonl").unlink()


def test_evidence_is_for_the_admin_and_after_the_end(server):
    found = ids(server)
    path = f"{API}/evidence?run={found['first']}&episode=task-000002__sample-000"
    assert code_of(server.call("GET", path)) == (403, "admin_only")
    shown = ok(server.call("GET", path, headers=BEARER))
    assert shown["gold"]["asin"] == "700000000003"
    assert shown["bought"]["asin"]
    assert shown["detail"]["r_strict"] == 1.0
    assert shown["budget_upper"] == 40
    plain = f"{API}/evidence?run={found['traces-v1.jsonl']}&episode=line-00000"
    assert ok(server.call("GET", f"{plain}1", headers=BEARER))["bought"]["asin"] == "700000000003"
    assert ok(server.call("GET", f"{plain}2", headers=BEARER))["bought"] is None
    assert code_of(server.call("GET", f"{plain}3", headers=BEARER)) == (409, "not_ended")
    other = f"{API}/evidence?run={found['foreign']}&episode=task-000000__sample-000"
    assert code_of(server.call("GET", other, headers=BEARER)) == (409, "other_release")


def test_no_answer_without_the_admin_token_holds_a_goal(server):
    texts = []
    for run in ids(server).values():
        texts += [ok(server.call("GET", f"{API}/{name}?run={run}")) for name in ("run", "episodes")]
        rows = texts[-1]["episodes"]
        texts += [
            ok(server.call("GET", f"{API}/episode?run={run}&episode={row['episode_id']}")) for row in rows
        ]
    everything = json.dumps(texts, ensure_ascii=False)
    assert "找一盏营地灯" in everything, "the task of the canaries was read"
    assert not [canary for canary in CANARIES if canary in everything]


def test_two_runs_side_by_side(server):
    found = ids(server)
    path = f"{API}/compare?first={found['first']}&second={found['second']}"
    answer = ok(server.call("GET", path))
    assert (answer["pairs"], answer["same_release"], answer["worse"]) == (2, True, 2)
    assert answer["difference"]["mean"] == -1.0
    assert [row["task_id"] for row in answer["tasks"]] == [2, 3]
    assert ok(server.call("GET", f"{path}&offset=1&limit=1"))["total"] == 2
    assert ok(server.call("GET", path.replace(found["second"], found["foreign"])))["same_release"] is False


def test_a_file_that_grows_and_one_that_is_gone(server, runs):
    path = runs / "growing.jsonl"
    records = [line(one) for one in many(3)]
    path.write_bytes(records[0])
    run = ids(server)["growing.jsonl"]
    base = f"{API}/episodes?run={run}"
    assert ok(server.call("GET", base))["total"] == 1
    with path.open("ab") as stream:
        stream.write(records[1] + records[2])
    assert ok(server.call("GET", base))["total"] == 3
    path.unlink()
    assert code_of(server.call("GET", base)) == (404, "unreadable_run")


def opened(server, actions):
    lease = ok(server.call("POST", "/v1/episodes", {"task_id": 2, "task_mode": "standard"}))
    for action in actions:
        path = f"/v1/episodes/{lease['lease_id']}/step"
        ok(server.call("POST", path, {"action": action, "fence": lease["fence"]}))
    return lease["lease_id"]


def test_evidence_of_a_lease(server):
    won, running = opened(server, WIN), opened(server, WIN[:2])
    path = "/debug-ui/api/evidence/"
    assert code_of(server.call("GET", path + won)) == (403, "admin_only")
    shown = ok(server.call("GET", path + won, headers=BEARER))
    assert shown["detail"]["r_success"] == 1
    assert {item["met"] for item in shown["attributes"]} <= {True}
    assert code_of(server.call("GET", path + running, headers=BEARER)) == (409, "not_ended")
    assert code_of(server.call("GET", path + "nobody-has-this-lease", headers=BEARER)) == (409, "lease_lost")
    assert code_of(server.call("POST", path + won, {}, headers=BEARER)) == (405, "method_not_allowed")
    ok(server.call("DELETE", "/v1/episodes", headers=BEARER))


def test_tasks_by_persona_and_digits(server):
    def listed(query: str) -> list[int]:
        return [row["task_id"] for row in ok(server.call("GET", f"/v1/tasks?{query}"))["tasks"]]

    everything = listed("")
    assert listed("persona=yes") == [0]
    assert listed("persona=no") == everything[1:]
    assert listed("find=2") == [2]
    assert listed("find=9") == []
    assert code_of(server.call("GET", "/v1/tasks?find=x")) == (422, "out_of_range")


def test_pages_need_no_token_but_everything_else_does(small_release, runs):
    token = "of-the-tests-a-token"  # noqa: S105
    with ServerProcess(small_release, "--runs", str(runs), SHOPSIM_TOKEN=token) as guarded:
        for path in ("/debug-ui", "/replay-ui", "/ui/replay.js"):
            assert guarded.call("GET", path)[0] == 200
            assert code_of(guarded.call("GET", path, headers={"Host": "evil.example"})) == (
                403,
                "forbidden_host",
            )
        for path in (f"{API}/runs", "/v1/release", "/debug-ui/api/evidence/x"):
            assert code_of(guarded.call("GET", path)) == (401, "unauthorized")
            assert guarded.call("GET", path, headers={"Authorization": f"Bearer {token}"})[0] in (200, 403)


def test_a_server_without_runs_and_one_with_a_wrong_folder(small_release, capsys):
    def play(port: int) -> None:
        assert ok(call(port, "GET", f"{API}/runs")) | {"release": ""} == {
            "configured": False,
            "release": "",
            "runs": [],
        }
        assert code_of(call(port, "GET", f"{API}/run?run={'0' * 16}")) == (404, "unknown_run")
        assert call(port, "GET", "/debug-ui")[0] == 200

    assert serve_here(play, "--release", str(small_release)) == 0
    assert main(["serve", "--release", str(small_release), "--runs", str(small_release / "nowhere")]) == 2
    assert "runs_unusable" in capsys.readouterr().err


class Here:
    """The server of `serve_here`, called like a `ServerProcess`."""

    def __init__(self, port: int) -> None:
        self.port = port

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return call(self.port, method, path, body, **more)


def test_the_same_in_this_process(small_release, runs, monkeypatch):
    """Once more where coverage sees it."""
    monkeypatch.setenv("SHOPSIM_ADMIN_TOKEN", ADMIN)

    def play(port: int) -> None:
        server = Here(port)
        for test in (
            test_a_run_with_its_figures,
            test_episodes_by_page_and_filter,
            test_an_episode_with_messages_of_a_model,
            test_a_plain_trace_is_played_again_and_compared,
            test_evidence_is_for_the_admin_and_after_the_end,
            test_two_runs_side_by_side,
            test_evidence_of_a_lease,
            test_tasks_by_persona_and_digits,
        ):
            test(server)
        test_plain_traces_that_cannot_be_played_say_why(server, runs)
        test_pages_come_with_strict_headers_and_are_not_sent_twice(server, "/ui/icon.svg", "image/svg+xml")

    assert serve_here(play, "--release", str(small_release), "--runs", str(runs)) == 0


def test_only_some_runs_stay_in_memory(small_release, tmp_path):
    for number in range(10):
        write_run(tmp_path / f"run-{number}", many(2))
    with load_release(small_release) as release:
        replays = Replays(RunRoot(tmp_path), release)
        found = [run["id"] for run in replays.runs()["runs"]]
        assert [replays.run(run)["recorded"] for run in found] == [2] * 10
        assert len(replays._indexes) == 8
        assert replays.run(found[0])["recorded"] == 2
