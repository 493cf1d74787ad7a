"""The client against a real socket: what is sent, what each failure means, and that the key stays secret."""

import io
import logging
import socket
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from llm_stub import LlmStub
from persona_texts import CANARY

from pipelines.errors import ConfigError
from pipelines.resources.llm import ChatEndpoint, MinuteLimit, ProviderError, TransientFailure, read_key
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.prompt import RESPONSE_FORMAT, messages
from pipelines.stages.annotation.protocol import AnnotationRequest

KEY = "Any-form-of-key_417"
REQUEST = AnnotationRequest(7, "instruction_simple", f"{CANARY}灯，预算50元以内")


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


def settings(base_url: str, **changes: Any) -> AnnotationSettings:
    return AnnotationSettings.model_validate({"base_url": base_url, "model": "m", "timeout_s": 5} | changes)


def ask(stub: LlmStub, **changes: Any) -> Any:
    with ChatEndpoint(settings(stub.base_url, **changes), KEY) as endpoint:
        return endpoint.ask(messages(REQUEST))


@pytest.fixture
def caught_of() -> Any:
    """Plays one fault and returns the exception that the client makes of it."""

    def play(fault: str, **changes: Any) -> Any:
        with LlmStub({7: [fault]}) as stub, pytest.raises(Exception) as caught:  # noqa: PT011
            ask(stub, **changes)
        assert len(stub.log.arrivals) == 1, "no retries of the client's own"
        for secret in (KEY, CANARY):
            assert secret not in f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r}"
        return caught.value

    return play


def test_a_request_is_one_instruction_with_the_strict_schema() -> None:
    with LlmStub() as stub:
        reply = ask(stub)
    (body,) = stub.log.bodies
    assert body == {
        "model": "m",
        "messages": messages(REQUEST),
        "temperature": 0,
        "max_tokens": 128,
        "response_format": RESPONSE_FORMAT,
        "enable_thinking": False,
    }
    assert stub.log.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert (reply.response_id, reply.request_id, reply.system_fingerprint) == ("answer-1", "", "")
    assert '"amount": 50' in reply.text


def test_extra_body_can_be_left_out() -> None:
    with LlmStub() as stub:
        ask(stub, extra_body={})
    assert "enable_thinking" not in stub.log.bodies[0]


@pytest.mark.parametrize("fault", ["no_choices", "no_message"])
def test_answers_without_text_are_empty_or_malformed(fault: str) -> None:
    with LlmStub({7: [fault]}) as stub:
        if fault == "no_choices":
            assert ask(stub).text is None
        else:
            with pytest.raises(TransientFailure) as caught:
                ask(stub)
            assert caught.value.code == "malformed_body"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("500", "status_500"),
        ("502", "status_502"),
        ("503@2", "status_503"),
        ("cut", "connection"),
        ("half", "connection"),
        ("garbage", "malformed_body"),
    ],
)
def test_what_may_pass_is_transient(caught_of: Any, fault: str, code: str) -> None:
    error = caught_of(fault)
    assert isinstance(error, TransientFailure)
    assert error.code == code
    assert error.retry_after == (2.0 if "@2" in fault else 0.0)


def test_a_slow_answer_is_a_time_out() -> None:
    with LlmStub({7: ["slow:0.6"]}) as stub, pytest.raises(TransientFailure) as caught:
        ask(stub, timeout_s=0.2)
    assert caught.value.code == "timeout"


def test_nobody_listening_is_transient() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nowhere = settings(f"http://127.0.0.1:{port}/v1")
    with ChatEndpoint(nowhere, KEY) as endpoint, pytest.raises(TransientFailure) as caught:
        endpoint.ask(messages(REQUEST))
    assert caught.value.code == "connection"


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        ("429", 0),
        ("429:TPM", 0),
        ("429:RPM limit, not RPD", 0),
        ("429:IPM", 0),
        ("429@90", 90),
        ("429@-3", 0),
    ],
)
def test_minute_scale_limits(caught_of: Any, fault: str, wait: float) -> None:
    error = caught_of(fault)
    assert isinstance(error, MinuteLimit)
    assert error.retry_after == wait


def test_retry_after_may_be_a_date(caught_of: Any) -> None:
    error = caught_of(f"429@{formatdate(time() + 100, usegmt=True)}")
    assert 95 < error.retry_after <= 100


@pytest.mark.parametrize("fault", ["429@soon", "429@nan"])
def test_a_senseless_retry_after_is_none(caught_of: Any, fault: str) -> None:
    assert caught_of(fault).retry_after == 0


@pytest.mark.parametrize(
    "fault", ["429:RPH", "429:rpd exceeded", "429:TPD", "429:IPD", "429:insufficient_quota", "429@601"]
)
def test_long_limits_end_the_run(caught_of: Any, fault: str) -> None:
    error = caught_of(fault)
    assert isinstance(error, ProviderError)
    assert error.code == "quota_exhausted"


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "JSON schema"),
        (401, "key in"),
        (403, "key in"),
        (404, "base_url"),
        (408, "base_url"),
        (302, "base"),
    ],
)
def test_other_refusals_end_the_run_with_advice(caught_of: Any, status: int, advice: str) -> None:
    error = caught_of(str(status))
    assert isinstance(error, ProviderError)
    assert error.code == f"provider_status_{status}"
    assert advice in str(error)


def test_a_provider_that_repeats_the_key_does_not_get_it_into_messages_or_logs(
    caught_of: Any,
) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        assert caught_of(f"echo:bad key {KEY}, text {CANARY}").code == "provider_status_401"
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert stream.getvalue(), "something was logged at this level"
    assert KEY not in stream.getvalue()


@pytest.mark.parametrize("value", [None, "", "  ", "schlüssel", "a\nb"])
def test_a_key_that_cannot_be_sent_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(ConfigError, match="MY_KEY") as caught:
        read_key(AnnotationSettings(api_key_env="MY_KEY"))
    assert caught.value.code == "key_missing"
    assert "schl" not in str(caught.value)


def test_any_printable_key_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " x ")
    assert read_key(AnnotationSettings(api_key_env="MY_KEY")) == "x"
