"""Repeating a request until there is an answer, within bounds: no input or output, no thread.

Belongs here: the loop as a generator. It yields what to do (a `Request` or a `Pause`) and is sent what came
of it, so that the blocking and the asynchronous client follow one rule. Every request that it is given may
come twice: see `core`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from shopsim_env.client.faults import AGAIN, NO_ROOM, error_of
from shopsim_env.errors import ServiceError, ShopSimError, UsageError

_PROXY_STATUSES = (429, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Retries:
    """How long a failed request is repeated, with pauses that double.

    Args:
        give_up_s: Seconds from the first failure after which no further try begins; 0 never repeats.
        first_s: Longest first pause.
        most_s: Longest pause; what the server asks for (`Retry-After`) is added.

    Raises:
        UsageError: a number that is negative or not finite.
    """

    give_up_s: float = 60.0
    first_s: float = 0.1
    most_s: float = 5.0

    def __post_init__(self) -> None:
        for name in ("give_up_s", "first_s", "most_s"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise UsageError(f"{name}: expected seconds from 0, found {value!r}")

    def pause(self, attempt: int, key: str) -> float:
        """Seconds before the try after number `attempt` (from 0): between half and all of the doubled pause.

        The share comes from a hash of `key`, which is different for every request of every client: many
        clients do not come back at once, and no global generator is touched.
        """
        digest = hashlib.sha256(f"{key}/{attempt}".encode()).digest()
        share = int.from_bytes(digest[:4], "big") / 2**32
        longest: float = min(self.most_s, self.first_s * 2 ** min(attempt, 32))
        return longest * (0.5 + share / 2)

    def briefly(self) -> "Retries":
        """At most five seconds, for what may be left undone."""
        return Retries(min(self.give_up_s, 5.0), self.first_s, self.most_s)


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. The headers hold a token and the path a lease id, so neither is shown."""

    method: str
    path: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    timeout_s: float


class Pause(NamedTuple):
    """Wait so many seconds."""

    seconds: float


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes


class Lost(NamedTuple):
    """Nothing came back: whether the time was over, and the kind of failure."""

    late: bool
    found: str


USUAL = Retries()
T = TypeVar("T")
Effect: TypeAlias = Request | Pause
Outcome: TypeAlias = Reply | Lost | None
Operation: TypeAlias = Generator[Effect, Outcome, T]


class Refusal(NamedTuple):
    """An answer that is none: whether to ask again, whether for want of room, after how many seconds."""

    error: ShopSimError
    again: bool
    no_room: bool = False
    after_s: float = 0.0


def exchange(
    make: Callable[[], Request],
    retries: Retries,
    clock: Callable[[], float],
    key: str,
    wait_s: float = 0.0,
) -> Operation[bytes]:
    """The body of the answer with status 200.

    Args:
        make: The request as of now; how long it may wait for a slot shrinks from try to try.
        retries: Bounds.
        clock: Seconds that only go up.
        key: Tells this request from all others.
        wait_s: How long a want of room is waited for.

    Raises:
        ShopSimError: what the server refused, or `ServiceError` when there was no answer in time.
    """
    room_end = clock() + wait_s
    end: float | None = None
    attempt = 0
    while True:
        outcome = yield make()
        found = _read(outcome)
        if isinstance(found, bytes):
            return found
        now = clock()
        end = now + retries.give_up_s if end is None else end
        # Added, not the larger of both: else all clients come back at the very second that they were told.
        pause = retries.pause(attempt, key) + found.after_s
        last = room_end if found.no_room else end
        if not found.again or now + pause > last:
            raise found.error
        if found.no_room:
            end = None  # the server is there; a later failure gets its full time
        yield Pause(pause)
        attempt += 1


def _read(outcome: Outcome) -> bytes | Refusal:
    if isinstance(outcome, Reply):
        return outcome.content if outcome.status == 200 else _refusal(outcome)
    late, found = outcome or Lost(False, "nothing")
    code, kind, advice = (
        ("timeout", "timeout", "look at its load, or allow more with timeout_s")
        if late
        else ("unreachable", "env_crash", "check its address and whether it runs")
    )
    message = f"expected an answer of the server, found {found}; {advice}"
    return Refusal(ServiceError(message, code=code, failure_kind=kind), again=True)


def _refusal(reply: Reply) -> Refusal:
    problem = _problem(reply)
    if problem is None:
        error = ServiceError(
            f"expected an answer of a shopping server, found status {reply.status} from something else; "
            "check the address",
            code="bad_answer",
            failure_kind="env_crash" if reply.status in _PROXY_STATUSES else "adapter",
        )
        return Refusal(error, reply.status in _PROXY_STATUSES, after_s=_retry_after(reply))
    code, detail = problem
    no_room = code in NO_ROOM
    again = no_room or code in AGAIN
    return Refusal(error_of(code, detail, reply.status), again, no_room, _retry_after(reply))


def _problem(reply: Reply) -> tuple[str, str] | None:
    """Code and text of a problem document."""
    try:
        value: Any = json.loads(reply.content)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        return None
    return value["code"], str(value.get("detail", ""))


def _retry_after(reply: Reply) -> float:
    """Seconds that the server asks for; a date is not understood, the own pause is taken then."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0
