"""The model that plays: one chat completion a turn from an OpenAI-compatible endpoint, streamed or not.

Belongs here: asking, repeating what was lost on the way, and bringing answers into one form. Whether an
answer is a good one is decided in `protocol`. No key is in any message, log line or repr.
"""

import asyncio
import importlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shopsim_env.client.retrying import Retries
from shopsim_env.errors import ModelError, RunError, UsageError
from shopsim_env.llm import import_openai
from shopsim_env.runs.rows import TOKENS, integer, items, load_line, table, text
from shopsim_env.shop.display import well_formed

_AGAIN_BELOW_500: Final = (408, 409, 429)
_REFUSED: Final = {401: "unauthorized", 403: "unauthorized", 404: "unknown_model"}
FATAL: Final = ("unauthorized", "unknown_model")
"""Codes of refusals that every further request would get too."""
CONTEXT_LENGTH: Final = "context_length"
_QUOTED: Final = 300
_KEY_PART: Final = 6
_MOST_PAUSE_S: Final = 30.0
_MOST_ASKED_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer. `tool_calls` are as the endpoint gave them; absent texts are ""."""

    content: str
    reasoning: str
    tool_calls: Any
    finish_reason: str
    usage: dict[str, int] | None
    response_id: str
    model: str
    latency_ms: float = 0.0
    attempts: int = 1

    def message(self) -> dict[str, Any]:
        """The assistant message, for a rollout."""
        return {"role": "assistant", "content": self.content, "tool_calls": self.tool_calls}

    def facts(self) -> dict[str, Any]:
        """What a trace says about it."""
        return {
            "content": self.content,
            "reasoning": self.reasoning,
            "tool_calls": self.tool_calls or [],
            "finish_reason": self.finish_reason,
            "usage": self.usage,
            "response_id": self.response_id,
            "name": self.model,
            "latency_ms": self.latency_ms,
            "attempts": self.attempts,
        }


class ChatModel:
    """A model behind an endpoint, for one event loop. Use it in `async with`.

    Args:
        settings: The section `model` of a run, checked.
        pause: Waits so many seconds.

    Raises:
        UsageError: openai is not installed (`missing_extra`), or the variable with the key is not set
            (`missing_key`).
    """

    def __init__(
        self, settings: Mapping[str, Any], pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        openai = import_openai("shopsim run", "run")
        self._openai = openai
        self._lost = _network_errors()
        self._settings = settings
        self._key = _key(settings["api_key_env"])
        self._pause = pause
        self._retries = Retries(give_up_s=settings["give_up_s"], first_s=0.5, most_s=_MOST_PAUSE_S)
        self._fixed = _fixed_members(settings)
        self._client = openai.AsyncOpenAI(
            base_url=settings["base_url"],
            api_key=self._key or "none",
            timeout=settings["timeout_s"],
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=settings["trust_env"], follow_redirects=False, timeout=settings["timeout_s"]
            ),
        )

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], seed: int, key: str
    ) -> Completion:
        """One answer. What was lost on the way is asked for again; an answer never is.

        Args:
            messages: The conversation so far.
            tools: Schemas that are offered.
            seed: Sent when the settings say so.
            key: Tells this request from all others: shares of pauses come from its hash.

        Raises:
            ModelError: refused, or no answer within `give_up_s` seconds of failures in a row.
        """
        end: float | None = None
        attempt = 0
        while True:
            try:
                return await self._once(messages, tools, seed, attempt + 1)
            except ModelError as error:
                if not error.again:
                    raise
                now = time.monotonic()
                end = now + self._retries.give_up_s if end is None else end
                wait_s = self._retries.pause(attempt, key) + error.after_s
                if now + wait_s > end:
                    raise
            await self._pause(wait_s)
            attempt += 1

    async def __aenter__(self) -> "ChatModel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def _once(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], seed: int, attempt: int
    ) -> Completion:
        request: dict[str, Any] = {**self._fixed, "messages": messages, "tools": tools}
        if self._settings["send_seed"]:
            request["seed"] = seed
        start = time.perf_counter()
        ask = self._streamed if self._settings["stream"] else self._whole
        try:
            raw = await ask(request)
        except self._openai.OpenAIError as error:
            raise self._failure(error) from None
        except self._lost as error:
            raise _lost("broken_stream", type(error).__name__) from None
        return read_completion(raw, (time.perf_counter() - start) * 1_000, attempt)

    async def _whole(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.chat.completions.with_raw_response.create(**request)
        try:
            return load_line(answer.content)
        except RunError:
            raise _lost("bad_answer", "a body that is no JSON object") from None

    async def _streamed(self, request: dict[str, Any]) -> dict[str, Any]:
        pieces = Pieces()
        options = {"stream": True, "stream_options": {"include_usage": True}}
        stream = await self._client.chat.completions.create(**request, **options)
        async with stream:
            async for chunk in stream:
                pieces.add(chunk.to_dict())
        return pieces.whole()

    def _failure(self, error: Any) -> ModelError:
        """What an exception of the client means; its text may hold a key, so little of it is used."""
        status = getattr(error, "status_code", None)
        if status is None:
            late = isinstance(error, self._openai.APITimeoutError)
            connection = isinstance(error, self._openai.APIConnectionError)
            code = "timeout" if late else "unreachable" if connection else "broken_stream"
            return _lost(code, type(error).__name__)
        if status in _REFUSED:
            return ModelError(
                f"the endpoint refuses {self._settings['name']!r} with status {status}; check base_url, "
                "name and the key in the variable of api_key_env",
                code=_REFUSED[status],
            )
        said = self._quoted(error)
        if status == 400 and _is_context_length(error, said):
            return ModelError("the conversation is longer than the model reads", code=CONTEXT_LENGTH)
        return ModelError(
            f"the endpoint answered with status {status}{said}",
            code=f"status_{status}",
            again=status in _AGAIN_BELOW_500 or status >= 500,
            after_s=_retry_after(error),
        )

    def _quoted(self, error: Any) -> str:
        """What an endpoint said, unless a part of the key is in it."""
        said = well_formed(text(getattr(error, "message", None)))[:_QUOTED]
        parts = {self._key[at : at + _KEY_PART] for at in range(max(0, len(self._key) - _KEY_PART + 1))}
        return f": {said}" if said and not any(part in said for part in parts) else ""

    def __repr__(self) -> str:
        return f"ChatModel({self._settings['name']!r})"


@dataclass(slots=True)
class Pieces:
    """The pieces of a stream, put together into what the same answer would be in one piece."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finish_reason: str = ""
    head: dict[str, Any] = field(default_factory=dict)
    usage: Any = None

    def add(self, chunk: dict[str, Any]) -> None:
        """Takes the next piece."""
        self.head = {"id": chunk.get("id"), "model": chunk.get("model")}
        self.usage = chunk.get("usage") or self.usage
        for choice in map(table, items(chunk.get("choices"))[:1]):
            delta = table(choice.get("delta"))
            self.content.append(text(delta.get("content")))
            self.reasoning.append(_reasoning(delta))
            for call in map(table, items(delta.get("tool_calls"))):
                self._add_call(call)
            self.finish_reason = text(choice.get("finish_reason")) or self.finish_reason

    def _add_call(self, piece: dict[str, Any]) -> None:
        """A piece of a call; servers that number none begin a new one with its id."""
        place = integer(piece.get("index"))
        if place is None:
            place = len(self.calls) if piece.get("id") or not self.calls else len(self.calls) - 1
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self.calls.setdefault(place, empty)
        call["id"] = call["id"] or text(piece.get("id"))
        function = table(piece.get("function"))
        call["function"]["name"] += text(function.get("name"))
        call["function"]["arguments"] += text(function.get("arguments"))

    def whole(self) -> dict[str, Any]:
        """The answer.

        Raises:
            ModelError: the stream ended without a finish reason (`broken_stream`).
        """
        if not self.finish_reason:
            raise _lost("broken_stream", "a stream that ended in the middle")
        message = {
            "content": "".join(self.content),
            "reasoning_content": "".join(self.reasoning),
            "tool_calls": [self.calls[place] for place in sorted(self.calls)],
        }
        choice = {"message": message, "finish_reason": self.finish_reason}
        return {**self.head, "choices": [choice], "usage": self.usage}


def read_completion(raw: dict[str, Any], latency_ms: float, attempts: int) -> Completion:
    """The answer in a body.

    Raises:
        ModelError: no chat completion (`bad_answer`): a fault of the endpoint and not of the model.
    """
    choices = items(raw.get("choices"))
    message = table(choices[0]).get("message") if choices else None
    if not isinstance(message, dict):
        raise _lost("bad_answer", "a body without a message")
    content = message.get("content")
    return Completion(
        content=well_formed(content if isinstance(content, str) else ""),
        reasoning=well_formed(_reasoning(message)),
        tool_calls=_clean(message.get("tool_calls")),
        finish_reason=text(table(choices[0]).get("finish_reason")),
        usage=_usage(table(raw.get("usage"))),
        response_id=text(raw.get("id")),
        model=text(raw.get("model")),
        latency_ms=round(latency_ms, 3),
        attempts=attempts,
    )


def _reasoning(message: Mapping[str, Any]) -> str:
    return text(message.get("reasoning_content")) or text(message.get("reasoning"))


def _usage(usage: Mapping[str, Any]) -> dict[str, int] | None:
    if not usage:
        return None
    details = table(usage.get("completion_tokens_details"))
    found = {**usage, "reasoning_tokens": details.get("reasoning_tokens", usage.get("reasoning_tokens"))}
    return {name: integer(found.get(name)) or 0 for name in TOKENS}


def _clean(value: Any) -> Any:
    """`value` with texts that UTF-8 holds: half a surrogate pair would stop the next request."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(name): _clean(item) for name, item in value.items()}
    return value


def _fixed_members(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Members that are the same in every request; what is not set is left to the endpoint."""
    named = {"model": settings["name"], "tool_choice": settings["tool_choice"]}
    asked = {name: settings[name] for name in ("temperature", "top_p", "max_tokens", "extra_body")}
    return {**named, **{name: value for name, value in asked.items() if value is not None}}


def _key(variable: str | None) -> str:
    if variable is None:
        return ""
    key = os.environ.get(variable, "")
    if not key.strip():
        raise UsageError(
            f"model.api_key_env: expected a key in the variable {variable}, found none", code="missing_key"
        )
    return key.strip()


def _lost(code: str, found: str) -> ModelError:
    return ModelError(f"expected a chat completion, found {found}", code=code, again=True)


def _network_errors() -> tuple[type[Exception], ...]:
    """Errors of the connection that the client lets through while it reads a stream."""
    found: list[type[Exception]] = [OSError, ValueError]
    for name in ("httpx2", "httpx"):
        try:
            found.append(importlib.import_module(name).HTTPError)
        except ImportError:  # noqa: PERF203
            continue
    return tuple(found)


def _is_context_length(error: Any, said: str) -> bool:
    return getattr(error, "code", None) == "context_length_exceeded" or "context length" in said.lower()


def _retry_after(error: Any) -> float:
    """Seconds that the endpoint asks for; more than five minutes, or a date, are not waited for."""
    told = text(error.response.headers.get("retry-after"))
    try:
        seconds = float(told)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds <= _MOST_ASKED_S else 0.0
