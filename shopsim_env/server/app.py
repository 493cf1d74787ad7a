"""The ASGI application: guard and routes.

Belongs here: from a scope to an endpoint. Nearly all of the traffic does not come here: `front` answers it.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.routing import BaseRoute, Route, Router

from shopsim_env.server import bodies
from shopsim_env.server.fields import Field, Number, Text, read_fields
from shopsim_env.server.guard import Guard, Headers, read_headers
from shopsim_env.server.http import (
    Bodies,
    Receive,
    Scope,
    Send,
    refusal,
    send_bytes,
    send_json,
    send_problem,
)
from shopsim_env.server.metrics import Metrics
from shopsim_env.server.openapi import document
from shopsim_env.server.opening import ClientGoneError, Gone
from shopsim_env.server.operation import Call, Operation
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.service import Service
from shopsim_env.shop.served import encode

_LEASE = Text(about="lease id", required=True, pattern=bodies.LEASE_PATTERN, longest=128)


class App:
    """One server's ASGI application.

    Args:
        service: What the endpoints do.
        guard: Who may ask.
        dropped: Gives the number of log lines that were not written, for the metrics.
    """

    def __init__(self, service: Service, guard: Guard, dropped: Callable[[], int] = int) -> None:
        self.service = service
        self.guard = guard
        self.metrics = Metrics(service.pools, dropped)
        self._open: set[str] = set()
        self.bodies = Bodies()
        by_path: dict[str, list[Operation]] = {}
        for operation in OPERATIONS:
            by_path.setdefault(operation.path, []).append(operation)
        self._router = Router(
            [
                *(Route(path, _Endpoint(self, found)) for path, found in by_path.items()),
                Route("/openapi.json", _Page(lambda: (encode(document()), b"application/json"))),
                Route("/metrics", _Page(self.metrics.page)),
            ],
            redirect_slashes=False,
            default=_not_found,
        )

    def add(self, routes: Iterable[BaseRoute]) -> None:
        """Adds Starlette routes behind the same guard."""
        self._router.routes.extend(routes)

    def add_open(self, routes: Iterable[Route]) -> None:
        """Adds routes of fixed paths that need no token: a browser cannot send one when it opens a page."""
        for route in routes:
            self._open.add(route.path)
            self._router.routes.append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            return
        if scope["type"] != "http":
            raise RuntimeError(f"expected a request, found {scope['type']!r}")
        try:
            headers = read_headers(scope["headers"])
            self.guard.check(headers, open_to_all=scope["path"] in self._open)
        except ProblemError as problem:
            await self.refuse(send, problem)
            return
        await self._router(scope, receive, send)

    async def run(
        self,
        operation: Operation,
        lease_id: str,
        headers: Headers,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Runs one operation and sends its answer or its refusal."""
        begin = time.perf_counter()
        try:
            if operation.admin:
                self.guard.check_admin(headers)
            call = await self._call(operation, lease_id, headers, scope, receive)
            answer = operation.handler(self.service, call)
            if isinstance(answer, Coroutine):
                answer = await answer
            body = answer if isinstance(answer, bytes) else encode(answer)
        except ClientGoneError:
            return
        except Exception as error:
            await self.refuse(send, error)
        else:
            self.metrics.answered(operation.name, time.perf_counter() - begin)
            await send_json(send, body)

    async def refuse(self, send: Send, error: Exception) -> None:
        """Sends what an error means to the client, and counts it."""
        await send_problem(send, self.refused(error))

    def refused(self, error: Exception) -> ProblemError:
        """What an error means to the client, counted."""
        problem = refusal(error)
        self.metrics.refused(problem.code)
        return problem

    def checked(
        self, operation: Operation, lease_id: str, headers: Headers, body: Any, query: bytes, gone: Gone
    ) -> Call:
        """The checked fields of a request whose body was read.

        Raises:
            ProblemError: what a field refuses; `admin_only` for private goals.
        """
        fields = {} if operation.body is None else read_fields(operation.body, body, "body")
        if fields.get("private"):
            self.guard.check_admin(headers)
        return Call(lease_id, fields, read_query(operation.query, query), gone)

    async def _call(
        self, operation: Operation, lease_id: str, headers: Headers, scope: Scope, receive: Receive
    ) -> Call:
        body = None if operation.body is None else await self.bodies.read(receive, headers)
        return self.checked(operation, lease_id, headers, body, scope["query_string"], lambda: gone(receive))


class _Endpoint:
    """Every operation of one path."""

    def __init__(self, app: App, operations: list[Operation]) -> None:
        self._app = app
        self._by_method = {operation.method: operation for operation in operations}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._by_method.get(scope["method"])
        if operation is None:
            await send_problem(send, method_not_allowed(self._by_method))
            return
        lease_id = scope["path_params"].get("lease_id", "")
        if lease_id:
            try:
                _LEASE.check("lease_id", lease_id)
            except ProblemError as problem:
                await send_problem(send, problem)
                return
        await self._app.run(operation, lease_id, dict(scope["headers"]), scope, receive, send)


class Reading:
    """Something to read for a page, made from the request; refused as operations are, but not timed.

    Args:
        app: Whose guard and metrics count.
        answer: From the request's scope to the JSON body.
        admin: Whether the admin token is needed.
    """

    def __init__(self, app: App, answer: Callable[[Scope], Awaitable[bytes]], *, admin: bool) -> None:
        self._app = app
        self._answer = answer
        self._admin = admin

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["method"] not in ("GET", "HEAD"):
            await send_problem(send, method_not_allowed({"GET": None, "HEAD": None}))
            return
        try:
            if self._admin:
                self._app.guard.check_admin(dict(scope["headers"]))
            body = await self._answer(scope)
        except Exception as error:
            await self._app.refuse(send, error)
        else:
            await send_json(send, body)


class _Page:
    """Something to read that is no operation: its bytes and media type."""

    def __init__(self, make: Callable[[], tuple[bytes, bytes]]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await send_problem(send, method_not_allowed({"GET": None}))
            return
        await send_bytes(send, *self._make())


async def _not_found(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_problem(
        send, ProblemError("there is nothing here; /openapi.json lists what there is", code="not_found")
    )


def method_not_allowed(methods: Mapping[str, object]) -> ProblemError:
    """A request with a method that the path does not have."""
    allowed = ", ".join(sorted(methods))
    return ProblemError(
        f"method: expected one of {allowed}", code="method_not_allowed", headers=(("allow", allowed),)
    )


def read_query(fields: Mapping[str, Field], query: bytes) -> dict[str, Any]:
    """Checked fields of a query string; numbers are read from their digits.

    Raises:
        ProblemError: as `read_fields`.
    """
    if not query:
        return read_fields(fields, {}, "query")
    if not fields:
        return {}
    pairs = parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True)
    if len(dict(pairs)) != len(pairs):
        raise ProblemError("query: expected every name once", code="out_of_range")
    values: dict[str, Any] = dict(pairs)
    for name, field in fields.items():
        text = values.get(name)
        if isinstance(field, Number) and text is not None and re.fullmatch(r"-?\d{1,20}", text, re.ASCII):
            values[name] = int(text)
    return read_fields(fields, values, "query")


async def gone(receive: Receive) -> None:
    """Returns when the client has hung up."""
    while (await receive())["type"] != "http.disconnect":
        await asyncio.sleep(0)
