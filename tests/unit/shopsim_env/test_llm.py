"""The language-model shopper against a real HTTP endpoint on a socket, with faults."""

import json
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from shop_world import shop_release

from shopsim_env.dialogue.wording import ModelWording
from shopsim_env.errors import SimulatorError, UsageError
from shopsim_env.llm import OpenAIChat
from shopsim_env.shop.actions import AskShopper
from shopsim_env.shop.env import ShopEnv

MESSAGES = [{"role": "user", "content": "你好"}]


class Endpoint:
    """An OpenAI-compatible chat endpoint; `answers` says what the next requests get, the last one for good.

    An answer is the text of a completion, or ("status", n), ("body", bytes), ("json", value), ("sleep", s).
    """

    def __init__(self):
        self.answers = ["好的"]
        self.requests = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append((self.path, self.headers.get("Authorization"), body))
                status, payload = endpoint.next()
                with suppress(ConnectionError):  # a client that timed out has hung up
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def next(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, str):
            return 200, json.dumps(completion(answer)).encode()
        kind, value = answer
        if kind == "sleep":
            time.sleep(value)
            return 200, json.dumps(completion("晚了")).encode()
        if kind == "status":
            return value, json.dumps({"error": {"message": "SECRET-BODY", "type": "x"}}).encode()
        return 200, value if kind == "body" else json.dumps(value).encode()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def completion(text):
    message = {"role": "assistant", "content": text}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


@pytest.fixture
def endpoint():
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def chat(endpoint):
    with OpenAIChat(
        "some-model", base_url=endpoint.url, api_key="KEY-1", timeout_s=0.4, max_retries=0
    ) as model:
        yield model


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("llm"))
    yield small
    small.close()


def test_a_completion_is_asked_for_and_read(endpoint, chat):
    assert chat.complete(MESSAGES) == "好的"
    ((path, key, body),) = endpoint.requests
    assert (path, key) == ("/v1/chat/completions", "Bearer KEY-1")
    assert (body["model"], body["messages"]) == ("some-model", MESSAGES)
    assert (body["temperature"], body["max_tokens"]) == (0.7, 200)


FAULTS = [
    ("status", 500),
    ("status", 401),
    ("status", 429),
    ("body", b"{broken"),
    ("body", b""),
    ("json", {}),
    ("json", []),
    ("json", "text"),
    ("json", {"choices": []}),
    ("json", {"choices": [{}]}),
    ("json", {"choices": [{"message": {"content": None}}]}),
    ("json", {"choices": [{"message": {"content": ["部分"]}}]}),
    ("sleep", 1.0),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_every_fault_is_one_typed_error_without_body_or_key(endpoint, chat, fault):
    endpoint.answers = [fault]
    with pytest.raises(SimulatorError, match="some-model") as error:
        chat.complete(MESSAGES)
    assert error.value.code == "simulator_fault"
    assert "SECRET" not in str(error.value)
    assert "KEY-1" not in str(error.value)


def test_no_connection_is_the_same_error():
    server = Endpoint()
    server.close()
    with (
        OpenAIChat("m", base_url=server.url, api_key="k", max_retries=0) as model,
        pytest.raises(SimulatorError, match="APIConnectionError"),
    ):
        model.complete(MESSAGES)


def test_the_client_repeats_as_often_as_it_is_told(endpoint):
    endpoint.answers = [("status", 500), "好的"]
    with OpenAIChat("m", base_url=endpoint.url, api_key="k", max_retries=1) as model:
        assert model.complete(MESSAGES) == "好的"
    assert len(endpoint.requests) == 2


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(UsageError, match=r"shopsim\[llm\]") as error:
        OpenAIChat("m")
    assert error.value.code == "missing_extra"


def test_without_a_key_the_client_says_so(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="refuses"):
        OpenAIChat("m", base_url="http://127.0.0.1:9/v1")


def play(release, wording, *questions):
    env = ShopEnv(release, interaction_mode="multi_turn", shopper_wording=wording)
    env.reset(3)
    return [env.step(AskShopper(question)) for question in questions]


def test_an_episode_with_good_words(release, endpoint, chat):
    endpoint.answers = ["我手头只有40元哦"]
    wording = ModelWording(chat)
    (step,) = play(release, wording, "预算多少？")
    assert step.observation_state["shopper"]["message"].startswith("我手头只有40元哦。")
    last = step.info["shopper"]["last"]
    assert (last["wording"]["source"], last["wording"]["problem"]) == ("model", "")
    assert [row["request"] for row in wording.recorded()] == [last["wording"]["request"]]
    sent = json.dumps(endpoint.requests, ensure_ascii=False)
    assert not any(text in sent for text in ("雾蓝", "单灯", "防水", "可充电", "星野", "700000000101"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("40元，颜色要雾蓝", "undisclosed_fact"),
        ("40元，最多50元", "added_digits"),
        ("四十元吧", "missing_fact"),
        ("不要40元的", "negated_fact"),
        ("   ", "empty"),
    ],
)
def test_words_that_leak_or_change_facts_are_not_used(release, endpoint, chat, text, problem):
    endpoint.answers = [text]
    (step,) = play(release, ModelWording(chat), "预算多少？")
    (plain,) = play(release, None, "预算多少？")
    assert step.observation == plain.observation
    wording = step.info["shopper"]["last"]["wording"]
    assert (wording["source"], wording["problem"]) == ("template", problem)
    assert "雾蓝" not in json.dumps(step.info, ensure_ascii=False)


@pytest.mark.parametrize("fault", [("status", 500), ("body", b"{broken"), ("sleep", 1.0)], ids=repr)
def test_a_fault_in_an_episode_is_flagged_and_can_be_repeated(release, endpoint, chat, fault):
    endpoint.answers = [fault, "就40元"]
    failed, step = play(release, ModelWording(chat), "预算多少？", "预算多少？")
    assert (failed.valid, failed.failure_kind, failed.reward) == (False, "simulator_fault", None)
    assert failed.observation_state["shopper"]["question"] is None
    assert (step.valid, step.info["action_count"]) == (True, 1)
    assert step.observation_state["shopper"]["message"].startswith("就40元。")


def test_a_recorded_run_replays_without_the_endpoint(release, endpoint, chat):
    endpoint.answers = ["我手头只有40元哦", "要雾蓝，也要防水", "好的"]
    wording = ModelWording(chat)
    questions = ("预算多少？", "颜色？", "你好", "可以下单吗")
    played = play(release, wording, *questions)
    asked = len(endpoint.requests)
    rows = json.loads(json.dumps(wording.recorded(), ensure_ascii=False))
    assert play(release, ModelWording(records=rows), *questions) == played
    assert len(endpoint.requests) == asked == 2
