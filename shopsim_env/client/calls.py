"""Requests to one server, without input or output: operations as generators (see `retrying`).

Belongs here: paths, headers, bodies, what may be repeated. What an answer means for an episode: `leasing`.
"""

import re
import time
from collections.abc import Callable
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from uuid import uuid4

from shopsim_env.client.facts import (
    Health,
    Held,
    ReleaseFacts,
    RlveFacts,
    TaskPage,
    encode_body,
    json_object,
    member,
    read,
    read_tasks,
)
from shopsim_env.client.faults import NO_ROOM
from shopsim_env.client.retrying import Operation, Request, Retries, exchange
from shopsim_env.errors import PoolError, UsageError

EPISODES: Final = "/v1/episodes"
RLVE_EPISODES: Final = "/v1/rlve/episodes"
MOST_WAIT_S: Final = 3_600.0
_LEASE_ID: Final = "[A-Za-z0-9_.-]{16,128}"


class Asked(Protocol):
    """A request for episodes: where it goes, how long it may wait, whether the admin token is needed."""

    @property
    def path(self) -> str:
        """The path."""

    @property
    def wait_s(self) -> float:
        """Seconds to wait for a slot."""

    @property
    def private(self) -> bool:
        """Whether it asks for a goal."""

    def body(self, wait_s: float, request_id: str | None) -> dict[str, Any]:
        """The body of the request."""


class Calls:
    """Requests to one server. Every one of them may be repeated: it has a request id or changes nothing.

    A repeated take-over gives a further fencing number; the last one counts, which is the one that is read.
    """

    def __init__(
        self,
        token: str | None,
        admin_token: str | None,
        timeout_s: float,
        retries: Retries,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < timeout_s < float("inf"):
            raise UsageError(f"timeout_s: expected seconds above 0, found {timeout_s!r}")
        self.retries = retries
        self._token = token
        self._admin_token = admin_token
        self._timeout_s = timeout_s
        self._clock = clock

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        key: str = "",
        admin: bool = False,
        brief: bool = False,
    ) -> Operation[bytes]:
        """The body of the answer to one request."""
        request = self._request(method, path, body, self._timeout_s, admin=admin)
        retries = self.retries.briefly() if brief else self.retries
        return (yield from exchange(lambda: request, retries, self._clock, key or path))

    def open(self, ask: Asked, request_id: str | None = None) -> Operation[dict[str, Any]]:
        """The answer to the request for an episode or a group; `request_id` is from `new_request_id`."""
        wait_s = checked_wait(ask.wait_s)
        request_id = request_id or new_request_id()
        return (yield from self._open(ask, request_id, wait_s, self.retries))

    def undo(self, ask: Asked, request_id: str) -> Operation[int]:
        """Releases what a request for episodes opened whose answer nobody reads; the number of leases.

        Whether it opened any is unknown. The same request finds its leases again, or opens what is given
        back at once, or there is no room, and then nothing was opened.
        """
        try:
            answer = yield from self._open(ask, request_id, 0.0, self.retries.briefly())
        except PoolError as error:
            if error.code not in NO_ROOM:
                raise
            return 0
        base = RLVE_EPISODES if ask.path == RLVE_EPISODES else EPISODES
        held = [read(Held, one) for one in answer.get("members", [answer])]
        for one in held:
            yield from self.call("DELETE", f"{base}/{one.lease_id}?fence={one.fence}", brief=True)
        return len(held)

    def _open(
        self, ask: Asked, request_id: str, wait_s: float, retries: Retries
    ) -> Operation[dict[str, Any]]:
        end = self._clock() + wait_s

        def make() -> Request:
            left = max(0.0, end - self._clock())
            body = ask.body(min(left, MOST_WAIT_S), request_id)
            return self._request("POST", ask.path, body, self._timeout_s + left, admin=ask.private)

        return json_object((yield from exchange(make, retries, self._clock, request_id, wait_s)))

    def take_over(self, lease_id: str, base: str = EPISODES) -> Operation[dict[str, Any]]:
        """The answer to a take-over: a new fencing number and the episode as it stands."""
        if not re.fullmatch(_LEASE_ID, lease_id, re.ASCII):
            message = f"lease_id: expected text that matches {_LEASE_ID}, found something else"
            raise UsageError(message, code="out_of_range")
        return json_object((yield from self.call("POST", f"{base}/{lease_id}/takeover", {})))

    def facts(self) -> Operation[ReleaseFacts]:
        """What is served."""
        return read(ReleaseFacts, json_object((yield from self.call("GET", "/v1/release"))))

    def health(self) -> Operation[Health]:
        """Readiness and load."""
        return read(Health, json_object((yield from self.call("GET", "/healthz"))))

    def tasks(self, split: str | None, offset: int, limit: int) -> Operation[TaskPage]:
        """A page of the task list."""
        asked = {"offset": offset, "limit": limit, **({} if split is None else {"split": split})}
        return read_tasks(json_object((yield from self.call("GET", f"/v1/tasks?{urlencode(asked)}"))))

    def rlve_facts(self, language: str) -> Operation[RlveFacts]:
        """What can be played of RLVE."""
        path = f"/v1/rlve?{urlencode({'language': language})}"
        return read(RlveFacts, json_object((yield from self.call("GET", path))))

    def release_all(self, base: str = EPISODES) -> Operation[int]:
        """Releases every lease of the server in one world."""
        answer = json_object((yield from self.call("DELETE", base, admin=True)))
        return int(member(answer, "released"))

    def _request(
        self, method: str, path: str, body: dict[str, Any] | None, timeout_s: float, *, admin: bool
    ) -> Request:
        token = (self._admin_token or self._token) if admin else (self._token or self._admin_token)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        if body is None:
            return Request(method, path, headers, None, timeout_s)
        kind = {"content-type": "application/json"}
        return Request(method, path, {**headers, **kind}, encode_body(body), timeout_s)


def new_request_id() -> str:
    """One that cannot be guessed, as the server wants: whoever knows it gets the lease."""
    return uuid4().hex


def checked_wait(wait_s: float) -> float:
    """Seconds to wait for a slot.

    Raises:
        UsageError: negative or not finite.
    """
    if isinstance(wait_s, bool) or not 0 <= wait_s < float("inf"):
        raise UsageError(f"wait_s: expected seconds from 0, found {wait_s!r}", code="out_of_range")
    return float(wait_s)
