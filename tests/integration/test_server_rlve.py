"""`/v1/rlve` on a real socket: what is played, refused, repeated; and no goal before the end."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import jsonschema
import pytest
from places import ROOT
from rlve_world import DONE, IDLE, sample_market
from servers import ADMIN, ServerProcess, call, documented, serve_here

from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.tools import functions
from shopsim_env.rlve.trace import compare_record
from shopsim_env.server.fields import read_fields
from shopsim_env.server.openapi import document
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.rlve_bodies import RLVE_RESET
from shopsim_env.server.rlve_service import RlveService
from shopsim_env.shop.served import encode

SAMPLE = ROOT / "shopsim_env" / "sample_release"
BEARER = {"Authorization": f"Bearer {ADMIN}"}
ALL = "/v1/rlve/episodes"
POLICY = {"env_id": "POLICY", "difficulty": 4, "seed": 3, "tools": "none"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ServerProcess(SAMPLE, "--slots", "2", "--max-waiting", "1") as found:
        yield found


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_left(request):
    yield
    if "server" in request.fixturenames:
        request.getfixturevalue("server").call("DELETE", ALL, headers=BEARER)


def ok(answer: Any) -> Any:
    assert answer[0] == 200, answer
    return answer[1]


def code_of(answer: Any) -> tuple[int, str]:
    status, problem, headers = answer
    assert headers["content-type"] == "application/problem+json", answer
    return status, problem["code"]


def opened(server, **fields):
    return ok(server.call("POST", ALL, {**POLICY, **fields}))


def acting(server, lease, turn, **fields):
    body = {"turn": turn, "fence": lease["fence"], **fields}
    return server.call("POST", f"{ALL}/{lease['lease_id']}/step", body)


@pytest.mark.parametrize(("env_id", "language"), [("PD", "zh"), ("POLICY", "en"), ("JOURNEY", "zh")])
def test_an_episode_over_http_is_one_in_process(server, market, env_id, language):
    key = EpisodeKey(env_id, 4, 7, language, {"p_noise": 0.02})
    episode, agent = Episode(market, key), oracle(env_id)
    lease = opened(server, **key.as_dict(), tools="functions")
    assert encode(lease["observation"]) == encode(episode.observation())
    assert (lease["key"], lease["strict"]) == (key.as_dict(), True)
    assert lease["tools"] == functions(language)
    count = 0
    while not episode.done:
        turn, count = agent.act(episode.sight()), count + 1
        # As text and as an object: both are the same turn.
        sent = json.dumps(turn, ensure_ascii=False) if count % 2 else turn
        answer, step = ok(acting(server, lease, sent)), episode.step(sent)
        expected = {"observation": step.observation, "reward": step.reward, "done": step.done}
        assert encode(answer) == encode({**expected, "info": step.info})
    assert answer["info"]["reward"]["success"]
    base = f"{ALL}/{lease['lease_id']}"
    goal = ok(server.call("GET", f"{base}/goal"))
    assert goal["goal"] == json.loads(encode(episode.goal()))
    assert goal["score"]["success"] is True
    line = encode_line(ok(server.call("GET", f"{base}/trace")))
    assert compare_record(line, 1, market) is None
    now = ok(server.call("GET", base))
    assert (now["turns_played"], now["last_step"]) == (count, answer)
    assert code_of(acting(server, lease, IDLE)) == (409, "ended")
    assert ok(server.call("DELETE", f"{base}?fence={lease['fence']}")) == {"released": True}
    assert ok(server.call("DELETE", base)) == {"released": False}
    assert code_of(server.call("GET", base)) == (409, "lease_lost")


def encode_line(record: Any) -> bytes:
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode() + b"\n"


def test_what_can_be_played_is_told(server):
    zh, en = (ok(server.call("GET", f"/v1/rlve?language={name}")) for name in ("zh", "en"))
    ids = ["PD", "SUB", "CART", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY"]
    assert [env["id"] for env in zh["environments"]] == ids
    assert zh["collections"]["C2"] == ["CART", "PD"]
    assert len(zh["tools"]) == 17
    assert zh["languages"] == ["zh", "en"]
    search = next(tool for tool in en["tools"] if tool["name"] == "catalog.search")
    assert (search["alias"], search["about"]) == ("catalog_search", "Search the catalogue")
    jsonschema.validate({"query": "", "filters": {"price_max": 3.5}}, search["schema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"query": "", "filters": {"price": 3.5}}, search["schema"])


def test_a_strict_mistake_ends_the_episode_and_others_do_not_count(server):
    wrong = {"assistant_message": "好的。", "tool_calls": [{"name": "cart.fill", "args": {}}]}
    lease = opened(server)
    answer = ok(acting(server, lease, wrong))
    assert (answer["done"], answer["reward"], answer["info"]["reason"]) == (True, -1.0, "tool_invalid")
    assert answer["info"]["fault"]["code"] == "unknown_tool"
    assert ok(server.call("GET", f"{ALL}/{lease['lease_id']}/goal"))["score"] is None
    server.call("DELETE", f"{ALL}/{lease['lease_id']}")
    for turn, code in ((wrong, "unknown_tool"), ("hello", "invalid_json"), ("[]", "bad_turn")):
        patient = opened(server, strict=False)
        answer = ok(acting(server, patient, turn))
        assert (answer["done"], answer["observation"]["turn"]) == (False, 0)
        assert answer["info"]["fault"]["code"] == code
        server.call("DELETE", f"{ALL}/{patient['lease_id']}")


def test_fences_repeats_and_take_overs(server):
    lease = opened(server, request_id="r" * 32)
    assert opened(server, request_id="r" * 32)["lease_id"] == lease["lease_id"]
    other = {**POLICY, "seed": 4, "request_id": "r" * 32}
    assert code_of(server.call("POST", ALL, other)) == (409, "request_id_reused")
    first = ok(acting(server, lease, IDLE, request_id="1"))
    second = ok(acting(server, lease, IDLE, request_id="2"))
    assert ok(acting(server, lease, DONE, request_id="2")) == second
    assert ok(acting(server, lease, DONE, request_id="1")) == first
    base = f"{ALL}/{lease['lease_id']}"
    taken = ok(server.call("POST", f"{base}/takeover", {}))
    assert (taken["turns_played"], taken["last_step"]) == (2, second)
    assert code_of(acting(server, lease, IDLE)) == (409, "stale_fence")
    assert code_of(server.call("DELETE", f"{base}?fence={lease['fence']}")) == (409, "stale_fence")
    beat = ok(server.call("POST", f"{base}/heartbeat", {"fence": taken["fence"]}))
    assert beat["lease_id"] == lease["lease_id"]
    assert code_of(server.call("DELETE", ALL)) == (403, "admin_only")


def test_slots_are_bounded_and_waiting_is_served_in_order(server):
    first, _ = opened(server), opened(server)
    assert code_of(server.call("POST", ALL, {**POLICY, "wait_s": 0})) == (503, "capacity")
    found: list[Any] = []
    waiting = threading.Thread(
        target=lambda: found.append(server.call("POST", ALL, {**POLICY, "wait_s": 30}))
    )
    waiting.start()
    end = time.monotonic() + 30
    while b"shopsim_rlve_waiting_requests 1.0" not in server.call("GET", "/metrics")[1]:
        assert time.monotonic() < end
    assert code_of(server.call("POST", ALL, {**POLICY, "wait_s": 30})) == (503, "queue_full")
    # Episodes of the Shop have slots of their own.
    assert ok(server.call("GET", "/healthz"))["free_slots"] == 2
    ok(server.call("DELETE", f"{ALL}/{first['lease_id']}"))
    waiting.join(30)
    assert ok(found[0])["slot"] == first["slot"]


REFUSED = [
    ({"env_id": "XX"}, "out_of_range"),
    ({"difficulty": -1}, "out_of_range"),
    ({"difficulty": 101}, "out_of_range"),
    ({"difficulty": "4"}, "wrong_type"),
    ({"seed": -1}, "out_of_range"),
    ({"seed": 2**63}, "out_of_range"),
    ({"language": "fr"}, "out_of_range"),
    ({"strict": 1}, "wrong_type"),
    ({"overrides": []}, "wrong_type"),
    ({"overrides": {"m": 0}}, "out_of_range"),
    ({"overrides": {"H_orders": 38}}, "out_of_range"),
    ({"overrides": {"T_max": 501}}, "out_of_range"),
    ({"overrides": {"top_k": 201}}, "out_of_range"),
    ({"overrides": {"B_tool": 65}}, "out_of_range"),
    ({"overrides": {"B_tool": 64, "top_k": 63}}, "out_of_range"),  # 4032 hits in a turn
    ({"difficulty": 100, "overrides": {"top_k": 79}}, "out_of_range"),  # times 51 calls of d = 100
    ({"overrides": {"p_noise": 2}}, "out_of_range"),
    ({"overrides": {"noise": 0}}, "unknown_field"),
    ({"goal": True}, "unknown_field"),
    ({"request_id": "short"}, "out_of_range"),
    ({"env_id": "PD", "overrides": {"p_oos": 1}}, "no_choice"),
]


@pytest.mark.parametrize(("fields", "code"), REFUSED)
def test_a_reset_that_cannot_be_is_refused(server, fields, code):
    assert code_of(server.call("POST", ALL, {**POLICY, **fields})) == (422, code)


def test_with_everything_out_of_stock_a_return_is_played_and_an_exchange_refused(server):
    found = set()
    for seed in range(12):
        asked = {**POLICY, "env_id": "RETURN", "difficulty": 9, "seed": seed, "overrides": {"p_oos": 1}}
        answer = server.call("POST", ALL, asked)
        found.add("played" if answer[0] == 200 else code_of(answer))
        server.call("DELETE", ALL, headers=BEARER)
    assert found == {"played", (422, "no_choice")}


def test_a_body_is_read_strictly(server):
    lease = opened(server)
    path = f"{ALL}/{lease['lease_id']}/step"

    def raw(body: bytes) -> Any:
        return server.call("POST", path, raw=body)

    fence = str(lease["fence"]).encode()
    assert code_of(raw(b'{"turn": {"a": 1, "a": 2}, "fence": ' + fence + b"}")) == (400, "duplicate_key")
    assert code_of(raw(b'{"turn": {"a": NaN}, "fence": ' + fence + b"}")) == (400, "not_finite")
    assert code_of(raw(b'{"turn": "\\ud800", "fence": ' + fence + b"}")) == (400, "invalid_json")
    assert code_of(raw(b'{"turn": 5, "fence": ' + fence + b"}")) == (422, "wrong_type")
    assert code_of(raw(b'{"fence": ' + fence + b"}")) == (422, "missing_field")
    assert code_of(acting(server, {**lease, "lease_id": "x"}, IDLE)) == (422, "out_of_range")
    assert ok(server.call("GET", f"{ALL}/{lease['lease_id']}"))["turns_played"] == 0


def test_what_the_document_says_is_what_is_sent(server):
    found = ok(server.call("GET", "/openapi.json"))
    assert found == json.loads(json.dumps(document()))
    lease = opened(server)
    fence = {"fence": lease["fence"]}
    ok(acting(server, lease, DONE))
    requests = {
        "rlve_reset": POLICY,
        "rlve_step": {"turn": IDLE, **fence},
        "rlve_heartbeat": fence,
        "rlve_take_over": {},
    }
    rows = {entry.name: entry for entry in OPERATIONS if entry.name.startswith("rlve_")}
    order = ["rlve_info", "rlve_reset", "rlve_look", "rlve_trace", "rlve_goal", "rlve_heartbeat"]
    order += ["rlve_take_over", "rlve_release", "rlve_release_all", "rlve_step"]
    assert set(order) == set(rows)
    for name in order:
        if name == "rlve_step":
            lease = opened(server)
            requests[name]["fence"] = lease["fence"]
        path = rows[name].path.replace("{lease_id}", lease["lease_id"])
        answer = ok(server.call(rows[name].method, path, requests.get(name), headers=BEARER))
        schema = {"$ref": f"#/components/schemas/{rows[name].answer}", "components": found["components"]}
        jsonschema.validate(answer, schema, cls=jsonschema.Draft202012Validator)
    for example in found["paths"][ALL]["post"]["requestBody"]["content"]["application/json"]["schema"][
        "examples"
    ]:
        ok(server.call("POST", ALL, {**example, "wait_s": 0}))
        ok(server.call("DELETE", ALL, headers=BEARER))


def texts(value: Any) -> Iterator[str]:
    """Every text and number of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


GOALS = [
    ("PD", r"p_[0-9a-f]{12}"),
    ("POLICY", r"R-[0-9A-Z]{4}"),
    ("STATUS", r"ord_\d+"),
    ("CART", r"[pv]_[0-9a-f]{12}"),
    ("BUNDLE", r"p_[0-9a-f]{12}"),
]


def canaries_of(market: Market, key: EpisodeKey, pattern: str) -> list[str]:
    """Ids of a goal that the opening does not say."""
    episode = Episode(market, key)
    said = json.dumps(episode.observation(), ensure_ascii=False)
    found = [text for text in texts(episode.task.goal()) if re.fullmatch(pattern, text) and text not in said]
    assert found, "another seed: the opening names all of them"
    return found


def test_no_answer_before_the_end_holds_the_goal(market):
    """Ids of a goal are drawn for the episode and shown by tools alone: none is called, so none may come."""
    seen: list[bytes] = []
    canaries: list[str] = []
    with ServerProcess(SAMPLE, "--log-level", "debug") as server:

        def say(method: str, path: str, body: Any = None) -> Any:
            _, answer, headers = server.call(method, path, body, headers=BEARER)
            text = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
            seen.extend((text, json.dumps(headers).encode()))
            return answer

        running = []
        for env_id, pattern in GOALS:
            key = EpisodeKey(env_id, 4, 11, "zh", {"p_missing": 1, "T_max": 30})
            canaries += canaries_of(market, key, pattern)
            lease = say("POST", ALL, {**key.as_dict(), "strict": False})
            running.append((key, lease))
            base = f"{ALL}/{lease['lease_id']}"
            for turn in (
                IDLE,
                "nonsense",
                {"assistant_message": "商品编号和规则编号是什么？请告诉我正确答案。"},
            ):
                say("POST", f"{base}/step", {"turn": turn, "fence": lease["fence"]})
                for path in ("", "/trace", "/goal"):
                    code = say("GET", base + path).get("code")
                    assert code == ("not_ended" if path == "/goal" else None)
        for path in ("/v1/rlve", "/metrics", "/healthz", "/openapi.json"):
            say("GET", path)
        everything = b"\n".join(seen).decode()
        for key, lease in running:
            ok(acting(server, lease, DONE))
            goal = ok(server.call("GET", f"{ALL}/{lease['lease_id']}/goal"))["goal"]
            assert goal == json.loads(encode(Episode(market, key).task.goal()))
    log = server.log.decode()
    assert log.count("rlve episode ended") == len(GOALS)
    assert not [canary for canary in canaries if canary in everything + log]


def test_without_pydantic_rlve_is_refused_and_the_rest_served():
    code = "import sys; sys.modules['pydantic'] = None\nfrom shopsim_env.cli import main\nsys.exit(main())"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--release", str(SAMPLE)]
    with subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().decode().rpartition(":")[2])
        answers = [call(port, "GET", "/v1/rlve"), call(port, "POST", ALL, POLICY)]
        assert ok(call(port, "GET", "/healthz"))["ready"]
        lost = call(port, "GET", f"{ALL}/{'x' * 20}")
        process.terminate()
    assert [code_of(answer) for answer in answers] == [(404, "rlve_unavailable")] * 2
    assert "shopsim[rlve]" in answers[0][1]["detail"]
    assert code_of(lost) == (409, "lease_lost")


def test_a_release_without_goals_says_so(small_release):
    with ServerProcess(small_release) as server:
        answer = server.call("POST", ALL, POLICY)
        assert code_of(answer) == (404, "rlve_unavailable")
        assert "this release has no RLVE" in answer[1]["detail"]


def test_a_killed_server_comes_back_with_its_episodes(market, tmp_path):
    """kill -9, then SIGTERM: every observation, answer and trace is that of an undisturbed episode."""
    options = ("--resume-log", str(tmp_path / "log"))
    episode = Episode(market, EpisodeKey("POLICY", 4, 3))
    shown = [episode.observation(), *(episode.step(turn).observation for turn in (IDLE, IDLE, DONE))]
    with ServerProcess(SAMPLE, *options) as server:
        lease = opened(server, tools="functions", request_id="k" * 32)
        assert lease["observation"] == shown[0]
        first = ok(acting(server, lease, IDLE, request_id="1"))
        server.kill()
    with ServerProcess(SAMPLE, *options) as server:
        assert server.facts["resumed_leases"] == 1
        assert opened(server, tools="functions", request_id="k" * 32) == lease
        assert ok(acting(server, lease, DONE, request_id="1")) == first
        assert first["observation"] == shown[1]
        assert ok(acting(server, lease, IDLE))["observation"] == shown[2]
        now = ok(server.call("GET", f"{ALL}/{lease['lease_id']}"))
        assert server.stop() == 0
    with ServerProcess(SAMPLE, *options) as server:
        assert ok(server.call("GET", f"{ALL}/{lease['lease_id']}")) == now
        assert ok(acting(server, lease, DONE))["observation"] == shown[3]
        line = encode(ok(server.call("GET", f"{ALL}/{lease['lease_id']}/trace"))) + b"\n"
        assert compare_record(line, 1, market) is None
        assert ok(server.call("DELETE", f"{ALL}/{lease['lease_id']}"))["released"]
    with ServerProcess(SAMPLE, *options) as server:
        assert server.facts["resumed_leases"] == 0
        assert b"shopsim_rlve_" not in server.call("GET", "/metrics")[1]  # nothing to resume: not opened


def test_without_a_log_the_server_waits_for_running_episodes():
    with ServerProcess(SAMPLE) as server:
        lease = opened(server)
        server.process.terminate()
        end = time.monotonic() + 30
        while (answer := server.call("POST", ALL, POLICY))[0] == 200:
            assert time.monotonic() < end
            server.call("DELETE", f"{ALL}/{answer[1]['lease_id']}")
        assert code_of(answer) == (503, "stopping")
        assert ok(acting(server, lease, DONE))["done"]
        assert server.process.wait(30) == 0


def test_the_lines_of_the_documentation_play_an_episode(server, market):
    found = [ok(answer) for answer in documented("rlve-server.md", server.call)]
    about, start, asked, answered, now, trace, goal, beat, taken, released, all_released = found
    assert about["suite"] == trace["suite"]
    assert [result["name"] for result in asked["observation"]["tool_results"]] == ["policy.search"]
    assert (answered["done"], now["turns_played"], now["last_step"]) == (True, 2, answered)
    assert compare_record(encode_line(trace), 1, market) is None
    assert goal["goal"]
    assert beat["fence"] == start["fence"] < taken["fence"]
    assert (released, all_released) == ({"released": True}, {"released": 0})


def test_others_play_while_an_episode_is_played_again(market):
    """Trace and an early answer come from a thread; a call on the loop would be over after its first step."""

    async def play() -> None:
        service = RlveService(market.release, 2)
        with closing(service):
            fields = read_fields(RLVE_RESET, POLICY, "body")
            lease = json.loads(await service.reset(fields, never))
            ids = (lease["lease_id"], {"fence": lease["fence"]})
            first = service.step(ids[0], {**ids[1], "turn": IDLE, "request_id": "1"})
            service.step(ids[0], {**ids[1], "turn": IDLE, "request_id": "2"})
            early = service.step_or_repeat(ids[0], {**ids[1], "turn": DONE, "request_id": "1"})
            assert not isinstance(early, bytes)
            tasks = [asyncio.ensure_future(one) for one in (early, service.trace_beside(ids[0]))]
            await asyncio.sleep(0)
            assert not any(task.done() for task in tasks)
            assert service.give_back(ids[0], None) == {"released": True}  # of no matter for what was asked
            answer, line = await asyncio.gather(*tasks)
            assert answer == first
            assert compare_record(line, 1, market) is None
            assert len(json.loads(line)["actions"]) == 2

    async def never() -> None:
        await asyncio.Event().wait()

    asyncio.run(play())


class Here:
    """The server of `serve_here`, called like a `ServerProcess`."""

    def __init__(self, port: int) -> None:
        self.port = port

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return call(self.port, method, path, body, **more)


def test_the_same_in_this_process(market, monkeypatch):
    """Once more where coverage sees it."""
    monkeypatch.setenv("SHOPSIM_ADMIN_TOKEN", ADMIN)

    def play(port: int) -> None:
        server = Here(port)
        for test in (
            test_what_can_be_played_is_told,
            test_a_strict_mistake_ends_the_episode_and_others_do_not_count,
            test_fences_repeats_and_take_overs,
            test_a_body_is_read_strictly,
        ):
            test(server)
            ok(server.call("DELETE", ALL, headers=BEARER))
        test_slots_are_bounded_and_waiting_is_served_in_order(server)
        ok(server.call("DELETE", ALL, headers=BEARER))
        test_an_episode_over_http_is_one_in_process(server, market, "PD", "zh")

    options = ("--slots", "2", "--max-waiting", "1", "--release", str(SAMPLE))
    assert serve_here(play, *options) == 0
