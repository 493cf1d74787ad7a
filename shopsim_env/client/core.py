"""One episode of the Shop over HTTP, without input or output: what an answer changes.

Belongs here: the Shop's steps, tools and traces over a lease (`leasing`). `blocking` and `asynchronous` run
the operations.
"""

from copy import deepcopy
from typing import Any

from shopsim_env.client.calls import EPISODES, Calls
from shopsim_env.client.facts import bad_answer, member, read, wire_action
from shopsim_env.client.leasing import LeaseCore
from shopsim_env.client.retrying import Operation
from shopsim_env.client.view import EpisodeView
from shopsim_env.errors import TraceError
from shopsim_env.shop.env import Reset, Step
from shopsim_env.trace import TraceRecord, read_record


def members_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer to each member of a group, as if it had been opened alone; nothing is shared."""
    start = {name: value for name, value in answer.items() if name != "members"}
    return [{**deepcopy(start), **held} for held in member(answer, "members")]


class EpisodeCore(EpisodeView, LeaseCore[Step]):
    """An episode on a server."""

    base = EPISODES

    def __init__(self, calls: Calls, answer: dict[str, Any]) -> None:
        EpisodeView.__init__(self, read(Reset, answer), answer.get("private"))
        LeaseCore.__init__(self, calls, answer)
        self._tools = answer.get("tools")
        self._look(answer)

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool schemas as they were asked for: of the current page, of all pages, or None."""
        return self._tools

    def stepping(self, action: object) -> Operation[Step]:
        """One action."""
        return (yield from self.playing("step", action=wire_action(action)))

    def tracing(self) -> Operation[TraceRecord]:
        """The trace so far."""
        content = yield from self._calls.call("GET", self._path("trace"))
        try:
            return read_record(content)
        except TraceError as error:
            raise bad_answer("an answer that is no trace") from error

    def _settle(self, answer: dict[str, Any]) -> Step:
        step = read(Step, answer)
        self._note(step)
        self._tools = answer.get("tools", self._tools)
        return step

    def _look(self, answer: dict[str, Any]) -> None:
        if (last := answer.get("last_step")) is not None:
            self.last = read(Step, last)
            self._tools = last.get("tools", self._tools)
        self.actions_played = answer.get("actions_played", 0)
