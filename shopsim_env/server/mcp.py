"""`/mcp`: an episode as tools of the Model Context Protocol (streamable HTTP, answers in plain JSON).

Belongs here: JSON-RPC, sessions, results of tools. A session is a lease: the session id is the lease id, so
it is found again under `/v1/episodes/{id}`, ends with the lease, and there is no second table. An agent gets
the tools of the shop and nothing else: starting and ending an episode are the harness's business.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from shopsim_env.client.faults import error_of
from shopsim_env.errors import EpisodeError, ServiceError, ShopSimError
from shopsim_env.pool import Lease
from shopsim_env.server import bodies
from shopsim_env.server.answers import observation_of
from shopsim_env.server.app import App, gone, method_not_allowed, read_query
from shopsim_env.server.fields import Field, Number
from shopsim_env.server.guard import Headers
from shopsim_env.server.http import Receive, Scope, Send, refusal, send_json, send_problem
from shopsim_env.server.opening import ClientGoneError
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.service import Service
from shopsim_env.shop.env import Reset, Step
from shopsim_env.shop.served import encode
from shopsim_env.shop.tools import static_tools
from shopsim_env.versions import __version__

PATH: Final = "/mcp"
VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions of the protocol, newest first."""
QUERY: Final[dict[str, Field]] = {
    **{name: bodies.RESET[name] for name in ("task_id", "split", "seed", *bodies.ENVIRONMENT)},
    # Below the half minute that clients wait for an answer.
    "wait_s": Number(about="seconds to wait for a slot", least=0, most=bodies.MAX_WAIT_S, default=20),
}
"""What the address may ask for; it counts when the session begins."""

_SESSION: Final = b"mcp-session-id"
_VERSION: Final = b"mcp-protocol-version"
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD = -32700, -32600, -32601
_INVALID_PARAMS, _INTERNAL, _SERVER = -32602, -32603, -32000
_GONE: Final = ("lease_lost", "stale_fence")
_LONGEST_ID: Final = 200


class RpcError(Exception):
    """A JSON-RPC error, and the status of the HTTP answer that carries it."""

    def __init__(
        self, code: int, message: str, *, status: int = 200, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.data = data

    def body(self, message_id: Any) -> bytes:
        """The answer."""
        error = {"code": self.code, "message": str(self)}
        return encode(
            {
                "jsonrpc": "2.0",
                "id": message_id,
                "error": error if self.data is None else {**error, "data": self.data},
            }
        )


class _Request:
    """One message of a client."""

    def __init__(self, message: Any, scope: Scope, headers: Headers, receive: Receive) -> None:
        self.scope = scope
        self.headers = headers
        self.receive = receive
        self.id: Any = None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise RpcError(
                _INVALID_REQUEST, "expected one JSON-RPC 2.0 message, found something else", status=400
            )
        self.is_request = "id" in message and "method" in message
        if self.is_request:
            self.id = _checked_id(message["id"])
        elif "method" not in message and not {"result", "error"} & set(message):
            raise RpcError(_INVALID_REQUEST, "expected a method, found none", status=400)
        self.method = message.get("method")
        self.params = message.get("params", {})

    def session(self) -> str:
        """The session id of the header."""
        given = self.headers.get(_SESSION)
        if given is None:
            text = "expected the header Mcp-Session-Id of the answer to initialize, found none"
            raise RpcError(_INVALID_REQUEST, text, status=400)
        return given.decode("latin-1")


class McpEndpoint:
    """The endpoint, as an ASGI application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._service: Service = app.service
        self._methods: dict[str, Callable[[_Request], Awaitable[dict[str, Any]]]] = {
            "ping": self._ping,
            "tools/list": self._list,
            "tools/call": self._call,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        if scope["method"] == "POST":
            await self._post(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self._delete(scope, send)
        else:
            # A server that never speaks first has no stream to offer.
            await send_problem(send, method_not_allowed({"POST": None, "DELETE": None}))

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin, request = time.perf_counter(), None
        try:
            headers: Headers = dict(scope["headers"])
            message = await self._app.bodies.read(receive, headers)
            request = _Request(message, scope, headers, receive)
            if not request.is_request:
                await send_json(send, b"", 202)
                return
            result, extra = await self._answer(request)
        except ClientGoneError:
            return
        except RpcError as error:
            await self._refuse(send, error, request)
        except ShopSimError as error:
            if request is None:
                await self._app.refuse(send, error)
            else:
                await self._refuse(send, _rpc_error(error), request)
        except Exception as error:
            await self._refuse(send, _rpc_error(error), request)
        else:
            self._app.metrics.answered("mcp", time.perf_counter() - begin)
            await send_json(send, encode({"jsonrpc": "2.0", "id": request.id, "result": result}), 200, extra)

    async def _refuse(self, send: Send, error: RpcError, request: _Request | None) -> None:
        self._app.metrics.refused((error.data or {}).get("code", "mcp"))
        await send_json(send, error.body(None if request is None else request.id), error.status)

    async def _delete(self, scope: Scope, send: Send) -> None:
        lease_id = dict(scope["headers"]).get(_SESSION, b"").decode("latin-1")
        if self._service.pool.give_back(lease_id):
            await send_json(send, encode({"released": True}))
        else:
            await send_problem(send, ProblemError("the session is not live", code="not_found"))

    async def _answer(self, request: _Request) -> tuple[dict[str, Any], tuple[tuple[bytes, bytes], ...]]:
        """The result of a request, and headers that go with it."""
        if request.method == "initialize":
            return await self._initialize(request)
        method = self._methods.get(request.method) if isinstance(request.method, str) else None
        if method is None:
            raise RpcError(_NO_METHOD, "there is no such method here: tools are all that this server has")
        version = request.headers.get(_VERSION)
        if version is not None and version.decode("latin-1") not in VERSIONS:
            text = f"Mcp-Protocol-Version: expected one of {list(VERSIONS)}, found another"
            raise RpcError(_INVALID_REQUEST, text, status=400)
        return await method(request), ()

    async def _initialize(self, request: _Request) -> tuple[dict[str, Any], tuple[tuple[bytes, bytes], ...]]:
        asked = _member(request.params, "protocolVersion", str)
        query = read_query(QUERY, request.scope["query_string"])
        fields = {**query, "tools": "static", "request_id": None}
        (lease,) = await self._service.open(fields, lambda: gone(request.receive))
        result = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "shopsim", "version": __version__},
            "instructions": _instructions(lease.start),
            "_meta": {"shopsim/reset": _start_facts(lease, self._service)},
        }
        return result, ((_SESSION, lease.id.encode()),)

    async def _ping(self, _: _Request) -> dict[str, Any]:
        return {}

    async def _list(self, request: _Request) -> dict[str, Any]:
        lease = self._service.pool.use(request.session())
        return {"tools": tool_list(lease.start.interaction_mode == "multi_turn")}

    async def _call(self, request: _Request) -> dict[str, Any]:
        name = _member(request.params, "name", str)
        arguments = request.params.get("arguments") or {}
        lease = self._service.pool.use(request.session())
        try:
            action = {"name": name, "arguments": arguments}
            step = self._service.pool.step(lease.id, action, fence=lease.fence)
        except EpisodeError as error:
            if error.code != "ended":
                raise
            return _result(lease.last, again=True)
        if not step.valid:
            message = "the call was not played and counts for nothing; it may be repeated"
            raise ServiceError(message, code="search_index_error")
        if step.done:
            self._service.log_end(lease, step)
        return _result(step, again=False)


def tool_list(shopper: bool) -> list[dict[str, Any]]:
    """The tools in the form of the protocol; they are the same on every page."""
    found = []
    for tool in static_tools(shopper):
        function = tool["function"]
        found.append(
            {
                "name": function["name"],
                "description": function["description"],
                "inputSchema": function["parameters"],
            }
        )
    return found


def _instructions(start: Reset) -> str:
    """What an agent has to know before its first call: the request, the persona, the first page."""
    parts = [start.task_instruction]
    if start.user_persona:
        parts.append(encode(start.user_persona).decode())
    return "\n\n".join([*parts, start.observation])


def _start_facts(lease: Lease, service: Service) -> dict[str, Any]:
    return {
        "release": service.release.id,
        "environment_version": lease.start.environment_version,
        "task_id": lease.start.task_id,
        "task_mode": lease.start.task_mode,
        "interaction_mode": lease.start.interaction_mode,
        "expires_in_s": service.pool.ttl_s,
    }


def _result(step: Step, *, again: bool) -> dict[str, Any]:
    """A page for the model; what is only for the harness stands in `_meta`. A reward is told once."""
    feedback = step.action_feedback or {}
    facts = {
        "reward": None if again else step.reward,
        "done": step.done,
        "terminated": step.terminated,
        "truncated": step.truncated,
        "termination_reason": step.termination_reason,
        "reward_detail": step.reward_detail,
        "action_feedback": step.action_feedback,
        "info": step.info,
    }
    return {
        "content": [{"type": "text", "text": observation_of(step)}],
        "isError": again or not feedback.get("valid", True),
        "_meta": {"shopsim/step": facts},
    }


def _rpc_error(error: Exception) -> RpcError:
    """A refusal or a failure as the protocol has it: never a result that a model would read."""
    problem = refusal(error)
    kind = error_of(problem.code, str(problem), problem.status).failure_kind
    data = {"code": problem.code, "failure_kind": kind}
    if problem.code in _GONE:
        return RpcError(_INVALID_REQUEST, str(problem), status=404, data=data)
    code = _INTERNAL if problem.status == 500 else _SERVER if problem.status == 503 else _INVALID_PARAMS
    return RpcError(code, str(problem), data=data)


def _checked_id(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole and not (isinstance(value, str) and len(value) <= _LONGEST_ID):
        text = f"id: expected a whole number or at most {_LONGEST_ID} characters, found something else"
        raise RpcError(_INVALID_REQUEST, text, status=400)
    return value


def _member(params: Any, name: str, kind: type) -> Any:
    value = params.get(name) if isinstance(params, dict) else None
    if not isinstance(value, kind):
        raise RpcError(_INVALID_PARAMS, f"params: expected {name!r} to be a {kind.__name__}, found none")
    return value
