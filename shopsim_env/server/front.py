"""The short way for what comes most: reset, step and release, from a whole request to a whole answer.

Belongs here: which requests can be answered at once, and the same checks in the same order as `app` makes
them. What has to wait goes the ordinary way. No connections: those are `lane`'s.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from shopsim_env.server import bodies
from shopsim_env.server.app import App
from shopsim_env.server.guard import read_headers
from shopsim_env.server.http import check_media, json_answer, problem_answer, read_body
from shopsim_env.server.opening import ClientGoneError
from shopsim_env.server.operation import Call, Operation
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.service import Service
from shopsim_env.shop.served import encode

_URL: Final = re.compile(
    rb"/v1/episodes(?:/(%b)(/step)?)?(?:\?([A-Za-z0-9_=&.-]*))?" % bodies.LEASE_PATTERN.encode(), re.ASCII
)
_NAMES: Final = {
    (b"POST", False, False): "reset",
    (b"POST", True, True): "step",
    (b"DELETE", True, False): "release",
}
_OPERATIONS: Final = {operation.name: operation for operation in OPERATIONS}


def _reset(service: Service, call: Call) -> Any:
    return service.reset_now(call.fields)


_NOW: Final[dict[str, Callable[[Service, Call], Any]]] = {
    "reset": _reset,
    "step": _OPERATIONS["step"].handler,
    "release": _OPERATIONS["release"].handler,
}


class Wanted(NamedTuple):
    """An operation of the short way, with what its address says."""

    operation: Operation
    lease_id: str
    query: bytes


class Front:
    """Answers at once, over the guard, metrics and service of an application."""

    def __init__(self, app: App) -> None:
        self._app = app

    def find(self, method: bytes, url: bytes) -> Wanted | None:
        """What a request line asks for, if it is of the short way."""
        match = _URL.fullmatch(url)
        if match is None:
            return None
        lease, step, query = match.groups()
        name = _NAMES.get((method, lease is not None, step is not None))
        if name is None:
            return None
        return Wanted(_OPERATIONS[name], (lease or b"").decode("ascii"), query or b"")

    def at_once(self, wanted: Wanted) -> bool:
        """Whether it can be answered without waiting for a slot."""
        return wanted.operation.name != "reset" or self._app.service.pool.has_room

    def answer(self, wanted: Wanted, raw: Sequence[tuple[bytes, bytes]], body: bytes) -> bytes:
        """The answer or the refusal as it goes over the wire, head and body; never raises."""
        app, operation = self._app, wanted.operation
        try:
            headers = read_headers(raw)
            app.guard.check(headers)
            begin = time.perf_counter()
            value = None
            if operation.body is not None:
                check_media(headers)
                value = read_body(body)
            call = app.checked(operation, wanted.lease_id, headers, value, wanted.query, _gone)
            found = _NOW[operation.name](app.service, call)
            content = found if isinstance(found, bytes) else encode(found)
        except Exception as error:
            return problem_answer(app.refused(error))
        app.metrics.answered(operation.name, time.perf_counter() - begin)
        return json_answer(content)


async def _gone() -> None:
    """Nobody waits on the short way, so nobody hangs up meanwhile."""
    raise ClientGoneError
