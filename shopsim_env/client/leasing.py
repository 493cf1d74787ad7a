"""A lease on a server as its holder knows it, without input or output, whatever is played.

Belongs here: fencing, request ids, the rule for an action whose answer was lost. What an answer means for an
episode is in `core` and `rlve`.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from shopsim_env.canonical import compact_json
from shopsim_env.client.calls import Calls
from shopsim_env.client.facts import Held, json_object, member, read
from shopsim_env.client.retrying import Operation
from shopsim_env.errors import EpisodeError, ServiceError

S = TypeVar("S")


class LeaseCore(ABC, Generic[S]):
    """A lease over something whose actions lead to an `S`. `base` is the path of such leases."""

    base: ClassVar[str]
    _released: bool

    def __init__(self, calls: Calls, answer: dict[str, Any]) -> None:
        self._calls = calls
        self._held = read(Held, answer)
        self._answered = 0
        self._unsettled: str | None = None
        self._playing = False

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

    def playing(self, verb: str, **asked: Any) -> Operation[S]:
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
            step = self._settle((yield from self._send(verb, asked)))
        except ServiceError:
            raise  # unknown: it may have been played
        except Exception:
            self._unsettled = None  # refused: it was not
            raise
        finally:
            self._playing = False
        self._answered += 1
        self._unsettled = None
        return step

    def resuming(self) -> Operation[None]:
        """A new fencing number, which shuts out whatever of ours is still on its way, and the state."""
        answer = yield from self._calls.take_over(self.lease_id, self.base)
        self._held = read(Held, answer)
        self._unsettled = None
        self._look(answer)

    def beating(self) -> Operation[float]:
        """Renews the lease; how long it is good for."""
        content = yield from self._calls.call(
            "POST", self._path("heartbeat"), {"fence": self.fence}, brief=True
        )
        return float(member(json_object(content), "expires_in_s"))

    def releasing(self, *, brief: bool = False) -> Operation[bool]:
        """Releases the lease; False when it was gone."""
        path = f"{self.base}/{self.lease_id}?fence={self.fence}"
        answer = json_object((yield from self._calls.call("DELETE", path, brief=brief)))
        self._released = True
        return bool(member(answer, "released"))

    @abstractmethod
    def _settle(self, answer: dict[str, Any]) -> S:
        """Takes the answer to an action."""

    @abstractmethod
    def _look(self, answer: dict[str, Any]) -> None:
        """Takes the state from the answer of a take-over."""

    def _send(self, verb: str, asked: dict[str, Any]) -> Operation[dict[str, Any]]:
        # A fencing number is never given twice, so no earlier holder has used this id.
        request_id = f"{self.fence}.{self._answered + 1}"
        body = {**asked, "fence": self.fence, "request_id": request_id}
        key = f"{self.lease_id}/{request_id}"
        return json_object((yield from self._calls.call("POST", self._path(verb), body, key=key)))

    def _path(self, verb: str) -> str:
        return f"{self.base}/{self.lease_id}/{verb}"
