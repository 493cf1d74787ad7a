"""`Episode`: one conversation from the customer's first words to the reward.

Belongs here: the loop (turns, budgets, endings), what the agent sees, and the composition of the reward.
Goals are made and graded in `envs`, tools run in `tools`, the customer speaks in `customer`. Everything is
a function of the episode's key and the agent's turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shopsim_env.canonical import compact_json
from shopsim_env.dialogue.wording import Wording
from shopsim_env.errors import EpisodeError, UsageError
from shopsim_env.rlve.customer.customer import Customer
from shopsim_env.rlve.customer.needs import EXEMPT_ACTS, Need, Utterance
from shopsim_env.rlve.difficulty import axes, task_axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.environments import environment
from shopsim_env.rlve.envs.base import Heard, Setting, Task, ToolRecord
from shopsim_env.rlve.envs.registry import make_task
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.overlay import Overlay
from shopsim_env.rlve.protocol import AgentTurn, Answer, FormatFault, read_turn
from shopsim_env.rlve.reward import EpisodeReward, Turns, reward_episode, reward_hard_failure
from shopsim_env.rlve.safety import denied
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.sight import Sight
from shopsim_env.rlve.step import RlveStep
from shopsim_env.rlve.tools import ToolFault, check_call
from shopsim_env.versions import RLVE_SUITE_VERSION

if TYPE_CHECKING:
    from shopsim_env.rlve.tools.running import LegalCall

LANGUAGES: Final = ("zh", "en")
REASONS: Final = ("agent_done", "t_max", "user_quit", "format_invalid", "tool_invalid", "safety_violation")
_BETWEEN: Final = {"zh": "", "en": " "}
_BUDGET_SPENT: Final = {
    "error": {
        "code": "tool_budget",
        "message": "not executed: this turn's calls are used up; call the tool in the next turn",
    }
}


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """What an episode is a function of, besides the suite version and the release.

    Args:
        env_id: Environment.
        difficulty: d, from 0.
        seed: Any integer from 0.
        language: `zh` or `en`.
        overrides: Axes by name instead of those of d, for ablations.
    """

    env_id: str
    difficulty: int
    seed: int
    language: str = "zh"
    overrides: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        environment(self.env_id)
        if self.language not in LANGUAGES:
            raise UsageError(
                f"language: expected one of {', '.join(LANGUAGES)}, found {self.language!r}",
                code="unknown_language",
            )
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**63:
            raise UsageError(
                f"seed: expected an integer from 0 to 2^63 - 1, found {self.seed!r}", code="bad_seed"
            )

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "env_id": self.env_id,
            "difficulty": self.difficulty,
            "seed": self.seed,
            "language": self.language,
            "overrides": dict(self.overrides),
        }


class Episode:
    """One episode. Not for two threads at once.

    Args:
        market: Release, facts and pools.
        key: Which episode.
        strict: Whether an unreadable turn or an illegal call ends the episode, as in training. Without it the
            turn is refused with the reason and does not count, for people in the playground; they need not
            say anything beside what they do.
        wording: Other words for what the customer tells, such as a checked language model's
            (`customer.manners.model_wording`); None for the templates.

    Raises:
        UsageError: unknown environment, axis or language; bad difficulty or seed; a catalogue without such
            goals.
    """

    def __init__(
        self, market: Market, key: EpisodeKey, *, strict: bool = True, wording: Wording | None = None
    ) -> None:
        self.key = key
        self._market = market
        self._strict = strict
        self._axes = axes(key.difficulty, key.overrides)
        draws = Draws(
            RLVE_SUITE_VERSION,
            market.release.id,
            key.language,
            key.env_id,
            key.difficulty,
            key.seed,
            compact_json(dict(key.overrides)),
        )
        self.overlay = Overlay(
            market.shelf, self._axes, draws.fork("overlay"), language=key.language, currency=market.currency
        )
        setting = Setting(
            self.overlay,
            market.pools,
            self._axes,
            task_axes(key.difficulty),
            draws.fork("goal"),
            key.difficulty,
        )
        self.task: Task = make_task(key.env_id, setting)
        self.customer = Customer(self.task.brief, draws.fork("customer"), self._axes, key.language, wording)
        self._messages: list[dict[str, str]] = []
        self._told: dict[str, Need] = {}
        self._results: tuple[ToolRecord, ...] = ()
        self._turns = 0
        self._exempt = 0
        self._interrupted = False
        self.reason: str | None = None
        self.reward: EpisodeReward | None = None
        self.score: TaskScore | None = None
        self.answer: Answer | None = None
        self._hear(self.customer.open())

    @property
    def done(self) -> bool:
        """Whether the episode ended."""
        return self.reason is not None

    def observation(self) -> dict[str, Any]:
        """What the agent sees: the conversation, results of its last turn, turns and budgets."""
        return {
            "env_id": self.task.env_id,
            "conversation": list(self._messages),
            "tool_results": [
                {"name": record.name, "args": dict(record.args), "result": dict(record.result)}
                for record in self._results
            ],
            "turn": self._turns,
            "turns_left": self.task.turn_budget - self._turns,
            "tool_budget": self._axes.B_tool,
            "done": self.done,
            "reward": self.reward.total if self.reward else 0.0,
        }

    def sight(self) -> Sight:
        """The same as a scripted agent sees it: what was told also as values."""
        brief = self.task.current
        told = {need.id: need for need in brief.needs if need.id in self._told}
        return Sight(
            env_id=brief.env_id,
            language=self.key.language,
            turn=self._turns,
            turns_left=self.task.turn_budget - self._turns,
            tool_budget=self._axes.B_tool,
            top_k=self._axes.top_k,
            message=self._messages[-1]["content"],
            results=self._results,
            request=brief.data,
            needs={id_.rpartition(":")[2]: self._told[id_].data for id_ in told},
            open_needs=len(brief.needs) - len(told),
        )

    def step(self, raw: str | bytes | Mapping[str, Any]) -> RlveStep:
        """Plays one turn of the agent: JSON text or the same as a mapping (`docs/rlve-tools.md`).

        Raises:
            EpisodeError: the episode is over (code `episode_over`).
        """
        if self.done:
            raise EpisodeError("step after the end of the episode; reset first", code="episode_over")
        try:
            turn = read_turn(raw, self._strict)
            self._check_env(turn.answer)
        except FormatFault as fault:
            return self._refuse("format", "format_invalid", fault)
        try:
            calls = [check_call(call) for call in turn.calls]
        except ToolFault as fault:
            return self._refuse("tool", "tool_invalid", fault)
        self._play(turn, calls)
        return self._outcome()

    def goal(self) -> dict[str, Any]:
        """The goal, once the episode is over.

        Raises:
            EpisodeError: it is not over (code `episode_running`).
        """
        if not self.done:
            raise EpisodeError("the goal is shown after the end of the episode", code="episode_running")
        return self.task.goal()

    def _play(self, turn: AgentTurn, calls: Sequence["LegalCall"]) -> None:
        allowed = turn.calls[: self._axes.B_tool]
        results = [
            ToolRecord(call.name, call.args, legal.run(self.overlay))
            for call, legal in zip(allowed, calls, strict=False)
        ]
        results += [ToolRecord(call.name, call.args, _BUDGET_SPENT) for call in turn.calls[len(allowed) :]]
        self._results = tuple(results)
        self._messages.append({"role": "assistant", "content": turn.message})
        self._turns += 1
        if turn.answer is not None and self._unsafe(turn.answer):
            self._fail("safety", "safety_violation")
        elif turn.answer is not None and turn.answer.done:
            self._accept(turn.answer)
        elif self._turns >= self.task.turn_budget:
            self._finish("t_max", turn.answer)
        else:
            self._converse(turn, self._results[: len(allowed)])

    def _accept(self, answer: Answer) -> None:
        """The part that the answer is for is over; the next one begins, or the episode ends."""
        following = self.task.accept(answer, self._heard())
        if following is None and self.task.finished:
            self._finish("agent_done", answer)
        elif self._turns >= self.task.turn_budget:
            self._finish("t_max", None)
        elif following is not None:
            self._hear(self.customer.introduce(following))
        else:
            self._hear(self.customer.remind(self.task.current))

    def _converse(self, turn: AgentTurn, results: Sequence[ToolRecord]) -> None:
        utterance = self.customer.answer(turn.message, self.task.remark(results))
        self._hear(utterance)
        if self.customer.left:
            self._finish("user_quit", turn.answer)
            return
        following = None if self._interrupted else self.task.interruption()
        self._interrupted = True
        if following is not None:
            self._hear(self.customer.introduce(following), joined=True)

    def _hear(self, utterance: Utterance, *, joined: bool = False) -> None:
        """Takes down what the customer said; `joined` continues the last message."""
        for need in utterance.told:
            self._told[need.id] = need
        if joined:
            self._messages[-1]["content"] += _BETWEEN[self.key.language] + utterance.text
        else:
            self._messages.append({"role": "user", "content": utterance.text})
            self._last_exempt = False
        if utterance.act in EXEMPT_ACTS and not self._last_exempt:
            self._exempt += 1
            self._last_exempt = True

    def _heard(self) -> Heard:
        return Heard(self.customer.revised, frozenset(self._told))

    def _check_env(self, answer: Answer | None) -> None:
        if answer is None or answer.env is None or answer.env in self.task.open_parts:
            return
        raise FormatFault(
            f"answer.env: expected {' or '.join(self.task.open_parts)}, found {answer.env!r}; leave it out "
            "or name the task that the answer is for",
            code="wrong_env",
        )

    def _unsafe(self, answer: Answer) -> bool:
        """Whether the answer recommends goods that no shop assistant may."""
        numbers = (self.overlay.ids.number(name) for name in answer.recommended_product_ids)
        shelf = self.overlay.shelf
        return any(
            denied(shelf.world.category(shelf.item(number).facts.category))
            for number in numbers
            if number is not None
        )

    def _finish(self, reason: str, answer: Answer | None) -> None:
        score = self.task.grade(answer, self._heard())
        self.reason, self.score, self.answer = reason, score, answer
        self.reward = reward_episode(score, self._spent(), self.task.used(answer), self.overlay.seen)

    def _fail(self, kind: str, reason: str) -> None:
        self.reason = reason
        self.reward = reward_hard_failure(kind, self._spent())

    def _spent(self) -> Turns:
        return Turns(max(1, self._turns), self.task.turn_budget, self._exempt)

    def _refuse(self, kind: str, reason: str, fault: FormatFault | ToolFault) -> RlveStep:
        if self._strict:
            self._fail(kind, reason)
        step = self._outcome()
        step.info["fault"] = {"code": fault.code, "message": str(fault)}
        return step

    def _outcome(self) -> RlveStep:
        info: dict[str, Any] = {}
        if self.reward is not None:
            info = {"reason": self.reason, "reward": self.reward.as_dict()}
        return RlveStep(self.observation(), self.reward.total if self.reward else 0.0, self.done, info)
