"""The parts of the OpenEnv adapter that need no package: arguments, sessions, discovery, the gate.

The server as a whole is tested with the real package, see `tests/adapters`.
"""

import asyncio
import base64
import json
import re
import threading
import time

import pytest
import yaml
from places import ROOT

from shopsim_env.adapters.openenv import tasks
from shopsim_env.adapters.openenv.asking import read_asked
from shopsim_env.adapters.openenv.faults import WireError, clean
from shopsim_env.adapters.openenv.gate import Gate
from shopsim_env.adapters.openenv.session import Session, Shop
from shopsim_env.cli import main
from shopsim_env.client.local import LocalClient
from shopsim_env.errors import SearchIndexError, ShopSimError
from shopsim_env.release import load_release
from shopsim_env.server.guard import make_guard
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.oracle import solve_any
from shopsim_env.versions import __version__

TOKEN = "of-the-gate-test" * 2


@pytest.fixture(scope="module")
def release():
    with load_release() as opened:
        yield opened


@pytest.fixture
def shop(release):
    with LocalClient(release, slots=2, ttl_s=60) as client:
        yield Shop(release, client, wait_s=0.0)


def code_of(call) -> str:
    with pytest.raises(ShopSimError) as caught:
        call()
    return caught.value.code


# Arguments.


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"seed": -1}, "out_of_range"),
        ({"seed": 2**63}, "out_of_range"),
        ({"seed": "7"}, "wrong_type"),
        ({"seed": True}, "wrong_type"),
        ({"seed": 1.5}, "wrong_type"),
        ({"task_id": {"$ne": 1}}, "wrong_type"),
        ({"task_id": "3"}, "wrong_type"),
        ({"task_id": 10**9}, "unknown_task"),
        ({"task_id": 3, "split": "project/train"}, "task_and_split"),
        ({"task_id": 3, "index": 0}, "task_and_split"),
        ({"index": 0}, "missing_field"),
        ({"split": "nowhere"}, "unknown_split"),
        ({"split": ["project/train"]}, "wrong_type"),
        ({"split": "project/train", "index": -1}, "out_of_range"),
        ({"split": "project/train", "index": 10**6}, "out_of_range"),
        ({"episode_id": "../../etc/passwd"}, "out_of_range"),
        ({"episode_id": ""}, "out_of_range"),
        ({"episode_id": 5}, "wrong_type"),
        ({"task_mode": "other"}, "out_of_range"),
        ({"page_size": 21}, "out_of_range"),
        ({"structured": 1}, "wrong_type"),
        ({"self": 1}, "unknown_field"),
        ({"private": True}, "unknown_field"),
    ],
)
def test_a_wrong_argument_is_refused_and_the_episode_goes_on(shop, given, code):
    session = Session(shop)
    session.reset({"task_id": 3})
    session.step("search[收纳]")
    assert code_of(lambda: session.reset(given)) == code
    assert session.state()["step_count"] == 1
    assert session.step("click[next >]").step.info["action_count"] == 2
    assert shop.client.health().free_slots == 1


def test_what_a_reset_means(release):
    ids = release.splits["project/test"]
    by_index = read_asked(release, {"split": "project/test", "index": 4}, "project/train", {})
    assert (by_index.task_id, by_index.split, by_index.seed) == (ids[4], None, None)
    drawn = read_asked(release, {"seed": 7}, "project/train", {"task_mode": "standard"})
    assert (drawn.task_id, drawn.split, drawn.seed) == (None, "project/train", 7)
    assert drawn.options["task_mode"] == "standard"
    own = read_asked(release, {"task_mode": "persona"}, "project/train", {"task_mode": "standard"})
    assert own.options["task_mode"] == "persona"
    unseeded = [read_asked(release, {}, "project/train", {}) for _ in range(8)]
    assert len({asked.seed for asked in unseeded}) > 1
    assert len({asked.episode_id for asked in unseeded}) == 8


def test_discovery_shows_places_and_labels_alone(release):
    assert {"name": "project/val", "type": "validation"} in tasks.list_splits(release)
    types = {row["name"]: row["type"] for row in tasks.list_splits(release)}
    assert types["source/all_train_clean"] == "train"
    assert types["source/persona_eval"] == types["project/test_clean"] == "test"
    ids = release.splits["project/test"]
    rows = tasks.tasks_in(release, "project/test")
    assert [row["task_id"] for row in rows] == list(ids)
    assert rows[2:5] == tasks.tasks_in(release, "project/test", 2, 5)
    assert rows[-2:] == tasks.tasks_in(release, "project/test", -2)
    assert rows[3] == tasks.task_at(release, "project/test", 3)
    assert set(rows[0]) == {"id", "split", "index", "task_id", "has_persona", "labels"}
    for index in (-1, len(ids), "0", True):
        with pytest.raises(IndexError):
            tasks.task_at(release, "project/test", index)
    assert code_of(lambda: tasks.tasks_in(release, "nowhere")) == "unknown_split"


# Sessions.


def test_a_session_plays_as_the_native_environment(shop, release):
    task = release.splits["project/train"][0]
    actions = solve_any(release, ShopEnv(release), task).actions
    native = ShopEnv(release)
    session = Session(shop)
    start, asked, schemas = session.reset({"task_id": task, "episode_id": "e-1", "tools": "static"})
    assert start == native.reset(task)
    assert schemas == native.tools(dynamic=False)
    assert not asked.structured
    for count, action in enumerate(actions, start=1):
        assert session.state() == {
            "episode_id": "e-1",
            "step_count": count - 1,
            "task_id": task,
            "seed": None,
            "done": False,
            "termination_reason": None,
            "reward": None,
        }
        played = session.step(action)
        assert (played.step, played.again) == (native.step(action), False)
    assert (played.step.reward, played.step.done) == (1.0, True)
    assert shop.client.health().free_slots == 2, "the slot is free at the end, not at the close"
    again = session.step(actions[0])
    assert (again.step, again.again) == (played.step, True)
    state = session.state()
    assert (state["step_count"], state["reward"], state["done"]) == (len(actions), 1.0, True)
    assert state["termination_reason"] == "purchase"


def test_before_reset_and_after_close(shop):
    session = Session(shop)
    assert code_of(lambda: session.step("search[x]")) == "not_started"
    assert session.state() == {"episode_id": None, "step_count": 0}
    session.reset({"task_id": 3})
    session.close()
    session.close()
    assert shop.client.health().free_slots == 2
    with pytest.raises(WireError, match="failure_kind lease_lost"):
        session.step("search[x]")
    assert code_of(lambda: session.reset({"task_id": 3})) == "lease_lost"


def test_full_pools_refuse_and_a_reset_of_its_own_slot_never_waits(shop):
    first, second, third = (Session(shop) for _ in range(3))
    first.reset({"task_id": 3})
    second.reset({"task_id": 3})
    with pytest.raises(WireError) as caught:
        third.reset({"task_id": 3})
    assert (caught.value.code, caught.value.failure_kind) == ("capacity", "capacity")
    first.reset({"task_id": 3})
    second.close()
    third.reset({"task_id": 3})


def test_a_reset_waits_for_a_slot(release):
    with LocalClient(release, slots=1, ttl_s=60) as client:
        shop = Shop(release, client, wait_s=20)
        first, second = Session(shop), Session(shop)
        first.reset({"task_id": 3})
        timer = threading.Timer(0.1, first.close)
        timer.start()
        second.reset({"task_id": 3})
        timer.join()
        assert second.state()["step_count"] == 0


def test_sixty_sessions_that_never_close_share_four_slots(release):
    """Half of them end their episodes, which frees the slot; the others are left and expire."""
    with LocalClient(release, slots=4, ttl_s=0.05) as client:
        shop = Shop(release, client, wait_s=30)
        kept = []
        for number in range(60):
            session = Session(shop)
            session.reset({"task_id": 3, "max_actions": 1 if number % 2 else None})
            played = session.step("search[收纳]")
            assert played.step.done == bool(number % 2)
            kept.append(session)
        assert client.pool.counters.opened == 60
        assert client.pool.counters.expired > 0
        time.sleep(0.06)
        with pytest.raises(WireError, match=r"lease_lost: .*failure_kind lease_lost"):
            kept[0].step("search[收纳]")


def test_a_fault_is_an_error_and_no_step(shop, monkeypatch):
    """The release cannot be read: nothing counts, no reward is made up, and the episode goes on later."""
    session = Session(shop)
    session.reset({"task_id": 3})

    def broken(*_):
        raise SearchIndexError("/secret/catalog.sqlite: disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(type(shop.release), "search", broken)
        with pytest.raises(WireError) as caught:
            session.step("search[从未搜过的词]")
    assert (caught.value.code, caught.value.failure_kind) == ("invalid_step", "env_crash")
    assert "secret" not in str(caught.value)
    assert session.state()["step_count"] == 0
    assert session.step("search[从未搜过的词]").step.valid


def test_nothing_but_a_clean_text_gets_out(capsys):
    with pytest.raises(WireError) as caught, clean():
        raise ValueError("/home/somebody/release: the gold product is 700000000003")
    assert str(caught.value) == "internal: the server failed; its log says more (failure_kind env_crash)"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "700000000003" not in "".join(capsys.readouterr())


# The package for the validator.

PACKAGE = ROOT / "shopsim_env" / "adapters" / "openenv"
REPORT = ROOT / "docs" / "reports" / "openenv-validate-0.10.json"


def test_the_plan_of_the_validator_ends_an_episode(shop):
    """The texts to click come from the sample: a new sample may need a new plan."""
    plan = json.loads((PACKAGE / "validation" / "runtime.json").read_text(encoding="utf-8"))
    session = Session(shop)
    session.reset({"seed": plan["reset"]["seed"], **plan["reset"]["options"]})
    steps = [session.step(action.get("action", action)).step for action in plan["actions"]]
    assert [step.action_feedback["valid"] for step in steps] == [*[True] * 3, False, True, False, True, True]
    assert [step.done for step in steps] == [*[False] * 7, True]


def test_the_manifest_declares_what_the_sample_has(release):
    manifest = yaml.safe_load((PACKAGE / "openenv.yaml").read_text(encoding="utf-8"))
    declared = manifest["validation"]["capabilities"]["declared_task_count"]
    assert declared == {name: len(release.splits[name]) for name in declared}
    assert manifest["version"] == __version__
    for name in ("oracle", "canaries"):
        given = manifest["validation"]["capabilities"][name]
        assert (PACKAGE / (given["location"] if name == "oracle" else given)).is_file()


def test_the_kept_report_is_of_this_manifest_and_says_what_was_graded():
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    manifest = yaml.safe_load((PACKAGE / "openenv.yaml").read_text(encoding="utf-8"))["validation"]
    whole = report["static_runtime_semantic"]
    assert whole["manifest"]["reward"].items() >= manifest["reward"].items()
    assert (
        whole["manifest"]["capabilities"]["declared_task_count"]
        == (manifest["capabilities"]["declared_task_count"])
    )
    results = {row["check_id"]: row["status"] for row in whole["results"]}
    graded = {name for name, status in results.items() if status != "skip"}
    assert graded == {
        "static.manifest",
        *(f"runtime.{name}" for name in ("startup", "reward_well_formed", "observation_schema")),
        *(f"runtime.{name}" for name in ("state_contract", "network_policy")),
    }
    assert {results[name] for name in graded} == {"pass"}
    skipped = [row["evidence"] for row in whole["results"] if row["status"] == "skip"]
    assert all(evidence == ["grader not implemented in this build"] for evidence in skipped)
    assert (report["static"]["verdict"], whole["verdict"]) == ("pass", "warn")
    assert report["running_server"]["passed"]
    assert not re.search(r"/(?:tmp|home|root|work|var)/|duration", json.dumps(report))


# The gate.


class Wire:
    """An ASGI server's side: messages that come, messages that were sent."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.sent = []

    async def receive(self):
        if not self.messages:
            await asyncio.sleep(3600)
        return self.messages.pop(0)

    async def send(self, message):
        self.sent.append(message)


async def echo(scope, receive, send):
    """An application that sends every frame, or a body, back."""
    if scope["type"] == "http":
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})
        return
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


def through(kind, *messages, token=None, path="/ws", headers=None, idle_s=5.0):
    wire = Wire(*messages)
    scope = {"type": kind, "path": path, "headers": [(b"host", b"127.0.0.1:1"), *(headers or [])]}
    asyncio.run(Gate(echo, make_guard("127.0.0.1", token, None), idle_s)(scope, wire.receive, wire.send))
    return wire.sent


def frames(*texts, **more):
    messages = [{"type": "websocket.receive", **text} for text in texts]
    sent = through("websocket", *messages, {"type": "websocket.disconnect", "code": 1000}, **more)
    return [json.loads(message["text"]) for message in sent]


def test_frames_that_cannot_be_read_are_answered_and_the_session_goes_on():
    good = {"type": "state"}
    answers = frames(
        {"text": json.dumps(good)},
        {"text": "[]"},
        {"text": "5"},
        {"text": "{"},
        {"text": '{"type":"step","type":"state"}'},
        {"text": '{"seed":NaN}'},
        {"text": "[" * 40 + "]" * 40},
        {"text": json.dumps({"type": "step", "data": {"action": "x" * 2_000_000}})},
        {"bytes": b"{}"},
        {"text": json.dumps(good)},
    )
    assert answers[0] == answers[-1] == good
    codes = [(answer["type"], answer["data"]["code"]) for answer in answers[1:-1]]
    validation, invalid = ("error", "VALIDATION_ERROR"), ("error", "INVALID_JSON")
    assert codes == [*(validation, validation, invalid), *[validation] * 4, invalid]
    assert frames({"text": r'{"a":"\ud83d\ude00 \ud800"}'}) == [{"a": "\U0001f600 \ufffd"}]
    (rpc,) = frames({"text": "[]"}, path="/mcp")
    assert (rpc["jsonrpc"], rpc["error"]["code"]) == ("2.0", -32600)


def test_a_socket_left_alone_is_closed():
    sent = through("websocket", {"type": "websocket.receive", "text": "{}"}, idle_s=0.05)
    assert [message["type"] for message in sent] == ["websocket.send", "websocket.close"]
    assert sent[1]["code"] == 1001


def bearer(token: str):
    return [(b"authorization", f"Bearer {token}".encode())]


def basic(password: str):
    return [(b"authorization", b"Basic " + base64.b64encode(f"any:{password}".encode()))]


@pytest.mark.parametrize("headers", [bearer(TOKEN), basic(TOKEN)])
def test_the_token_lets_in(headers):
    body = {"type": "http.request", "body": b'{"split":"x"}', "more_body": False}
    sent = through("http", body, token=TOKEN, path="/reset", headers=headers)
    assert sent[1]["body"] == b'{"split":"x"}'
    assert frames({"text": "{}"}, token=TOKEN, headers=headers) == [{}]


@pytest.mark.parametrize(
    "headers", [[], bearer("other" * 5), basic("other" * 5), [(b"authorization", b"Basic \xff")]]
)
def test_without_the_token_nobody_gets_in(headers):
    body = {"type": "http.request", "body": b"", "more_body": False}
    assert through("http", body, token=TOKEN, path="/reset", headers=headers)[0]["status"] == 401
    assert through("http", body, token=TOKEN, path="/health", headers=headers)[0]["status"] == 200
    sent = through("websocket", {"type": "websocket.connect"}, token=TOKEN, headers=headers)
    assert sent == [{"type": "websocket.close", "code": 1008}]
    strange = [(b"origin", b"http://elsewhere"), *headers]
    assert through("websocket", {"type": "websocket.connect"}, headers=strange)[0]["code"] == 1008


def test_bodies_are_bounded_and_strict():
    def status(*parts):
        more = [
            {"type": "http.request", "body": part, "more_body": place < len(parts) - 1}
            for place, part in enumerate(parts)
        ]
        return through("http", *more, path="/reset")[0]["status"]

    assert status(b'{"a"', b":1}") == 200
    assert status(b"") == 200
    assert status(b'{"a":1,"a":2}') == 400
    assert status(b"{") == 400
    assert status(*[b" " * 40_000] * 2) == 413


def test_the_command_names_its_extra(monkeypatch, capsys):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["openenv", "serve"]) == 2
    assert "shopsim[openenv]" in capsys.readouterr().err
