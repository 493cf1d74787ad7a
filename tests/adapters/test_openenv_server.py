"""The OpenEnv server with the real package: frames, plain HTTP, faults, slots, privacy."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import ROOT
from servers import call, free_port

pytest.importorskip("openenv", reason="the extra `openenv` is not installed; `make adapters` has it")

from openenv_wire import Socket, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus

from shopsim_env import ShopEnv, load_release
from shopsim_env.shop.oracle import solve_any

CANARIES = os.environ.get("ADAPTER_CANARIES")


@pytest.fixture(scope="module")
def server():
    with serving("--slots", "4", "--wait", "2") as found:
        yield found


@pytest.fixture
def session(server):
    with Socket(server.port) as found:
        yield found


def test_an_episode_is_one_in_process(session):
    with load_release() as release:
        task = release.splits["project/test"][3]
        env = ShopEnv(release)
        start = env.reset(task)
        shown = session.reset(task_id=task, structured=True, tools="static")
        first = shown["observation"]
        assert (shown["reward"], shown["done"]) == (None, False)
        for name in ("task_instruction", "user_persona", "observation", "observation_state", "task_mode"):
            assert first[name] == getattr(start, name), name
        assert first["tools"] == env.tools(dynamic=False)
        witness = solve_any(release, ShopEnv(release), task).actions
        for action in ("click[nowhere]", {"name": "search"}, *witness):
            data, step = session.step(action), env.step(action)
            assert (data["reward"], data["done"]) == (step.reward, step.done)
            for name in ("observation", "observation_state", "action_feedback", "reward_detail", "info"):
                assert data["observation"][name] == json.loads(json.dumps(getattr(step, name))), name
        assert data["reward"] == 1.0
    again = session.step("search[x]")
    assert (again["observation"], again["done"]) == (data["observation"], True)
    assert again["reward"] is None, "a reward is told once"
    assert session.state()["reward"] == 1.0


def test_bare_tool_calls_and_other_shapes(session):
    session.reset(task_id=3)
    call_ = {"name": "search", "arguments": {"query": "收纳"}}
    assert session.ask("step", **call_)["data"]["observation"]["action_feedback"]["valid"]
    wrapped = {"type": "function", "function": {"name": "click", "arguments": '{"value": "next >"}'}}
    assert session.ask("step", **wrapped)["data"]["observation"]["action_feedback"]["valid"]
    for data in ({}, {"action": 5}, {"action": None}, {"action": "x", "more": 1}, {"metadata": {}}):
        assert session.refusal("step", **data)[0] == "VALIDATION_ERROR"
    assert session.state()["step_count"] == 2


def test_frames_that_break_the_package_get_an_answer(session):
    session.reset(task_id=3)
    for raw in ("[]", "5", "null", '"x"', "{", '{"type":"state","type":"state"}', b"{}", "[" * 5000):
        answer = session.raw(raw)
        assert answer["type"] == "error", raw
    for raw in ('{"type":"dance"}', '{"type":["reset"]}', '{"type":"step"}', '{"type":"step","data":5}'):
        assert session.raw(raw)["data"]["code"] in ("UNKNOWN_TYPE", "VALIDATION_ERROR")
    half = session.raw('{"type":"step","data":{"action":"search[\\ud800]"}}')
    assert half["type"] == "observation"
    assert (
        session.raw('{"type":"step","data":{"action":{"\\ud800":"\\ud800"},"x":"\\ud800"}}')["type"]
        == "error"
    )
    huge = session.ask("step", action="x" * 2_000_000)
    assert huge["data"]["code"] == "VALIDATION_ERROR"
    assert huge["data"]["message"].startswith("body_too_large")
    assert session.state()["step_count"] == 1, "the session goes on"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"seed": -1}, "out_of_range"),
        ({"seed": "7"}, "wrong_type"),
        ({"task_id": {"a": 1}}, "wrong_type"),
        ({"episode_id": "../../etc"}, "out_of_range"),
        ({"split": "project/test", "index": 10_000}, "out_of_range"),
        ({"private": True}, "unknown_field"),
    ],
)
def test_arguments_are_checked(session, given, code):
    assert session.refusal("step", action="search[x]")[1].startswith("not_started: ")
    session.reset(task_id=3)
    kind, text = session.refusal("reset", **given)
    assert (kind, text.partition(":")[0]) == ("EXECUTION_ERROR", code)
    assert session.state()["step_count"] == 0


def test_keywords_of_the_package_itself_are_no_way_in(session):
    """`func` and `session_id` are names inside the package: an error, and the session goes on."""
    for name in ("func", "session_id", "self", "args", "kwargs"):
        assert session.raw(json.dumps({"type": "reset", "data": {name: 1}}))["type"] == "error"
    session.reset(task_id=3)


def test_a_bare_reset_draws_a_task_and_tells_the_seed(session):
    first = session.reset()["observation"]["task_id"]
    seed = session.state()["seed"]
    assert session.reset(seed=seed)["observation"]["task_id"] == first


def test_plain_http(server):
    def get(path):
        return server.call("GET", path)

    assert get("/health")[1] == {"status": "healthy"}
    assert get("/metadata")[1]["name"] == "shopsim"
    assert "The Shop alone" in get("/metadata")[1]["description"]
    assert get("/state")[1]["step_count"] == 0
    schema = get("/schema")[1]
    assert schema["action"]["required"] == ["action"]
    assert "task_instruction" in schema["reset_observation"]["properties"]
    with load_release() as release:
        splits = {row["name"]: row["type"] for row in get("/shopsim/splits")[1]}
        assert set(splits) == set(release.splits)
        ids = release.splits["project/test"]
        asked = {"split": "project/test"}
        assert server.call("POST", "/shopsim/num_tasks", asked)[1] == {"num_tasks": len(ids)}
        rows = server.call("POST", "/shopsim/tasks", asked)[1]["tasks"]
        assert [row["task_id"] for row in rows] == list(ids)
        one = server.call("POST", "/shopsim/task", {**asked, "index": 3})[1]["task"]
        assert one == rows[3]
        part = server.call("POST", "/shopsim/task_range", {**asked, "start": 2, "stop": 5})[1]["tasks"]
        assert part == rows[2:5]
    assert server.call("POST", "/shopsim/task", {**asked, "index": len(ids)})[0] == 400
    assert server.call("POST", "/shopsim/num_tasks", {"split": "nowhere"})[0] == 422
    assert server.call("POST", "/reset", {"task_id": 3})[1]["observation"]["task_id"] == 3
    assert server.call("POST", "/reset", {"task_id": "3"})[0] == 422
    status, problem, _ = server.call("POST", "/step", {"action": {"action": "search[x]"}})
    assert (status, problem["code"]) == (409, "not_started"), "plain HTTP has no sessions"
    assert server.call("POST", "/step", raw=b"{" * 70_000)[0] == 413
    assert server.call("POST", "/reset", raw=b'{"seed":1,"seed":2}')[0] == 400


def test_slots_are_free_after_every_way_to_leave():
    """One slot: closing, a `close` frame, a dropped connection, an ended episode, a plain HTTP reset."""
    with serving("--slots", "1", "--wait", "5") as server:

        def begun() -> Socket:
            found = Socket(server.port)
            found.reset(task_id=3, max_actions=1)
            return found

        begun().close()
        polite = begun()
        polite.wire.send('{"type":"close"}')
        dropped = begun()
        dropped.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        dropped.wire.socket.close()
        ended = begun()
        assert ended.step("search[x]")["done"]
        kept = begun()
        assert ended.step("search[x]")["done"], "and the ended session still answers"
        assert ended.refusal("reset", task_id=3)[1].startswith("capacity: ")
        kept.close()
        assert server.call("POST", "/reset", {"task_id": 3})[0] == 200
        begun().close()


def test_a_reset_waits_for_its_turn():
    with serving("--slots", "1", "--wait", "20") as server:
        first = Socket(server.port)
        first.reset(task_id=3)
        second = Socket(server.port)
        second.send("reset", task_id=3)
        timer = threading.Timer(0.3, first.close)
        timer.start()
        assert second.answer()["type"] == "observation"
        timer.join()


def test_of_ten_resets_that_find_no_room_one_sample_is_left():
    """Nine errors with their failure kind, one sample, no reward for the nine, which a trainer counts."""
    options = ("--slots", "1", "--wait", "0", "--sessions", "20")
    with serving(*options) as server:
        sockets = [Socket(server.port) for _ in range(10)]
        answers = [one.ask("reset", task_id=3) for one in sockets]
        failed = [answer for answer in answers if answer["type"] == "error"]
        assert [answer["type"] for answer in answers].count("observation") == 1
        assert len(failed) == 9
        assert all("failure_kind capacity" in answer["data"]["message"] for answer in failed)
        usable = sockets[[answer["type"] for answer in answers].index("observation")]
        usable.reset(task_id=3, max_actions=1)
        assert usable.step("search[x]")["reward"] == 0.0
        for one, answer in zip(sockets, answers, strict=True):
            if answer["type"] == "error":
                assert one.refusal("step", action="search[x]")[1].startswith("not_started: ")
            one.close()
    lines = [json.loads(line) for line in server.log.splitlines()]
    kinds = [line["failure_kind"] for line in lines if line["event"] == "fault answered"]
    assert kinds == ["capacity"] * 9, "the log has the count"


def test_sixty_clients_that_never_close_share_four_slots():
    """Half of them leave in the middle of an episode; their slots come back when the leases expire."""
    options = ("--slots", "4", "--wait", "50", "--lease-ttl", "1", "--sessions", "80")
    with serving(*options) as server:

        def play(number: int) -> Socket:
            found = Socket(server.port)
            found.reset(task_id=3, max_actions=1 if number % 2 else 9)
            assert found.step("search[收纳]")["done"] == bool(number % 2)
            return found

        with ThreadPoolExecutor(60) as threads:
            kept = list(threads.map(play, range(60)))
        assert len(kept) == 60
        time.sleep(1.5)
        with pytest.raises(ConnectionClosed) as closed:
            kept[0].state()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001, "sockets that nobody uses are closed too"


def test_too_many_sockets_are_refused_in_the_form_of_the_package():
    with serving("--slots", "1", "--sessions", "2") as server:
        first, second = Socket(server.port), Socket(server.port)
        first.reset(task_id=3)
        second.state()
        third = Socket(server.port)
        assert third.answer()["data"]["code"] == "CAPACITY_REACHED"


def test_tokens(tmp_path):
    secret = "of-the-server-test" * 2
    with serving(SHOPSIM_TOKEN=secret) as server:
        assert call(server.port, "GET", "/schema")[0] == 401
        assert call(server.port, "GET", "/health")[0] == 200
        with pytest.raises(InvalidStatus) as refused:
            Socket(server.port)
        assert refused.value.response.status_code == 403
        with Socket(server.port, additional_headers={"Authorization": f"Bearer {secret}"}) as session:
            session.reset(task_id=3)
    with serving() as server, pytest.raises(InvalidStatus):
        Socket(server.port, additional_headers={"Origin": "http://elsewhere.example"})


def test_the_target_for_uvicorn():
    port = free_port()
    target = "shopsim_env.adapters.openenv.asgi:app"
    command = [sys.executable, "-m", "uvicorn", target, "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "SHOPSIM_SLOTS": "1"})
    try:
        end = time.monotonic() + 300
        while True:
            try:
                assert call(port, "GET", "/health")[0] == 200
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.2)
        with Socket(port) as first, Socket(port) as second:
            first.reset(task_id=3)
            second.send("reset", task_id=3)
            first.close()
            assert second.answer()["type"] == "observation", "one slot, as the variable says"
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.skipif(CANARIES is None, reason="`make adapters` builds the release with canaries")
def test_nothing_private_is_in_any_frame():
    """Every canary of the goals against everything that was sent, errors and discovery included."""
    planted = json.loads(str(CANARIES))
    with serving("--slots", "2", "--wait", "0", release=Path(planted["release"])) as server:
        seen: list[str] = []
        for options in ({}, {"interaction_mode": "multi_turn", "seed": 1}, {"observation_style": "compact"}):
            with Socket(server.port) as session:
                for data in ({"task_id": 0}, {"task_id": 10**6}, {"split": "source/all_train", "index": 1}):
                    session.ask("reset", structured=True, tools="static", **data, **options)
                    for action in planted["actions"]:
                        session.ask("step", action=action)
                    session.raw('{"type":"state"}')
                seen += session.seen
        for path in ("/schema", "/metadata", "/state", "/shopsim/splits", "/openapi.json"):
            seen.append(json.dumps(server.call("GET", path)[1], ensure_ascii=False))
        seen.append(json.dumps(server.call("POST", "/shopsim/tasks", {"split": "source/all_train"})[1]))
        server.stop()
        text = "".join(seen) + server.log.decode()
    assert "1.0" in text, "a purchase was scored"
    for canary in planted["canaries"]:
        assert canary not in text
    assert "Traceback" not in text
    assert str(Path(planted["release"]).parent) not in text
