"""One episode of a client over HTTP, without input or output: what to send, what an answer changes.

Belongs here: operations as generators (see `retrying`), request ids, the rule for an action whose answer was
lost. `blocking` and `asynchronous` run the operations.
"""

import re
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

from shopsim_env.canonical import compact_json
from shopsim_env.client.facts import (
    Ask,
    Health,
    Held,
    ReleaseFacts,
    TaskPage,
    bad_answer,
    encode_body,
    json_object,
    member,
    read,
    read_tasks,
    wire_action,
)
from shopsim_env.client.retrying import Operation, Request, Retries, exchange
from shopsim_env.client.view import EpisodeView
from shopsim_env.errors import EpisodeError, ServiceError, TraceError, UsageError
from shopsim_env.shop.env import Reset, Step
from shopsim_env.trace import TraceRecord, read_record

MOST_WAIT_S: Final = 3_600.0
_LEASE_ID: Final = "[A-Za-z0-9_.-]{16,128}"


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

    def open(self, ask: Ask) -> Operation[dict[str, Any]]:
        """The answer to the request for an episode or a group."""
        wait_s = checked_wait(ask.wait_s)
        end = self._clock() + wait_s
        # Not guessable, as the server wants: whoever knows it gets the lease.
        request_id = uuid4().hex
        path = "/v1/episodes" if ask.n is None else "/v1/groups"

        def make() -> Request:
            left = max(0.0, end - self._clock())
            body = ask.body(min(left, MOST_WAIT_S), request_id)
            return self._request("POST", path, body, self._timeout_s + left, admin=ask.private)

        return json_object((yield from exchange(make, self.retries, self._clock, request_id, wait_s)))

    def take_over(self, lease_id: str) -> Operation[dict[str, Any]]:
        """The answer to a take-over: a new fencing number and the episode as it stands."""
        if not re.fullmatch(_LEASE_ID, lease_id, re.ASCII):
            message = f"lease_id: expected text that matches {_LEASE_ID}, found something else"
            raise UsageError(message, code="out_of_range")
        return json_object((yield from self.call("POST", f"/v1/episodes/{lease_id}/takeover", {})))

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

    def release_all(self) -> Operation[int]:
        """Releases every lease of the server."""
        answer = json_object((yield from self.call("DELETE", "/v1/episodes", admin=True)))
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


def members_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer to each member of a group, as if it had been opened alone; nothing is shared."""
    start = {name: value for name, value in answer.items() if name != "members"}
    return [{**deepcopy(start), **held} for held in member(answer, "members")]


class EpisodeCore(EpisodeView):
    """An episode on a server."""

    def __init__(self, calls: Calls, answer: dict[str, Any]) -> None:
        super().__init__(read(Reset, answer), answer.get("private"))
        self._calls = calls
        self._held = read(Held, answer)
        self._tools = answer.get("tools")
        self._answered = 0
        self._unsettled: str | None = None
        self._playing = False
        self._look(answer)

    @property
    def lease_id(self) -> str:
        """The secret that owns the episode: `attach` in another process needs it."""
        return self._held.lease_id

    @property
    def fence(self) -> int:
        """Fencing number of this holder."""
        return self._held.fence

    @property
    def slot(self) -> int:
        """Slot on the server."""
        return self._held.slot

    @property
    def expires_in_s(self) -> float:
        """Seconds without use after which the lease is gone."""
        return self._held.expires_in_s

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool schemas as they were asked for: of the current page, of all pages, or None."""
        return self._tools

    def playing(self, verb: str, **asked: Any) -> Operation[Step]:
        """One action or a forced end.

        The request id counts answers, so that an action whose answer was lost is repeated under its id when
        it is asked for again, and another action cannot be taken for it.
        """
        what = compact_json([verb, asked])
        if self._playing:
            raise EpisodeError("another action of this episode is being played; wait for it", code="busy")
        if self._unsettled not in (None, what):
            raise EpisodeError(
                "whether the previous action was played is unknown; repeat that action, or call resume() to "
                "see where the episode stands",
                code="unsettled",
            )
        self._playing, self._unsettled = True, what
        try:
            return self._settle((yield from self._send(verb, asked)))
        except ServiceError:
            raise  # unknown: it may have been played
        except Exception:
            self._unsettled = None  # refused: it was not
            raise
        finally:
            self._playing = False

    def stepping(self, action: object) -> Operation[Step]:
        """One action."""
        return (yield from self.playing("step", action=wire_action(action)))

    def resuming(self) -> Operation[None]:
        """A new fencing number, which shuts out whatever of ours is still on its way, and the state."""
        answer = yield from self._calls.take_over(self.lease_id)
        self._held = read(Held, answer)
        self._unsettled = None
        self._look(answer)

    def beating(self) -> Operation[float]:
        """Renews the lease; how long it is good for."""
        content = yield from self._calls.call(
            "POST", self._path("heartbeat"), {"fence": self.fence}, brief=True
        )
        return float(member(json_object(content), "expires_in_s"))

    def tracing(self) -> Operation[TraceRecord]:
        """The trace so far."""
        content = yield from self._calls.call("GET", self._path("trace"))
        try:
            return read_record(content)
        except TraceError as error:
            raise bad_answer("an answer that is no trace") from error

    def releasing(self, *, brief: bool = False) -> Operation[bool]:
        """Releases the lease; False when it was gone."""
        path = f"/v1/episodes/{self.lease_id}?fence={self.fence}"
        answer = json_object((yield from self._calls.call("DELETE", path, brief=brief)))
        self._released = True
        return bool(member(answer, "released"))

    def _send(self, verb: str, asked: dict[str, Any]) -> Operation[dict[str, Any]]:
        # A fencing number is never given twice, so no earlier holder has used this id.
        request_id = f"{self.fence}.{self._answered + 1}"
        body = {**asked, "fence": self.fence, "request_id": request_id}
        key = f"{self.lease_id}/{request_id}"
        return json_object((yield from self._calls.call("POST", self._path(verb), body, key=key)))

    def _settle(self, answer: dict[str, Any]) -> Step:
        step = read(Step, answer)
        self._answered += 1
        self._unsettled = None
        self._note(step)
        self._tools = answer.get("tools", self._tools)
        return step

    def _look(self, answer: dict[str, Any]) -> None:
        """Takes the state from the answer of a take-over."""
        if (last := answer.get("last_step")) is not None:
            self.last = read(Step, last)
            self._tools = last.get("tools", self._tools)
        self.actions_played = answer.get("actions_played", 0)

    def _path(self, verb: str) -> str:
        return f"/v1/episodes/{self.lease_id}/{verb}"


def checked_wait(wait_s: float) -> float:
    """Seconds to wait for a slot.

    Raises:
        UsageError: negative or not finite.
    """
    if isinstance(wait_s, bool) or not 0 <= wait_s < float("inf"):
        raise UsageError(f"wait_s: expected seconds from 0, found {wait_s!r}", code="out_of_range")
    return float(wait_s)
