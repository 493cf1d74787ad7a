"""Bytes of requests and answers, common to every endpoint: bodies in, JSON and problems out.

Belongs here: the ASGI side of a body and an answer. No endpoint.
"""

import asyncio
import http
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from shopsim_env.errors import ShopSimError
from shopsim_env.server.guard import Headers
from shopsim_env.server.problems import ProblemError, problem_of
from shopsim_env.server.strict_json import MAX_BODY, read_json

LOG = logging.getLogger("shopsim_env.server")
BODY_TIMEOUT_S: Final = 30.0
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_SHOWN: Final = 80
_JSON: Final = (b"content-type", b"application/json")
_PROBLEM: Final = (b"content-type", b"application/problem+json")
_SAFE: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


class Bodies:
    """Reads bodies, and gives up on those that do not come. One per server.

    A timer for every read would cost more than the read, so a sweep looks after all of them.
    """

    def __init__(self, timeout_s: float = BODY_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._since: dict[asyncio.Task[Any] | None, float] = {}
        self._late: set[asyncio.Task[Any] | None] = set()

    async def read(self, receive: Receive, headers: Headers) -> Any:
        """The JSON value of a request.

        Raises:
            ProblemError: another media type or encoding, too large, too slow, or what `read_json` refuses.
        """
        check_media(headers)
        task = asyncio.current_task()
        self._since[task] = time.monotonic()
        try:
            message = await receive()
            body = message.get("body", b"")
            if message.get("more_body"):
                body = await _rest(receive, body)
        except asyncio.CancelledError as error:
            if task not in self._late:
                raise
            self._late.discard(task)
            text = f"expected the whole body within {self._timeout_s:g} seconds"
            raise ProblemError(text, code="body_timeout") from error
        finally:
            del self._since[task]
        return read_body(body)

    def sweep(self) -> None:
        """Stops the reads that take too long."""
        oldest = time.monotonic() - self._timeout_s
        for task, since in list(self._since.items()):
            if since < oldest and task is not None and task not in self._late:
                self._late.add(task)
                task.cancel()


def _shown(value: bytes) -> str:
    """A header's value as it may stand in a message."""
    return ascii(value[:_SHOWN].decode("latin-1")) if value else "none"


def check_media(headers: Headers) -> None:
    """Refuses what is not plain JSON of a size that may be read.

    Raises:
        ProblemError: `unsupported_media_type`, `unsupported_encoding`, `body_too_large`.
    """
    given = headers.get(b"content-type", b"")
    if given != b"application/json" and not _is_json(given):
        raise ProblemError(
            f"content-type: expected application/json, in UTF-8 if a charset is named, found {_shown(given)}",
            code="unsupported_media_type",
        )
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding != b"identity":
        raise ProblemError(
            f"content-encoding: expected none, found {_shown(encoding)}", code="unsupported_encoding"
        )
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length[:20]) > MAX_BODY:
        raise _too_large()


def _is_json(given: bytes) -> bool:
    kind, _, parameters = given.lower().partition(b";")
    return kind.strip() == b"application/json" and parameters.strip() in (b"", b"charset=utf-8")


def read_body(body: bytes) -> Any:
    """The JSON value of a whole body whose headers were checked.

    Raises:
        ProblemError: too large, or what `read_json` refuses.
    """
    if len(body) > MAX_BODY:
        raise _too_large()
    return read_json(body)


async def _rest(receive: Receive, body: bytes) -> bytes:
    parts = [body]
    size = len(body)
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError("the body ended before its length", code="invalid_json")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            raise _too_large()
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large() -> ProblemError:
    return ProblemError(f"expected a body of at most {MAX_BODY} bytes, found more", code="body_too_large")


async def send_json(
    send: Send, body: bytes, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """Sends JSON."""
    await _send(send, status, body, (_JSON, *headers))


async def send_bytes(send: Send, body: bytes, kind: bytes) -> None:
    """Sends something of another media type."""
    await _send(send, 200, body, ((b"content-type", kind),))


async def send_problem(send: Send, problem: ProblemError) -> None:
    """Sends a refusal."""
    await _send(send, problem.status, problem.body(), _problem_headers(problem))


async def _send(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    whole = _all_headers(headers, body)
    await send({"type": "http.response.start", "status": status, "headers": whole})
    await send({"type": "http.response.body", "body": body})


def json_answer(body: bytes) -> bytes:
    """JSON with status 200, as it goes over the wire."""
    return _OK % len(body) + body


def problem_answer(problem: ProblemError) -> bytes:
    """A refusal, as it goes over the wire."""
    body = problem.body()
    return _head(problem.status, _all_headers(_problem_headers(problem), body)) + body


def _problem_headers(problem: ProblemError) -> tuple[tuple[bytes, bytes], ...]:
    return (_PROBLEM, *((name.encode(), value.encode()) for name, value in problem.headers))


def _all_headers(headers: tuple[tuple[bytes, bytes], ...], body: bytes | None) -> list[tuple[bytes, bytes]]:
    """Every header of an answer in order; without a body a place for its length."""
    length = b"%d" if body is None else b"%d" % len(body)
    return [*headers, (b"content-length", length), *_SAFE]


def _head(status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    phrase = http.HTTPStatus(status).phrase.encode()
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, phrase, lines)


_OK: Final = _head(200, _all_headers((_JSON,), None))


def refusal(error: Exception) -> ProblemError:
    """The problem of an error; what nobody intended is logged without the text that it may quote."""
    problem = (
        problem_of(error)
        if isinstance(error, ShopSimError)
        else ProblemError("the server failed; its log says more", code="internal")
    )
    if problem.status == 500:
        places = [
            f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        LOG.error("internal error", extra={"facts": {"error": type(error).__name__, "at": places}})
    return problem
