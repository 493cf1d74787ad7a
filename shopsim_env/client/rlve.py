"""One RLVE episode over HTTP, without input or output: what an answer changes.

Belongs here: turns, goal and trace over a lease (`leasing`), and what every client's episode shows.
`blocking` and `asynchronous` run the operations.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.client.calls import RLVE_EPISODES, Calls
from shopsim_env.client.facts import RlveOpening, json_object, read
from shopsim_env.client.leasing import LeaseCore
from shopsim_env.client.retrying import Operation
from shopsim_env.errors import UsageError
from shopsim_env.rlve.step import RlveStep
from shopsim_env.strict_json import StrictJsonError, check_value


class RlveView:
    """An RLVE episode as it stands.

    Attributes:
        start: What the start showed, and the key that brings the same episode again.
        tools: Tool schemas for function calling, None when none were asked for.
        last: The latest step, None before the first.
        turns_played: Turns so far, refused ones included.
    """

    def __init__(self, start: RlveOpening, tools: list[dict[str, Any]] | None) -> None:
        self.start = start
        self.tools = tools
        self.last: RlveStep | None = None
        self.turns_played = 0
        self._released = False

    @property
    def observation(self) -> dict[str, Any]:
        """What the agent sees now."""
        return self.start.observation if self.last is None else self.last.observation

    @property
    def done(self) -> bool:
        """Whether the episode has ended; the lease is kept until it is released."""
        return self.last is not None and self.last.done

    @property
    def released(self) -> bool:
        """Whether the lease was given back here."""
        return self._released

    def _note(self, step: RlveStep) -> None:
        self.last = step
        self.turns_played += 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.start.key}, turns_played={self.turns_played}, ...)"


class RlveCore(RlveView, LeaseCore[RlveStep]):
    """An RLVE episode on a server."""

    base = RLVE_EPISODES

    def __init__(self, calls: Calls, answer: dict[str, Any]) -> None:
        RlveView.__init__(self, read(RlveOpening, answer), answer.get("tools"))
        LeaseCore.__init__(self, calls, answer)
        self._look(answer)

    def stepping(self, turn: str | Mapping[str, Any]) -> Operation[RlveStep]:
        """One turn."""
        return (yield from self.playing("step", turn=wire_turn(turn)))

    def tracing(self) -> Operation[bytes]:
        """The line of the trace so far."""
        return (yield from self._calls.call("GET", self._path("trace")))

    def goal_of(self) -> Operation[dict[str, Any]]:
        """Goal and task score, after the end."""
        return json_object((yield from self._calls.call("GET", self._path("goal"))))

    def _settle(self, answer: dict[str, Any]) -> RlveStep:
        step = read(RlveStep, answer)
        self._note(step)
        return step

    def _look(self, answer: dict[str, Any]) -> None:
        if (last := answer.get("last_step")) is not None:
            self.last = read(RlveStep, last)
        self.turns_played = answer.get("turns_played", 0)


def wire_turn(turn: object) -> Any:
    """A turn as JSON: text as it is, a mapping as an object.

    Raises:
        UsageError: something else (`wrong_type`), or what JSON cannot hold (codes of `strict_json`).
    """
    if not isinstance(turn, (str, Mapping)):
        message = f"turn: expected text or a JSON object, found {type(turn).__name__}"
        raise UsageError(message, code="wrong_type")
    value = turn if isinstance(turn, str) else dict(turn)
    try:
        check_value(value)
    except StrictJsonError as error:
        raise UsageError(f"turn: {error}", code=error.code) from error
    return value
