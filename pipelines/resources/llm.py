"""One chat completion from an OpenAI-compatible endpoint, and what its failures mean for a paid run.

The only module of the pipeline that imports openai, and only when a client is made. No retries here: openai's
own are off, since every request must pass the shared limiter. Bodies and keys never reach a message.
"""

import contextlib
import email.utils
import math
import os
import re
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pipelines.errors import ConfigError
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache import Usage
from pipelines.stages.annotation.prompt import RESPONSE_FORMAT
from shopsim_env.errors import ShopSimError

# In this order: the first kind that the body names decides.
_LIMITS = ("TPM", "RPM", "RPH", "RPD", "TPD", "IPM", "IPD")
_LONG_LIMITS = frozenset(("RPH", "RPD", "TPD", "IPD"))
_PLAIN_ID = re.compile(r"[\w.:-]{1,128}")


class ProviderError(ShopSimError):
    """The endpoint refuses for good; nothing more is asked in this run."""

    default_code = "provider_error"


class MinuteLimit(ShopSimError):  # noqa: N818 - a signal to pause, not a defect
    """A minute-scale 429; `retry_after` in seconds, 0 when the endpoint does not say."""

    default_code = "minute_limit"

    def __init__(self, retry_after: float) -> None:
        super().__init__("expected an answer, found a minute-scale rate limit (429)")
        self.retry_after = retry_after


class TransientFailure(ShopSimError):  # noqa: N818 - may pass by itself
    """A failure that may pass: network, 5xx, an answer that breaks the protocol. `code` says which."""

    default_code = "transient"

    def __init__(self, message: str, *, code: str, retry_after: float = 0.0) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Reply:
    """A completion: text of the first choice (None when there is none), tokens, and ids for support."""

    text: str | None
    usage: Usage
    response_id: str
    request_id: str
    system_fingerprint: str


def read_key(settings: AnnotationSettings) -> str:
    """The API key from the environment; any text that a header can carry.

    Raises:
        ConfigError: it is missing or cannot be sent (code `key_missing`). The message never holds it.
    """
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(
            f"environment variable {settings.api_key_env}: expected an API key of printable ASCII, found "
            + ("none" if not key else "other characters")
            + "; set it for this command only (api_key_env in configs/annotation.toml names another)",
            code="key_missing",
        )
    return key


class ChatEndpoint:
    """Chat completions of the configured model. Threads may share it; use it in a `with` block."""

    def __init__(self, settings: AnnotationSettings, key: str) -> None:
        import openai

        self._openai: Any = openai
        self._settings = settings
        self._key = key
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=key,
            timeout=settings.timeout_s,
            max_retries=0,
            # A redirect would carry texts to a host that nobody configured.
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False, limits=_limits(openai, settings.workers)
            ),
        )

    def ask(self, messages: list[dict[str, str]]) -> Reply:
        """Sends one request, once.

        Raises:
            ProviderError: the endpoint refuses for good.
            MinuteLimit: a minute-scale 429.
            TransientFailure: no connection, time-out, 5xx, a body that is no chat completion.
        """
        create: Any = self._client.chat.completions.with_raw_response.create
        try:
            raw = create(
                model=self._settings.model,
                messages=messages,
                temperature=0,
                max_tokens=self._settings.max_output_tokens,
                response_format=RESPONSE_FORMAT,
                extra_body=self._settings.extra_body or None,
            )
            return self._reply(raw)
        except self._openai.APIStatusError as error:
            raise self._meaning(error.status_code, error.response) from None
        except self._openai.APITimeoutError:
            raise TransientFailure("expected an answer in time, found none", code="timeout") from None
        except self._openai.APIConnectionError:
            raise TransientFailure(
                "expected an answer, found a broken connection", code="connection"
            ) from None
        except (self._openai.OpenAIError, ValueError, AttributeError, TypeError, KeyError):
            raise TransientFailure(
                "expected a chat completion, found another body", code="malformed_body"
            ) from None

    def close(self) -> None:
        """Closes the connections; requests in flight break off."""
        self._client.close()

    def __enter__(self) -> "ChatEndpoint":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _reply(self, raw: Any) -> Reply:
        answer = raw.parse()
        choices = answer.choices
        if not isinstance(choices, list):
            raise ValueError("no choices")
        text = choices[0].message.content if choices else None
        usage = getattr(answer, "usage", None)
        return Reply(
            text if isinstance(text, str) else None,
            Usage(_tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens")),
            self._plain(getattr(answer, "id", "")),
            self._plain(raw.headers.get("x-request-id", "")),
            self._plain(getattr(answer, "system_fingerprint", "")),
        )

    def _plain(self, value: Any) -> str:
        """An id as it came, "" for anything that is no plain id or repeats the key."""
        fits = isinstance(value, str) and _PLAIN_ID.fullmatch(value) and self._key not in value
        return value if fits else ""

    def _meaning(self, status: int, response: Any) -> ShopSimError:
        wait = _retry_after(response.headers.get("retry-after"))
        if status == 429:
            return self._limit(response.text, wait)
        if status >= 500:
            return TransientFailure(
                f"expected an answer, found status {status}", code=f"status_{status}", retry_after=wait
            )
        return ProviderError(
            f"{self._settings.api_url}: expected an answer, found status {status}; {self._advice(status)}. "
            "Nothing more was asked; answers so far are stored.",
            code=f"provider_status_{status}",
        )

    def _limit(self, body: str, wait: float) -> ShopSimError:
        found = set(re.findall(r"[A-Z]+", body.upper()))
        kind = next((name for name in _LIMITS if name in found), "")
        if kind in _LONG_LIMITS or "insufficient_quota" in body:
            reason = f"the limit {kind}" if kind in _LONG_LIMITS else "the account's quota"
            return ProviderError(f"{reason} is used up; run again later, or raise it", code="quota_exhausted")
        if wait > self._settings.longest_wait_s:
            return ProviderError(
                f"the endpoint asks to wait {wait:.0f} s, more than longest_wait_s "
                f"({self._settings.longest_wait_s:.0f}); run again later",
                code="quota_exhausted",
            )
        return MinuteLimit(wait)

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            return f"check the key in {self._settings.api_key_env} and what it may use"
        if status == 404:
            return "check base_url and model in configs/annotation.toml"
        return (
            "check base_url, model and extra_body in configs/annotation.toml, and that the endpoint takes a "
            "strict JSON schema as response_format"
        )


def _limits(openai: Any, workers: int) -> Any:
    """Connections enough for every worker, so that none waits for one after it got its slot."""
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)
    return limits(max_connections=2 * workers, max_keepalive_connections=workers)


def _tokens(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _retry_after(value: str | None) -> float:
    """Seconds from a Retry-After header, 0 for none or nonsense."""
    if not value:
        return 0.0
    seconds = math.nan
    with contextlib.suppress(ValueError):
        seconds = float(value)
    if math.isnan(seconds):
        with contextlib.suppress(ValueError, TypeError):
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    return seconds if seconds > 0 else 0.0
