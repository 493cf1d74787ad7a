"""Bytes of requests and answers, common to every endpoint: bodies in, JSON and problems out.

Belongs here: the ASGI side of a body and an answer. No endpoint.
"""

import asyncio
import logging
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

_JSON: Final = (b"content-type", b"application/json")
_PROBLEM: Final = (b"content-type", b"application/problem+json")
_SAFE: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


async def read_body(receive: Receive, headers: Headers) -> Any:
    """The JSON value of a request.

    Raises:
        ProblemError: another media type or encoding, too large, too slow, or what `read_json` refuses.
    """
    check_media(headers)
    message = await _next(receive)
    body = message.get("body", b"")
    if message.get("more_body"):
        body = await _rest(receive, body)
    if len(body) > MAX_BODY:
        raise _too_large()
    return read_json(body)


def check_media(headers: Headers) -> None:
    """Refuses what is not plain JSON of a size that may be read.

    Raises:
        ProblemError: `unsupported_media_type`, `unsupported_encoding`, `body_too_large`.
    """
    kind, _, parameters = headers.get(b"content-type", b"").lower().partition(b";")
    if kind.strip() != b"application/json" or parameters.strip() not in (b"", b"charset=utf-8"):
        raise ProblemError(
            "content-type: expected application/json in UTF-8, found something else",
            code="unsupported_media_type",
        )
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise ProblemError("content-encoding: expected none, found one", code="unsupported_encoding")
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length[:20]) > MAX_BODY:
        raise _too_large()


async def _next(receive: Receive) -> Message:
    """The next part of the body, soon. `asyncio.wait_for` would make a task of every read before 3.12."""
    task = asyncio.current_task()
    late = []

    def stop() -> None:
        late.append(True)
        if task is not None:
            task.cancel()

    alarm = asyncio.get_running_loop().call_later(BODY_TIMEOUT_S, stop)
    try:
        return await receive()
    except asyncio.CancelledError as error:
        if not late:
            raise
        message = f"expected the whole body within {BODY_TIMEOUT_S:g} seconds"
        raise ProblemError(message, code="body_timeout") from error
    finally:
        alarm.cancel()


async def _rest(receive: Receive, body: bytes) -> bytes:
    parts = [body]
    size = len(body)
    more = True
    while more:
        message = await _next(receive)
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
    extra = tuple((name.encode(), value.encode()) for name, value in problem.headers)
    await _send(send, problem.status, problem.body(), (_PROBLEM, *extra))


async def _send(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length, *_SAFE]})
    await send({"type": "http.response.body", "body": body})


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
