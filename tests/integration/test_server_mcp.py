"""`/mcp` over raw HTTP: sessions, tools, refusals, privacy. Clients of the protocol: `tests/adapters`."""

import json
import re
import time

import builds
import pytest
from places import ROOT
from servers import ADMIN, ServerProcess, call

from shopsim_env import load_release
from shopsim_env.server.mcp import QUERY, VERSIONS
from shopsim_env.shop.env import ShopEnv

WIN = ["露营帐篷", "700000000003", "颜色分类=雾蓝", "buy now"]
TASK = "/mcp?task_id=2&task_mode=standard"
HELLO = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
TOKEN = "of-the-mcp-test" * 2
BEARER = {"Authorization": f"Bearer {ADMIN}"}


@pytest.fixture(scope="module")
def server(small_release):
    with ServerProcess(small_release, "--slots", "2", "--lease-ttl", "600") as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_left(request):
    yield
    if "server" in request.fixturenames:
        request.getfixturevalue("server").call("DELETE", "/v1/episodes", headers=BEARER)


def post(server, method, params=None, *, session=None, path=TASK, number=1, **headers):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    if session is not None:
        headers["Mcp-Session-Id"] = session
    return server.call("POST", path, message, headers=headers)


def result(answer):
    assert answer[0] == 200, answer
    assert set(answer[1]) == {"jsonrpc", "id", "result"}, answer
    return answer[1]["result"]


def failure(answer):
    status, body, headers = answer
    assert headers["content-type"] == "application/json"
    assert set(body) == {"jsonrpc", "id", "error"}, answer
    return status, body["error"]["code"], body["error"].get("data", {}).get("code")


def begun(server, path=TASK):
    answer = post(server, "initialize", HELLO, path=path)
    return answer[2]["mcp-session-id"], result(answer)


def used(server, session, name, **arguments):
    return post(server, "tools/call", {"name": name, "arguments": arguments}, session=session)


def test_a_session_plays_the_episode_of_its_address(server, small_release):
    session, hello = begun(server)
    assert hello["protocolVersion"] == VERSIONS[0]
    assert hello["capabilities"] == {"tools": {"listChanged": False}}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.call("POST", TASK, note, headers={"Mcp-Session-Id": session})[:2] == (202, b"")
    with load_release(small_release) as release:
        env = ShopEnv(release, task_mode="standard")
        start = env.reset(2)
        assert hello["instructions"] == f"{start.task_instruction}\n\n{start.observation}"
        assert hello["_meta"]["shopsim/reset"]["task_id"] == 2
        native = {tool["function"]["name"]: tool["function"] for tool in env.tools(dynamic=False)}
        tools = result(post(server, "tools/list", session=session))["tools"]
        assert [tool["name"] for tool in tools] == ["search", "click"]
        assert all(tool["inputSchema"] == native[tool["name"]]["parameters"] for tool in tools)
        for name, argument in zip(("search", "click", "click", "click"), WIN, strict=True):
            key = "query" if name == "search" else "value"
            shown = result(used(server, session, name, **{key: argument}))
            step = env.step({"name": name, "arguments": {key: argument}})
            assert shown["content"] == [{"type": "text", "text": step.observation}]
            assert not shown["isError"]
            facts = shown["_meta"]["shopsim/step"]
            assert (facts["reward"], facts["done"]) == (step.reward, step.done)
    assert facts["reward"] == 1.0
    again = result(used(server, session, "click", value="buy now"))
    assert again["content"] == shown["content"]
    assert (again["isError"], again["_meta"]["shopsim/step"]["reward"]) == (True, None)
    now = server.call("GET", f"/v1/episodes/{session}")[1]
    assert (now["actions_played"], now["last_step"]["reward"]) == (4, 1.0)


def test_a_mistake_of_the_model_counts_and_is_told(server):
    """A tool that there is not, wrong arguments, a text that is not shown: all three are ordinary actions."""
    session, _ = begun(server)
    for count, (name, arguments, reason) in enumerate(
        [
            ("reset", {}, "invalid_format"),
            ("search", {"q": "x"}, "invalid_format"),
            ("click", {"value": "nowhere"}, "unavailable_action"),
        ],
        start=1,
    ):
        shown = result(used(server, session, name, **arguments))
        facts = shown["_meta"]["shopsim/step"]
        assert shown["isError"]
        assert (facts["action_feedback"]["valid"], facts["info"]["action_count"]) == (False, count)
        assert facts["reward"] == 0.0
        assert facts["action_feedback"]["reason"] == reason


def test_the_shopper_is_a_tool_in_multi_turn_alone(server):
    session, hello = begun(server, "/mcp?task_id=2&interaction_mode=multi_turn&seed=3")
    tools = result(post(server, "tools/list", session=session))["tools"]
    assert [tool["name"] for tool in tools] == ["search", "click", "ask_shopper"]
    assert not result(used(server, session, "ask_shopper", message="预算是多少？"))["isError"]
    assert hello["_meta"]["shopsim/reset"]["interaction_mode"] == "multi_turn"


def test_the_end_of_a_session_frees_its_slot(server):
    first, _ = begun(server)
    begun(server)
    full = post(server, "initialize", HELLO, path=f"{TASK}&wait_s=0")
    assert failure(full) == (200, -32000, "capacity")
    assert full[1]["error"]["data"]["failure_kind"] == "capacity"
    assert server.call("DELETE", "/mcp", headers={"Mcp-Session-Id": first})[0] == 200
    third, _ = begun(server, f"{TASK}&wait_s=0")
    for answer in (post(server, "tools/list", session=first), used(server, first, "search", query="x")):
        assert failure(answer) == (404, -32600, "lease_lost")
        assert answer[1]["error"]["data"]["failure_kind"] == "lease_lost"
    assert server.call("DELETE", "/mcp", headers={"Mcp-Session-Id": first})[0] == 404
    assert third != first


def test_a_session_expires_with_its_lease(small_release):
    with ServerProcess(small_release, "--slots", "1", "--lease-ttl", "0.2") as short:
        session, _ = begun(short)
        time.sleep(0.4)
        assert failure(used(short, session, "search", query="x"))[0] == 404
        assert begun(short)[0] != session


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "no_task"),
        ("?task_id=99", "unknown_task"),
        ("?task_id=2&task_id=2", "out_of_range"),
        ("?task_id=-1", "out_of_range"),
        ("?task_id=two", "wrong_type"),
        ("?task=2", "unknown_field"),
        ("?task_id=2&split=source/all_train", "task_and_split"),
        ("?split=nowhere&seed=1", "unknown_split"),
        ("?task_id=2&task_mode=other", "out_of_range"),
        ("?task_id=2&private=1", "unknown_field"),
    ],
)
def test_a_wrong_address_is_refused_and_takes_no_slot(server, query, code):
    assert failure(post(server, "initialize", HELLO, path=f"/mcp{query}")) == (200, -32602, code)
    assert server.call("GET", "/healthz")[1]["free_slots"] == 2


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, -32600),
        ({"id": 1, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, 200, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": ["ping"]}, 200, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, 200, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": 5}, 200, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}, 200, -32602),
    ],
)
def test_a_wrong_message_is_refused(server, message, status, code):
    assert failure(server.call("POST", TASK, message))[:2] == (status, code)


def test_bytes_that_are_no_message_and_other_methods(server):
    for raw in (b"{", b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', b'{"id":NaN}'):
        assert server.call("POST", TASK, raw=raw)[0] == 400
    assert server.call("POST", TASK, raw=b"[" + b"1," * 40_000 + b"1]")[0] == 413
    status, _, headers = server.call("GET", "/mcp", headers={"Accept": "text/event-stream"})
    assert (status, headers["allow"]) == (405, "DELETE, POST")
    session, _ = begun(server)
    old = post(server, "tools/list", session=session, **{"Mcp-Protocol-Version": "1999-01-01"})
    assert failure(old)[:2] == (400, -32600)
    assert result(post(server, "ping", session=session)) == {}
    assert server.call("POST", TASK, {"jsonrpc": "2.0", "id": 7, "result": {}})[0] == 202


def test_an_unknown_revision_gets_the_newest(server):
    answer = post(server, "initialize", {**HELLO, "protocolVersion": "2099-01-01"})
    assert result(answer)["protocolVersion"] == VERSIONS[0]


def test_a_token_is_needed_where_the_server_has_one(small_release):
    with ServerProcess(small_release, "--drain", "0", SHOPSIM_TOKEN=TOKEN) as closed:
        assert post(closed, "initialize", HELLO)[0] == 401
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert post(closed, "initialize", HELLO, **bearer)[0] == 200
        assert call(closed.port, "DELETE", "/mcp")[0] == 401


def test_nothing_private_leaves(server):
    """Every canary of the goals in everything that a whole episode sends, headers too."""
    seen = []
    for path in ("/mcp?task_id=0", "/mcp?task_id=0&interaction_mode=multi_turn&seed=1", "/mcp?task_id=77"):
        answer = post(server, "initialize", HELLO, path=path)
        seen.append(answer)
        if session := answer[2].get("mcp-session-id"):
            seen.append(post(server, "tools/list", session=session))
            seen += [used(server, session, "search", query=word) for word in ("$", "", "营地灯")]
            values = ("nowhere", "700000000001", "颜色分类=雾蓝", "buy now", "buy now")
            seen += [used(server, session, "click", value=word) for word in values]
            seen.append(used(server, session, "ask_shopper", message="预算多少？"))
            server.call("DELETE", "/mcp", headers={"Mcp-Session-Id": session})
    text = json.dumps(seen, ensure_ascii=False)
    assert text.count('"termination_reason": "purchase"') > 1, "purchases were scored"
    for canary in (builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER):
        assert canary not in text
    assert not re.search(r"Traceback|\.py|/tmp/", text)


def test_page_lists_what_an_address_may_ask_for():
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in QUERY)
