"""A trajectory without input or output: what a message of a model becomes, and what the model gets back.

Belongs here: operations as generators. Each yields what to do with the episode, as a function of it, and is
sent what came of it, so that the blocking and the asynchronous rollout follow one rule.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar

from shopsim_env.errors import EpisodeError, SearchIndexError, ShopSimError, SimulatorError, UsageError
from shopsim_env.runner.prompts import Prompt, prompt_of
from shopsim_env.runner.protocol import (
    Fault,
    Message,
    Reading,
    bounded,
    fault_messages,
    read_message,
    tool_names,
)
from shopsim_env.shop.actions import canonical_text
from shopsim_env.shop.env import FORCED_ENDS, Step
from shopsim_env.shop.options import action_limit, one_of
from shopsim_env.trace import TraceRecord

TOOL_KINDS: Final = ("dynamic", "static")
_REPEATS: Final = 2
"""How often an action is tried again that the server answered with `valid` false: nothing had counted."""

T = TypeVar("T")
Effect: TypeAlias = Callable[[Any], Any]
Operation: TypeAlias = Generator[Effect, Any, T]


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """What came of a trajectory.

    `valid` is False for a failure of the infrastructure, and only then; `failure_kind` names it (env_crash,
    timeout, lease_lost, capacity, adapter, simulator_fault), and `reward` and `success` are None, never zero:
    leave the sample out. `reward` is None as well for a trajectory that was left before its end. `success`
    is r_success = 1. `components` holds r_loose, r_strict, r_success, r_type, r_att, r_option, r_price.
    `steps` counts answers of the model, `protocol_errors` those without one proper call, `invalid_actions`
    those that the environment refused.
    """

    reward: float | None = None
    success: bool | None = None
    components: dict[str, float] = field(default_factory=dict)
    terminated: bool = False
    truncated: bool = False
    termination_reason: str | None = None
    valid: bool = True
    failure_kind: str | None = None
    steps: int = 0
    protocol_errors: int = 0
    invalid_actions: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model and what came of it, for traces.

    `observation`, `observation_state` and `tools` are what the model had. `action` is canonical text.
    `answer` is the environment's to the action, `forced` the one to a forced end that followed.
    """

    number: int
    observation: str
    observation_state: dict[str, Any]
    tools: list[dict[str, Any]]
    action: str | None
    fault: Fault | None
    answer: Step | None
    forced: Step | None


@dataclass(frozen=True, slots=True)
class Settings:
    """How a rollout is played; `environment` are keywords of `ShopEnv`.

    Raises:
        UsageError: an unknown prompt or kind of tools, or a request for the private goal.
    """

    prompt: Prompt
    tools: str
    text_beside_call: bool
    keep_trace: bool
    max_steps: int
    max_invalid: int | None

    @classmethod
    def of(
        cls,
        prompt: str | Prompt,
        tools: str,
        text_beside_call: bool,
        keep_trace: bool,
        environment: Mapping[str, Any],
    ) -> "Settings":
        """The checked settings."""
        if "private" in environment:
            raise UsageError(
                "private: expected none; a rollout is what a model sees, and no model sees a goal"
            )
        mode = environment.get("interaction_mode", "single_turn")
        return cls(
            prompt_of(prompt),
            one_of("tools", tools, TOOL_KINDS),
            text_beside_call,
            keep_trace,
            action_limit(mode, environment.get("max_actions")),
            environment.get("max_invalid"),
        )


class RolloutCore:
    """A trajectory as it stands.

    Attributes:
        steps: Answers of the model so far; a protocol error is one too.
        protocol_errors: Answers without one proper call.
        invalid_actions: Actions that the environment refused.
        conversation: The messages so far, as the next request to the model would carry them.
        last_turn: The latest answer and what came of it.
        trace: The record of the episode, kept with `keep_trace` when it ended.
        error: What broke it.
    """

    def __init__(self, episode: Any, settings: Settings) -> None:
        self._episode = episode
        self._settings = settings
        self._last: Step | None = None
        self._failure: str | None = None
        self._bad_run = 0
        self._left = False
        self._start = self._first_messages()
        self.steps = 0
        self.protocol_errors = 0
        self.invalid_actions = 0
        self.conversation: list[Message] = self.messages
        self.last_turn: Turn | None = None
        self.trace: TraceRecord | None = None
        self.error: ShopSimError | None = None

    @property
    def messages(self) -> list[Message]:
        """The messages at the start: system, then the request with the first page."""
        return [dict(message) for message in self._start]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tool schemas for the next answer; none after the end."""
        return [] if self.done else list(self._episode.tools or ())

    @property
    def observation(self) -> str:
        """Text of the current page."""
        page = self._last or self._episode.reset
        return str(page.observation)

    @property
    def observation_state(self) -> dict[str, Any]:
        """The current page as data."""
        page = self._last or self._episode.reset
        state: dict[str, Any] = page.observation_state
        return state

    @property
    def reset(self) -> Any:
        """What the start showed."""
        return self._episode.reset

    @property
    def done(self) -> bool:
        """Whether nothing more can be played: an end, or a failure of the infrastructure."""
        return self._failure is not None or self._left or (self._last is not None and self._last.done)

    @property
    def result(self) -> RolloutResult:
        """What came of it so far; see `RolloutResult`."""
        counts: dict[str, Any] = {
            "steps": self.steps,
            "protocol_errors": self.protocol_errors,
            "invalid_actions": self.invalid_actions,
        }
        if self._failure is not None:
            return RolloutResult(valid=False, failure_kind=self._failure, **counts)
        last = self._last
        if last is None or not last.done:
            return RolloutResult(**counts)
        detail = last.reward_detail
        return RolloutResult(
            reward=last.reward,
            success=detail["r_success"] == 1,
            components={name: float(value) for name, value in detail.items() if name.startswith("r_")},
            terminated=last.terminated,
            truncated=last.truncated,
            termination_reason=last.termination_reason,
            **counts,
        )

    def acting(self, message: object, finish_reason: str | None) -> Operation[list[Message]]:
        """Plays one assistant message; the messages that the model gets back."""
        self._require_live()
        names = tool_names(self.tools)
        reading = read_message(
            message, names, self.steps + 1, text_beside_call=self._settings.text_beside_call
        )
        cut_off = finish_reason == "length" and reading.fault is not None
        if cut_off:
            turn = self._begin(reading._replace(fault=None))
            return (yield from self._finish(turn, [], "generation_length"))
        turn = self._begin(reading)
        if reading.fault is not None:
            replies = fault_messages(reading.fault, reading.call_ids, names, self._settings.prompt.language)
            return (yield from self._finish(turn, replies, None))
        action = reading.action
        answer = yield from self._ask(lambda episode: episode.step(action))
        return (
            yield from self._answered(turn, answer, {"role": "tool", "tool_call_id": reading.call_ids[0]})
        )

    def acting_text(self, text: str) -> Operation[list[Message]]:
        """Plays canonical text as it is; the environment judges it."""
        self._require_live()
        sent = bounded(text)
        turn = self._begin(Reading(None, None, {"role": "assistant", "content": text}, ()), action=sent)
        answer = yield from self._ask(lambda episode: episode.step(sent))
        return (yield from self._answered(turn, answer, {"role": "user"}))

    def ending(self, reason: str) -> Operation[None]:
        """Ends the episode from outside; one that has ended is left as it is."""
        one_of("reason", reason, FORCED_ENDS)
        if not self.done:
            self._last = (yield from self._ask(lambda episode: episode.terminate(reason))) or self._last
            yield from self._release()

    def leaving(self) -> Operation[None]:
        """Frees the lease; once is enough."""
        if not self._left:
            yield lambda episode: episode.leave()
            self._left = True  # only now: a cancelled call is made again by `close`

    def _first_messages(self) -> list[Message]:
        start = self._episode.reset
        system = self._settings.prompt.system_message(start.user_persona, start.interaction_mode)
        return [system, {"role": "user", "content": f"{start.task_instruction}\n\n{start.observation}"}]

    def _require_live(self) -> None:
        if self.done:
            raise EpisodeError("act after the end of the rollout; look at result", code="ended")

    def _begin(self, reading: Reading, *, action: str | None = None) -> Turn:
        """Counts the answer and keeps what it was given."""
        self.steps += 1
        self.protocol_errors += reading.fault is not None
        self.conversation.append(reading.echo)
        if reading.action is not None:
            action = canonical_text(reading.action)
        return Turn(
            self.steps,
            self.observation,
            self.observation_state,
            self.tools,
            action,
            reading.fault,
            None,
            None,
        )

    def _answered(self, turn: Turn, answer: Step | None, reply: Message) -> Operation[list[Message]]:
        if answer is None:
            self.last_turn = turn
            yield from self._release()
            return []
        self._last = answer
        turn = replace(turn, answer=answer)
        return (yield from self._finish(turn, [{**reply, "content": answer.observation}], None))

    def _finish(self, turn: Turn, replies: list[Message], end: str | None) -> Operation[list[Message]]:
        """Keeps the turn and ends the episode when it is time."""
        good = turn.answer is not None and _accepted(turn.answer)
        self.invalid_actions += turn.answer is not None and not good
        self._bad_run = 0 if good else self._bad_run + 1
        if end is None and not self.done and self._used_up():
            end = "action_limit"
        if end is not None:
            forced = yield from self._ask(lambda episode: episode.terminate(end))
            self._last = forced or self._last
            turn = replace(turn, forced=forced)
        self.last_turn = turn
        self.conversation += replies
        if self.done:
            yield from self._release()
        return [dict(reply) for reply in replies]

    def _used_up(self) -> bool:
        return self.steps >= self._settings.max_steps or self._bad_run == self._settings.max_invalid

    def _ask(self, effect: Effect) -> Operation[Step | None]:
        """The step that came of it; None when the infrastructure failed, which is noted."""
        try:
            for _ in range(1 + _REPEATS):
                step: Step = yield effect
                if step.valid:
                    return step
            self._failure = step.failure_kind or "env_crash"
        except ShopSimError as error:
            self._failed(error)
        return None

    def _release(self) -> Operation[None]:
        """Frees the lease at the end, so that an ended rollout that nobody closes holds no slot."""
        if self._settings.keep_trace and self._failure is None:
            try:
                self.trace = yield lambda episode: episode.trace()
            except ShopSimError as error:
                self._failed(error)
        yield from self.leaving()

    def _failed(self, error: ShopSimError) -> None:
        self.error = error
        self._failure = failure_kind(error)


def failure_kind(error: ShopSimError) -> str:
    """The name of a failure in the closed list of `Step`."""
    if error.failure_kind is not None:
        return error.failure_kind
    if isinstance(error, SimulatorError):
        return "simulator_fault"
    return "env_crash" if isinstance(error, SearchIndexError) else "adapter"


def _accepted(step: Step) -> bool:
    return (step.action_feedback or {}).get("valid") is not False
