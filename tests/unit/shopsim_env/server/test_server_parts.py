"""Strict JSON, fields, guard, problems, the document: the parts of the server that need no socket."""

import asyncio
import json
import logging

import pytest

from shopsim_env.errors import JournalError, PoolError, ReleaseError, UsageError
from shopsim_env.server import bodies
from shopsim_env.server.fields import Field, read_fields, schema_of
from shopsim_env.server.guard import is_loopback, make_guard
from shopsim_env.server.http import Bodies, refusal
from shopsim_env.server.logs import JsonLines
from shopsim_env.server.openapi import document
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.problems import STATUSES, TITLES, ProblemError, problem_of
from shopsim_env.server.shop_agent import one_action
from shopsim_env.server.strict_json import read_json
from shopsim_env.shop.env import ShopEnv

TOKEN, ADMIN = "t" * 16, "a" * 16


def code_of(call, *arguments) -> str:
    with pytest.raises(ProblemError) as caught:
        call(*arguments)
    return caught.value.code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"{} {}", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        ('{"a":1}'.encode("utf-16"), "invalid_json"),
        (b"{'a':1}", "invalid_json"),
        (b'{"a":' + b"9" * 5_000 + b"}", "invalid_json"),
        (b'{"a":1,"a":1}', "duplicate_key"),
        (b'{"x":{"a":1,"b":2,"a":3}}', "duplicate_key"),
        (b'{"a":NaN}', "not_finite"),
        (b'{"a":-Infinity}', "not_finite"),
        (b'{"a":1e999}', "not_finite"),
        (b"[" * 17 + b"]" * 17, "too_deep"),
        (b'{"a":' * 17 + b"1" + b"}" * 17, "too_deep"),
        (b"[" * 30_000, "too_deep"),
    ],
)
def test_json_that_is_refused(body, code):
    assert code_of(read_json, body) == code


def test_json_that_is_taken():
    assert read_json(b' {"a":[1,2.5,null,true,"\\ud800"]} ') == {"a": [1, 2.5, None, True, "\ud800"]}
    assert read_json(b"[" * 16 + b"]" * 16) is not None
    assert read_json(b"[" + b"[]," * 50 + b"[]]") == [[]] * 51


@pytest.mark.parametrize(
    ("fields", "value", "code"),
    [
        (bodies.STEP, [], "wrong_type"),
        (bodies.STEP, None, "wrong_type"),
        (bodies.STEP, {"fence": 1}, "missing_field"),
        (bodies.STEP, {"action": "x"}, "missing_field"),
        (bodies.STEP, {"action": 1, "fence": 1}, "wrong_type"),
        (bodies.STEP, {"action": None, "fence": 1}, "wrong_type"),
        (bodies.STEP, {"action": "x", "fence": True}, "wrong_type"),
        (bodies.STEP, {"action": "x", "fence": "1"}, "wrong_type"),
        (bodies.STEP, {"action": "x", "fence": 1.5}, "wrong_type"),
        (bodies.STEP, {"action": "x", "fence": -1}, "out_of_range"),
        (bodies.STEP, {"action": "x", "fence": 2**63}, "out_of_range"),
        (bodies.STEP, {"action": "x", "fence": 1, "request_id": ""}, "out_of_range"),
        (bodies.STEP, {"action": "x", "fence": 1, "request_id": "a\n"}, "out_of_range"),
        (bodies.STEP, {"action": "x", "fence": 1, "extra": 1}, "unknown_field"),
        (bodies.RESET, {"request_id": "short"}, "out_of_range"),
        (bodies.RESET, {"task_mode": "Persona"}, "out_of_range"),
        (bodies.RESET, {"private": 1}, "wrong_type"),
        (bodies.RESET, {"wait_s": -0.1}, "out_of_range"),
        (bodies.TERMINATE, {"reason": "boredom", "fence": 1}, "out_of_range"),
        (bodies.TERMINATE, {"reason": 5, "fence": 1}, "wrong_type"),
    ],
)
def test_fields_that_are_refused(fields, value, code):
    assert code_of(read_fields, fields, value, "body") == code


def test_fields_that_are_taken():
    found = read_fields(bodies.STEP, {"action": {"name": "x"}, "fence": 3.0, "request_id": None}, "body")
    assert found == {"action": {"name": "x"}, "fence": 3, "request_id": None}
    assert type(found["fence"]) is int
    reset = read_fields(bodies.RESET, {"task_id": 3, "wait_s": 0.5}, "body")
    assert (reset["task_mode"], reset["max_actions"], reset["tools"], reset["private"]) == (
        "persona",
        None,
        "dynamic",
        False,
    )
    assert code_of(Field(about="x").check, "name", 1) == "wrong_type"
    assert schema_of({"a": Field(about="x")})["properties"] == {"a": {"description": "x"}}


def test_a_reset_takes_what_an_environment_takes():
    import inspect

    names = set(inspect.signature(ShopEnv.__init__).parameters) - {
        "self",
        "release",
        "split",
        "shopper_wording",
    }
    assert set(bodies.ENVIRONMENT) == names


def headers(**values: str) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in {"host": "127.0.0.1:5700", **values}.items()}


def test_the_guard_of_loopback():
    guard = make_guard("127.0.0.1", None, None)
    for host in ("127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:5700"):
        guard.check(headers(host=host))
    for host in ("evil.example", "127.0.0.1.evil.example:5700", "", "[::2]:1"):
        assert code_of(guard.check, headers(host=host)) == "forbidden_host"
    guard.check(headers(origin="http://127.0.0.1:5700"))
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null", ""):
        assert code_of(guard.check, headers(origin=origin)) == "forbidden_origin"
    assert code_of(guard.check_admin, headers(authorization="Bearer ")) == "admin_only"
    make_guard("127.0.0.1", None, None, ("shop.example",)).check(headers(host="Shop.example:80"))


def test_the_guard_with_tokens():
    guard = make_guard("0.0.0.0", TOKEN, ADMIN)  # noqa: S104
    for given in (TOKEN, ADMIN):
        guard.check(headers(host="any", authorization=f"Bearer {given}"))
        guard.check(headers(host="any", authorization=f"bearer  {given} "))
    for given in ("", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
        assert code_of(guard.check, headers(authorization=given)) == "unauthorized"
    assert code_of(guard.check_admin, headers(authorization=f"Bearer {TOKEN}")) == "admin_only"
    guard.check_admin(headers(authorization=f"Bearer {ADMIN}"))
    named = make_guard("0.0.0.0", TOKEN, None, ("shop.example",))  # noqa: S104
    assert code_of(named.check, headers(host="other.example")) == "forbidden_host"
    assert TOKEN not in repr(guard)


@pytest.mark.parametrize(
    ("host", "token", "code"),
    [
        ("0.0.0.0", None, "token_needed"),  # noqa: S104
        ("::", None, "token_needed"),
        ("shop.example", None, "token_needed"),
        ("127.0.0.1", "short", "weak_token"),
        ("0.0.0.0", "令" * 20, "weak_token"),  # noqa: S104
    ],
)
def test_servers_that_must_not_start(host, token, code):
    with pytest.raises(UsageError) as caught:
        make_guard(host, token, None)
    assert caught.value.code == code


def test_loopback_names():
    assert [
        is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "10.0.0.1", "x")
    ] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_problems_tell_what_to_do_and_no_path():
    assert set(STATUSES.values()) <= set(TITLES)
    problem = problem_of(JournalError("/secret/folder", code="journal_failed"))
    assert (problem.status, problem.code) == (503, "journal_failed")
    assert "secret" not in str(problem)
    assert ("retry-after", "1") in problem.headers
    assert problem_of(PoolError("gone", code="lease_lost")).status == 409
    assert problem_of(UsageError("x", code="whatever")).code == "usage_error"
    assert (
        problem_of(ReleaseError("/secret/file")).as_dict()["detail"] == "the server failed; its log says more"
    )
    assert json.loads(problem.body())["type"] == "urn:shopsim:problem:journal_failed"


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


def test_unexpected_errors_are_logged_without_their_text():
    logger, kept = logging.getLogger("shopsim_env.server"), Kept()
    logger.addHandler(kept)
    try:
        raise KeyError("canary-goal")
    except KeyError as error:
        problem = refusal(error)
    finally:
        logger.removeHandler(kept)
    assert (problem.status, problem.code) == (500, "internal")
    line = json.loads(JsonLines().format(kept.records[-1]))
    assert line["error"] == "KeyError"
    assert "test_server_parts.py" in line["at"][0]
    assert "canary" not in json.dumps(line)


def test_log_lines_are_json():
    record = logging.LogRecord(
        "n", logging.INFO, "f", 1, "two\nlines", (), (ValueError, ValueError("x"), None)
    )
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line)["event"] == "two\nlines"
    assert json.loads(line)["error"] == "ValueError"


def test_slow_bodies_are_given_up():
    async def never() -> dict:
        await asyncio.sleep(60)
        return {}

    async def play() -> str:
        reader = Bodies(timeout_s=0.0)
        kind = {b"content-type": b"application/json"}
        task = asyncio.ensure_future(reader.read(never, kind))
        await asyncio.sleep(0.01)
        reader.sweep()
        reader.sweep()
        with pytest.raises(ProblemError) as caught:
            await task
        other = asyncio.ensure_future(reader.read(never, kind))
        await asyncio.sleep(0.01)
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other
        return caught.value.code

    assert asyncio.run(play()) == "body_timeout"


def test_the_document_has_every_operation_with_an_example():
    found = document()
    assert found["openapi"] == "3.1.0"
    for operation in OPERATIONS:
        entry = found["paths"][operation.path][operation.method.lower()]
        assert entry["operationId"] == operation.name
        assert set(operation.all_codes) <= set(STATUSES)
        if operation.body is not None:
            schema = entry["requestBody"]["content"]["application/json"]["schema"]
            assert schema["additionalProperties"] is False
            for example in schema["examples"]:
                read_fields(operation.body, example, "body")
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("response", "action"),
    [
        ("search[杯]", "search[杯]"),
        ("先想一想\nAction: click[buy now]", "click[buy now]"),
        ("想\\nAction： search[杯]\\n", "search[杯]"),
        ("Action: a\nAction: b", "Action: a\nAction: b"),
        ("search[杯\nAction: click[buy now]]", "search[杯\nAction: click[buy now]]"),
        ("search[杯\\nAction: click[buy now]]", "search[杯\\nAction: click[buy now]]"),
        ("没有动作", "没有动作"),
    ],
)
def test_the_action_in_the_output_of_a_model(response, action):
    assert one_action(response) == action


def read_parts(*messages: dict, **more: str) -> object:
    """What a body in these parts is read as."""
    waiting = [{"type": "http.request", **message} for message in messages]

    async def receive() -> dict:
        return waiting.pop(0)

    kind = {b"content-type": b"application/json"}
    kind |= {name.replace("_", "-").encode(): value.encode() for name, value in more.items()}
    return asyncio.run(Bodies().read(receive, kind))


def test_bodies_come_in_parts():
    assert read_parts({"body": b'{"a"', "more_body": True}, {"body": b":1}"}) == {"a": 1}
    half = {"body": b" " * 40_000, "more_body": True}
    assert code_of(read_parts, half, half) == "body_too_large"
    assert code_of(read_parts, {"body": b" " * 70_000}) == "body_too_large"
    assert code_of(read_parts, half, {"type": "http.disconnect"}) == "invalid_json"


def test_headers_are_checked_before_the_body():
    def refused(**more: str) -> str:
        with pytest.raises(ProblemError) as caught:
            read_parts(**more)
        said.append(str(caught.value))
        return caught.value.code

    said: list[str] = []

    assert refused(content_length="65537") == "body_too_large"
    assert refused(content_length="x") == "body_too_large"
    assert refused(content_encoding="gzip") == "unsupported_encoding"
    assert refused(content_type="text/plain") == "unsupported_media_type"
    assert refused(content_type="application/json; charset=gbk") == "unsupported_media_type"
    assert refused(content_type="") == "unsupported_media_type"
    found = [message.partition(", found ")[2] for message in said[2:]]
    assert found == ["'gzip'", "'text/plain'", "'application/json; charset=gbk'", "none"]
    refused(content_type="x" * 500)
    assert len(said[-1]) < 200
