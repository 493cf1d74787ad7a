"""`shopsim serve` on a real socket: episodes, refusals, privacy, waiting, the end of the process."""

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import builds
import jsonschema
import pytest
from servers import ADMIN, ServerProcess, call, documented, serve_here

from shopsim_env import load_release
from shopsim_env.cli import main
from shopsim_env.replay import verify_line
from shopsim_env.server.openapi import document
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.shop.env import ShopEnv

WIN = ["search[露营帐篷]", "click[700000000003]", "click[颜色分类=雾蓝]", "click[buy now]"]
CANARIES = [builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER]
BEARER = {"Authorization": f"Bearer {ADMIN}"}


@pytest.fixture(scope="module")
def server(small_release):
    with ServerProcess(small_release, "--slots", "3", "--lease-ttl", "600") as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_left(request):
    yield
    if "server" in request.fixturenames:
        request.getfixturevalue("server").call("DELETE", "/v1/episodes", headers=BEARER)


def ok(answer):
    assert answer[0] == 200, answer
    return answer[1]


def code_of(answer) -> tuple[int, str]:
    status, problem, headers = answer
    assert headers["content-type"] == "application/problem+json", answer
    assert set(problem) == {"type", "title", "status", "code", "detail"}
    assert problem["status"] == status
    return status, problem["code"]


def opened(server, **fields):
    return ok(server.call("POST", "/v1/episodes", {"task_id": 2, "task_mode": "standard", **fields}))


def acting(server, lease, verb="step", **fields):
    return server.call(
        "POST", f"/v1/episodes/{lease['lease_id']}/{verb}", {"fence": lease["fence"], **fields}
    )


def test_an_episode_over_http_is_one_in_process(server, small_release):
    with load_release(small_release) as release:
        env = ShopEnv(release, task_mode="standard")
        start = env.reset(2)
        lease = opened(server)
        assert lease["observation_state"] == start.observation_state
        assert (lease["observation"], lease["task_instruction"]) == (
            start.observation,
            start.task_instruction,
        )
        assert lease["tools"] == json.loads(json.dumps(env.tools()))
        for count, action in enumerate(WIN):
            answer = ok(acting(server, lease, action=action, request_id=str(count)))
            step = env.step(action)
            for name in ("observation", "observation_state", "reward", "done", "reward_detail", "info"):
                assert answer[name] == json.loads(json.dumps(getattr(step, name))), name
            assert answer["tools"] == json.loads(json.dumps(env.tools()))
        assert (answer["reward"], answer["terminated"], answer["valid"]) == (1.0, True, True)
        assert ok(acting(server, lease, action=WIN[0], request_id="3")) == answer
        line = json.dumps(
            ok(server.call("GET", f"/v1/episodes/{lease['lease_id']}/trace")),
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        assert verify_line(line.encode() + b"\n", 1, release) is None
    now = ok(server.call("GET", f"/v1/episodes/{lease['lease_id']}"))
    assert (now["actions_played"], now["last_step"]) == (4, answer)
    assert code_of(acting(server, lease, action="search[x]")) == (409, "ended")
    assert ok(server.call("DELETE", f"/v1/episodes/{lease['lease_id']}?fence={lease['fence']}"))["released"]
    assert not ok(server.call("DELETE", f"/v1/episodes/{lease['lease_id']}"))["released"]
    assert code_of(server.call("GET", f"/v1/episodes/{lease['lease_id']}")) == (409, "lease_lost")


def test_every_option_of_an_environment_can_be_asked_for(server):
    small = opened(
        server, observation_style="compact", page_size=1, max_invalid=1, max_actions=9, tools="static"
    )
    assert [tool["function"]["name"] for tool in small["tools"]] == ["search", "click"]
    step = ok(acting(server, small, action="search[水壶]"))
    assert len(step["observation_state"]["products"]) == 1
    assert "tools" not in step
    assert ok(acting(server, small, action="nonsense"))["termination_reason"] == "action_limit"
    asking = opened(server, interaction_mode="multi_turn", seed=4, tools="none")
    assert "tools" not in asking
    assert "shopper" in asking["observation_state"]
    drawn = ok(server.call("POST", "/v1/episodes", {"split": "source/all_train", "seed": 1}))
    assert drawn["task_id"] in (0, 2)


def test_agreeing_with_the_shopper_ends_nothing(server):
    """BR-13: the episode stays open until buying is carried out."""
    lease = opened(server, interaction_mode="multi_turn", seed=1)
    for message in ("买这个可以吗？", "确认购买吗？"):
        step = ok(acting(server, lease, action={"name": "ask_shopper", "arguments": {"message": message}}))
        assert not step["done"]
    for action in WIN:
        step = ok(acting(server, lease, action=action))
    assert (step["done"], step["termination_reason"]) == (True, "purchase")


def test_success_is_not_derived_from_reward(server):
    """BR-17: a purchase that misses something, and a stop at the limit."""
    lease = opened(server)
    for action in ["search[营地灯]", "click[700000000001]", "click[颜色分类=沙色]", "click[buy now]"]:
        step = ok(acting(server, lease, action=action))
    detail = step["reward_detail"]
    assert step["terminated"]
    assert detail["r_success"] == 0
    assert detail["r_strict"] < 1
    assert 0 <= detail["r_loose"] < 1
    short = opened(server, max_actions=1)
    step = ok(acting(server, short, action="search[帐篷]"))
    detail = step["reward_detail"]
    assert (detail["r_loose"], detail["r_strict"], detail["r_success"]) == (0, 0, 0)
    assert (step["termination_reason"], step["valid"], step["truncated"]) == ("action_limit", True, True)


@pytest.mark.parametrize(
    "body",
    [{"task_id": 13}, {"task_id": -1}, {"task_id": "7"}, {"task_id": "task-999"}, {"task_id": ""}, {}],
)
def test_unknown_tasks_take_no_slot(server, body):
    """BR-03."""
    status, code = code_of(server.call("POST", "/v1/episodes", body))
    assert status == 422
    assert code in ("unknown_task", "out_of_range", "wrong_type", "no_task")
    assert ok(server.call("GET", "/healthz"))["free_slots"] == 3
    assert opened(server)["slot"] == 0


def test_groups(server):
    group = ok(server.call("POST", "/v1/groups", {"task_id": 2, "n": 3}))
    assert len({member["lease_id"] for member in group["members"]}) == 3
    steps = [ok(acting(server, member, action=WIN[0])) for member in group["members"]]
    assert steps[0] == steps[1] == steps[2]
    refused = server.call("POST", "/v1/groups", {"task_id": 2, "n": 4})
    assert code_of(refused) == (422, "group_too_large")
    assert code_of(server.call("POST", "/v1/groups", {"task_id": 2, "n": 1, "wait_s": 0})) == (
        503,
        "capacity",
    )


def test_fences_and_take_over(server):
    lease = opened(server)
    taken = ok(server.call("POST", f"/v1/episodes/{lease['lease_id']}/takeover", {}))
    assert taken["fence"] > lease["fence"]
    assert code_of(acting(server, lease, action=WIN[0])) == (409, "stale_fence")
    assert code_of(acting(server, lease, "heartbeat")) == (409, "stale_fence")
    stale = f"/v1/episodes/{lease['lease_id']}?fence={lease['fence']}"
    assert code_of(server.call("DELETE", stale)) == (409, "stale_fence")
    assert ok(acting(server, taken, "heartbeat"))["expires_in_s"] == 600
    assert ok(acting(server, taken, "terminate", reason="generation_length"))["truncated"]


def test_resets_wait_in_the_server(server):
    held = [opened(server) for _ in range(3)]
    key = "w" * 32
    found = []
    waiter = threading.Thread(target=lambda: found.append(opened(server, wait_s=30, request_id=key)))
    waiter.start()
    until(lambda: ok(server.call("GET", "/healthz"))["waiting"] == 1)
    # Somebody who hangs up leaves the line.
    with socket.create_connection(("127.0.0.1", server.port)) as wire:
        body = b'{"task_id":2,"wait_s":30}'
        head = b"POST /v1/episodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        wire.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: ok(server.call("GET", "/healthz"))["waiting"] == 2)
    until(lambda: ok(server.call("GET", "/healthz"))["waiting"] == 1)
    server.call("DELETE", f"/v1/episodes/{held[0]['lease_id']}")
    waiter.join(30)
    assert found[0]["slot"] == 0
    assert opened(server, request_id=key)["lease_id"] == found[0]["lease_id"]
    assert code_of(server.call("POST", "/v1/episodes", {"task_id": 2, "wait_s": 0.2})) == (503, "capacity")


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_lines_of_the_documentation_play_an_episode(server):
    start, step, released = (ok(answer) for answer in documented("server.md", server.call))
    assert start["lease_id"]
    assert (step["valid"], step["done"]) == (True, False)
    assert released == {"released": True}


def test_bodies_and_headers_that_are_refused(server):
    path = "/v1/episodes"

    def send(raw, **headers):
        return code_of(server.call("POST", path, raw=raw, headers=headers))

    assert send(b"{") == (400, "invalid_json")
    assert send(b'{"task_id":1,"task_id":1}') == (400, "duplicate_key")
    assert send(b'{"task_id":Infinity}') == (400, "not_finite")
    assert send(b'{"task_id":' + b"[" * 60_000) == (400, "too_deep")
    assert send(b" " * 65_537) == (413, "body_too_large")
    assert send(b"{}", **{"Content-Type": "text/plain"}) == (415, "unsupported_media_type")
    assert send(b"{}", **{"Content-Type": "application/json; charset=gbk"}) == (415, "unsupported_media_type")
    assert send(b"{}", **{"Content-Encoding": "gzip"}) == (415, "unsupported_encoding")
    assert send(b'{"taskid":1}') == (422, "unknown_field")
    assert send(b"{}", Origin="http://evil.example") == (403, "forbidden_origin")
    assert code_of(server.call("GET", "/healthz", headers={"Host": "evil.example"})) == (
        403,
        "forbidden_host",
    )
    assert code_of(server.call("PUT", path, {})) == (405, "method_not_allowed")
    assert server.call("PUT", path, {})[2]["allow"] == "DELETE, POST"
    assert code_of(server.call("POST", "/metrics", {})) == (405, "method_not_allowed")
    for strange in ("/", "/v1", "/v1/episodes/", "/v2", "/v1/episodes/../../etc/passwd", "/%2e%2e/x"):
        assert code_of(server.call("GET", strange)) == (404, "not_found")
    assert code_of(server.call("GET", "/v1/episodes/short")) == (422, "out_of_range")
    assert code_of(server.call("GET", "/v1/tasks?limit=x")) == (422, "wrong_type")
    assert code_of(server.call("GET", "/v1/tasks?limit=1&limit=2")) == (422, "out_of_range")
    assert code_of(server.call("GET", "/v1/tasks?split=none")) == (422, "unknown_split")
    chunked = b"POST /v1/episodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as wire:
        wire.sendall(chunked + b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b" " * 0x8000 + b"\r\n")
        wire.sendall(b"8001\r\n" + b" " * 0x8001 + b"\r\n0\r\n\r\n")
        assert b" 413 " in wire.recv(4096)
    assert server.call("HEAD", "/healthz")[0] == 200


def test_what_the_document_says_is_what_is_sent(server):
    found = ok(server.call("GET", "/openapi.json"))
    assert found == json.loads(json.dumps(document()))
    lease = opened(server)
    base = f"/v1/episodes/{lease['lease_id']}"
    fence = {"fence": lease["fence"]}
    requests = {
        "reset": {"task_id": 0, "private": True},
        "step": {"action": "search[x]", **fence},
        "terminate": {"reason": "action_limit", **fence},
        "heartbeat": fence,
        "take_over": {},
        "group": {"task_id": 2, "n": 1},
    }
    late = {"take_over": 1, "release": 2}  # the lease changes hands, then is gone
    shop = [entry for entry in OPERATIONS if not entry.path.startswith("/v1/rlve")]  # test_server_rlve.py
    for operation in sorted(shop, key=lambda entry: late.get(entry.name, 0)):
        path = operation.path.replace("/v1/episodes/{lease_id}", base)
        status, answer, _ = server.call(operation.method, path, requests.get(operation.name), headers=BEARER)
        assert status == 200, (operation.name, answer)
        jsonschema.validate(
            answer,
            {"$ref": f"#/components/schemas/{operation.answer}", "components": found["components"]},
            cls=jsonschema.Draft202012Validator,
        )
        if operation.name == "release_all":
            lease = opened(server)
            base, fence["fence"] = f"/v1/episodes/{lease['lease_id']}", lease["fence"]


def test_goals_are_for_the_admin(server):
    body = {"task_id": 0, "private": True}
    assert code_of(server.call("POST", "/v1/episodes", body)) == (403, "admin_only")
    assert code_of(server.call("DELETE", "/v1/episodes")) == (403, "admin_only")
    wrong = {"Authorization": "Bearer " + "x" * 20}
    assert code_of(server.call("POST", "/v1/episodes", body, headers=wrong)) == (403, "admin_only")
    assert ok(server.call("GET", "/healthz"))["free_slots"] == 3
    private = ok(server.call("POST", "/v1/episodes", body, headers=BEARER))["private"]
    assert builds.CANARY_FULL in private["instruction"]
    assert private["options"] == [builds.CANARY_OPTION]


def test_no_answer_metric_or_log_holds_a_private_text(small_release):  # noqa: C901 - one long visit
    seen = []
    with ServerProcess(small_release, "--slots", "2", "--log-level", "debug") as server:

        def say(method, path, body=None, **more):
            _status, answer, headers = server.call(method, path, body, **more)
            seen.append(
                answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
            )
            seen.append(json.dumps(headers).encode())
            return answer

        for mode in ("single_turn", "multi_turn"):
            lease = say("POST", "/v1/episodes", {"task_id": 0, "interaction_mode": mode, "seed": 1})
            for action in (
                "search[营地灯]",
                "click[700000000001]",
                "click[颜色分类=雾蓝]",
                "click[buy now]",
                "x",
            ):
                for verb in ("step", "terminate"):
                    fields = {"action": action} if verb == "step" else {"reason": action}
                    path = f"/v1/episodes/{lease['lease_id']}/{verb}"
                    say("POST", path, {"fence": lease["fence"], **fields})
            for path in ("", "/trace"):
                say("GET", f"/v1/episodes/{lease['lease_id']}{path}")
            say("DELETE", f"/v1/episodes/{lease['lease_id']}")
        wire = say("POST", "/api/shop_agent", {"action": "reset", "idx": 0, "if_persona": True})["result"]
        for action in ("search[营地灯]", "click[700000000001]", "click[颜色分类=雾蓝]", "click[buy now]"):
            keys = {"env_idx": wire["env_idx"], "lease_id": wire["lease_id"]}
            say("POST", "/api/shop_agent", {"action": "interact", "response": action, **keys})
        for path in ("/v1/release", "/v1/tasks", "/healthz", "/metrics", "/openapi.json", "/nothing"):
            say("GET", path)
        ok(server.call("POST", "/v1/episodes", {"task_id": 0, "private": True, "wait_s": 0}, headers=BEARER))
        assert server.stop() == 0
        seen.append(server.log)
    everything = b"\n".join(seen)
    for canary in CANARIES:
        assert canary.encode() not in everything
        assert json.dumps(canary)[1:-1].encode() not in everything
    assert str(small_release).encode() not in everything, "no path of the server"
    for line in server.log.splitlines():
        json.loads(line)
    assert b"episode opened" in server.log
    assert b"episode ended" in server.log
    assert lease["lease_id"].encode() not in server.log


def test_tokens_off_loopback(small_release):
    token = "token-for-everybody"  # noqa: S105
    with ServerProcess(small_release, "--host", "0.0.0.0", SHOPSIM_TOKEN=token) as server:  # noqa: S104
        status, problem, headers = server.call("GET", "/healthz")
        assert (status, problem["code"], headers["www-authenticate"]) == (401, "unauthorized", "Bearer")
        for given in (token, ADMIN):
            assert server.call("GET", "/healthz", headers={"Authorization": f"Bearer {given}"})[0] == 200
        assert server.call("POST", "/api/shop_agent", {"action": "reset", "idx": 2})[0] == 401


def test_wrong_use_of_the_command(small_release, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SHOPSIM_TOKEN", raising=False)
    serve = ["serve", "--release", str(small_release), "--port"]
    assert main([*serve, "0", "--host", "0.0.0.0"]) == 2  # noqa: S104
    assert "token_needed" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main([*serve, str(taken.getsockname()[1])]) == 2
    assert "address_unusable" in capsys.readouterr().err
    for options in (
        ["--slots", "0"],
        ["--lease-ttl", "inf"],
        ["--lease-ttl", "nan"],
        ["--lease-prefix", "a/b"],
    ):
        assert main([*serve, "0", *options]) == 2
    assert main([*serve, "70000"]) == 2
    (tmp_path / "file").write_text("x")
    assert main([*serve, "0", "--resume-log", str(tmp_path / "file")]) == 1
    assert "journal_unusable" in capsys.readouterr().err
    monkeypatch.setenv("SHOPSIM_TOKEN", "short")
    assert main([*serve, "0"]) == 2
    assert "weak_token" in capsys.readouterr().err


def test_without_a_log_the_server_lets_episodes_end(small_release):
    with ServerProcess(small_release, "--drain", "60") as server:
        lease = opened(server)
        os.kill(server.process.pid, signal.SIGTERM)
        until(lambda: not ok(server.call("GET", "/healthz"))["ready"])
        assert code_of(server.call("POST", "/v1/episodes", {"task_id": 2})) == (503, "stopping")
        for action in WIN:
            step = ok(acting(server, lease, action=action))
        assert step["reward"] == 1.0
        assert server.stop() == 0


def test_with_a_log_the_server_parks_episodes(small_release, tmp_path):
    options = ("--resume-log", str(tmp_path / "log"), "--lease-prefix", "a.")
    with ServerProcess(small_release, *options) as server:
        lease = opened(server)
        ok(acting(server, lease, action=WIN[0], request_id="0"))
        assert server.stop() == 0
    with ServerProcess(small_release, *options, "--resume-sync") as server:
        assert server.facts["resumed_leases"] == 1
        assert lease["lease_id"].startswith("a.")
        for count, action in enumerate(WIN):
            step = ok(acting(server, lease, action=action, request_id=str(count)))
        assert step["reward"] == 1.0


def test_the_command_in_this_process(small_release, tmp_path, monkeypatch):
    """The same code paths, where coverage sees them."""
    monkeypatch.setenv("SHOPSIM_ADMIN_TOKEN", ADMIN)

    def play(port: int) -> None:
        status, lease, _ = call(port, "POST", "/v1/episodes", {"task_id": 0, "private": True}, headers=BEARER)
        assert status == 200
        base = f"/v1/episodes/{lease['lease_id']}"
        for body in ({"action": WIN[0], "fence": lease["fence"]}, {"action": "click[x]", "fence": 0}, {}):
            call(port, "POST", f"{base}/step", body)
        taken = call(port, "POST", f"{base}/takeover", {})[1]
        call(port, "POST", f"{base}/heartbeat", {"fence": taken["fence"]})
        call(port, "POST", f"{base}/terminate", {"fence": taken["fence"], "reason": "action_limit"})
        for path in ("", "/trace"):
            assert call(port, "GET", base + path)[0] == 200
        group = call(port, "POST", "/v1/groups", {"task_id": 2, "n": 1, "interaction_mode": "multi_turn"})[1]
        member = group["members"][0]
        step = {"action": "ask_shopper[预算？]", "fence": member["fence"]}
        assert call(port, "POST", f"/v1/episodes/{member['lease_id']}/step", step)[0] == 200
        assert call(port, "POST", "/v1/episodes", {"task_id": 2, "wait_s": 0.2})[0] == 503
        for path in (
            "/healthz",
            "/metrics",
            "/openapi.json",
            "/v1/release",
            "/v1/tasks",
            "/x",
            "/v1/episodes/x",
        ):
            call(port, "GET", path)
        page = call(port, "GET", "/v1/tasks?split=source/all_train&limit=1&offset=1")[1]
        assert (page["total"], page["tasks"][0]["task_id"]) == (2, 2)
        metrics = call(port, "GET", "/metrics")[1].decode()
        assert 'shopsim_answer_seconds_count{endpoint="step"} 2.0' in metrics
        assert 'shopsim_refusals_total{code="stale_fence"} 1.0' in metrics
        assert "shopsim_pool_opened_total 2.0" in metrics
        call(port, "PUT", "/healthz")
        call(port, "GET", "/healthz", headers={"Host": "evil.example"})
        assert call(port, "DELETE", f"/v1/episodes/{member['lease_id']}")[1] == {"released": True}
        time.sleep(1.3)  # the other lease is left
        assert call(port, "GET", "/healthz")[1]["free_slots"] == 2
        wire_format(port)
        assert call(port, "DELETE", "/v1/episodes", headers=BEARER)[0] == 200

    log = str(tmp_path / "log")
    options = ["--slots", "2", "--lease-ttl", "1", "--log-level", "error"]
    assert serve_here(play, "--release", str(small_release), "--resume-log", log, *options) == 0
    assert serve_here(lambda _: None, "--release", str(small_release), "--drain", "0.1") == 0


def wire_format(port: int) -> None:
    def say(**body):
        return call(port, "POST", "/api/shop_agent", body, headers=BEARER)

    found = say(action="reset", idx=0, include_private_goal=True)[1]["result"]
    keys = {"env_idx": found["env_idx"], "lease_id": found["lease_id"]}
    for response in [*WIN[:1], "nonsense", *WIN[1:]]:
        answer = say(action="interact", response=response, **keys)[1]["result"]
    assert answer["goal"]["options"] == [builds.CANARY_OPTION]
    assert say(action="terminate", **keys)[0] == 409
    assert say(action="release_one", **keys)[0] == 200
    again = say(action="reset", idx=2)[1]["result"]
    keys = {"env_idx": again["env_idx"], "lease_id": again["lease_id"]}
    assert say(action="terminate", **keys)[1]["result"]["goal"] == {}
    for body in (
        {"action": "reset", "idx": "2"},
        {"action": "reset", "idx": 2, "env_idx": 0},
        {"action": "reset", "idx": 2, "if_persona": 1},
        {"action": "interact", "env_idx": 0},
        {"action": 1},
    ):
        assert say(**body)[0] == 400
    assert say(action="interact", env_idx=1 - keys["env_idx"], lease_id=keys["lease_id"])[0] == 409
    assert call(port, "POST", "/api/shop_agent", [1])[0] == 400
    assert call(port, "GET", "/api/shop_agent")[0] == 405
    assert say(action="release_all")[0] == 200


def test_a_folder_without_a_release_is_not_served(tmp_path: Path) -> None:
    assert main(["serve", "--release", str(tmp_path)]) == 1
