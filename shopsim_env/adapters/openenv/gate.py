"""In front of the package's application: tokens, sizes, frames that it cannot read, sockets left alone.

Belongs here: what no environment can do for itself. The package lets everybody in, takes frames of any size,
ends the session at a frame that is no object, and never closes a socket that nobody uses.
"""

import asyncio
import base64
import binascii
import json
import re
from typing import Any, Final

from shopsim_env.server.guard import Guard, Headers
from shopsim_env.server.http import Message, Receive, Scope, Send, send_problem
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.strict_json import MAX_BODY, read_json
from shopsim_env.shop.display import well_formed

_GOING_AWAY: Final = 1001
_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]")
_OPEN: Final = ("/health",)
"""Paths without a token: container engines ask for them."""


class Gate:
    """An ASGI application around another.

    Args:
        app: The package's application.
        guard: Who may ask.
        idle_s: Seconds without a frame after which a socket is closed; its slot is free then.
    """

    def __init__(self, app: Any, guard: Guard, idle_s: float) -> None:
        self._app = app
        self._guard = guard
        self._idle_s = idle_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request or one socket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._guard.check(_with_bearer(dict(scope["headers"])), open_to_all=scope["path"] in _OPEN)
        except ProblemError as problem:
            await _turn_away(scope, receive, send, problem)
            return
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _checked_body(receive)
        except ProblemError as problem:
            await send_problem(send, problem)
            return
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return first.pop() if first else await receive()

        await self._app(scope, replayed, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        watched = _Watched(receive, send, self._idle_s, as_rpc=scope["path"] == "/mcp")
        await self._app(scope, watched.incoming, watched.outgoing)
        await watched.end()


class _Watched:
    """One socket: hands on what the package can read, and closes it when nobody uses it."""

    def __init__(self, receive: Receive, send: Send, idle_s: float, *, as_rpc: bool) -> None:
        self._receive = receive
        self._send = send
        self._idle_s = idle_s
        self._as_rpc = as_rpc
        self._idle = self._closed = False

    async def incoming(self) -> Message:
        """The next message; the end of the connection when none comes in time."""
        while True:
            try:
                message = await asyncio.wait_for(self._receive(), self._idle_s)
            except asyncio.TimeoutError:
                self._idle = True
                return {"type": "websocket.disconnect", "code": _GOING_AWAY}
            if message["type"] != "websocket.receive":
                return message
            try:
                return {**message, "text": _checked_frame(message.get("text"))}
            except ProblemError as problem:
                refused = _refused(problem, as_rpc=self._as_rpc)
                await self._send({"type": "websocket.send", "text": refused})

    async def outgoing(self, message: Message) -> None:
        """Sends a message; the reason of a close is ours when we were the reason."""
        if message["type"] == "websocket.close" and self._idle:
            await self.end()
        else:
            await self._send(message)

    async def end(self) -> None:
        """Closes a socket that nobody uses, once."""
        if self._idle and not self._closed:
            self._closed = True
            reason = f"no frame for {self._idle_s:g} seconds; connect again"
            await self._send({"type": "websocket.close", "code": _GOING_AWAY, "reason": reason})


def _with_bearer(headers: Headers) -> Headers:
    """Takes the password of an address (http://any:TOKEN@host) for the token.

    Clients before 0.10 cannot send a header of their own, but an address with a password.
    """
    kind, _, given = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() != b"basic":
        return headers
    try:
        password = base64.b64decode(given, validate=True).partition(b":")[2]
    except binascii.Error:
        return headers
    return {**headers, b"authorization": b"Bearer " + password}


async def _turn_away(scope: Scope, receive: Receive, send: Send, problem: ProblemError) -> None:
    if scope["type"] == "http":
        await send_problem(send, problem)
        return
    await receive()
    # Before the socket is accepted: the server answers the handshake with 403.
    await send({"type": "websocket.close", "code": 1008})


async def _checked_body(receive: Receive) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError("the body ended before its length", code="invalid_json")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            text = f"expected a body of at most {MAX_BODY} bytes, found more"
            raise ProblemError(text, code="body_too_large")
        more = message.get("more_body", False)
    body = b"".join(parts)
    if body:
        read_json(body)
    return body


def _checked_frame(text: str | None) -> str:
    """A frame that may be handed on: one JSON object of a size, every text in it fit for UTF-8.

    Raises:
        ProblemError: another frame.
    """
    if text is None:
        raise ProblemError("expected a text frame, found a binary one", code="invalid_json")
    body = text.encode()
    if len(body) > MAX_BODY:
        message = f"expected a frame of at most {MAX_BODY} bytes, found {len(body)}"
        raise ProblemError(message, code="body_too_large")
    value = read_json(body)
    if not isinstance(value, dict):
        raise ProblemError("expected a JSON object, found another value", code="wrong_type")
    # Half a surrogate pair is a model's slip; the package would fail to quote it in an answer.
    return well_formed(json.dumps(value, ensure_ascii=False)) if _HALF_PAIR.search(text) else text


def _refused(problem: ProblemError, *, as_rpc: bool) -> str:
    """The refusal of a frame in the form of the protocol, or of JSON-RPC."""
    broken = problem.code == "invalid_json"
    text = f"{problem.code}: {problem}"
    if as_rpc:
        error = {"code": -32700 if broken else -32600, "message": text}
        return json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    code = "INVALID_JSON" if broken else "VALIDATION_ERROR"
    return json.dumps({"type": "error", "data": {"message": text, "code": code}})
