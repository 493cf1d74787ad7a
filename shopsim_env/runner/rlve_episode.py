"""One RLVE episode between a model and a customer, written down as `shopsim-rlve-episode-v1`.

Belongs here: the loop of turns and the record of it. What a message becomes is in `rlve_turns`, the verdict
is the episode's. A failure of the infrastructure makes a failed episode without a result and without a trace.
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.errors import ModelError, ShopSimError
from shopsim_env.runner.chat import CONTEXT_LENGTH, FATAL, ChatModel, Completion
from shopsim_env.runner.config import RunConfig
from shopsim_env.runner.core import failure_kind
from shopsim_env.runner.episode import LONGER, Stopwatch, provenance_of, send_back
from shopsim_env.runner.plan import episode_id
from shopsim_env.runner.rlve_turns import echo_of, offered_tools, opening, replies, turn_of
from shopsim_env.runner.world import World
from shopsim_env.runs.rows import COMPLETED, FAILED, RLVE_EPISODE_SCHEMA, load_line

_KEY: Final = ("env_id", "difficulty", "seed", "language")


class RlvePlayer:
    """Plays jobs of one run."""

    def __init__(self, config: RunConfig, world: World, chat: ChatModel) -> None:
        self._config = config
        self._world = world
        self._chat = chat
        self._provenance = provenance_of(config, world)

    async def play(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The record of an episode, completed or failed.

        Raises:
            ModelError: the endpoint refuses us for good (codes in `FATAL`): nothing is to be recorded.
            ShopSimError: the environment was asked for something that it does not have.
        """
        notes = _Notes(job, self._provenance)
        wait_s = self._config.sections["environment"]["wait_s"]
        key = {name: job[name] for name in _KEY}
        try:
            async with self._world.client.rlve(**key, wait_s=wait_s, heartbeat=True) as episode:
                await self._converse(job, episode, notes)
                trace = load_line(await episode.trace())
        except ModelError as error:
            if error.code in FATAL:
                raise
            return notes.failed("model", error.code, error)
        except ShopSimError as error:
            if error.wrong_use:
                raise
            return notes.failed("environment", failure_kind(error), error)
        return notes.completed(trace)

    async def _converse(self, job: Mapping[str, Any], episode: Any, notes: "_Notes") -> None:
        language = job["language"]
        notes.tools = offered_tools(episode.tools, self._world.answers[job["env_id"]], language)
        notes.conversation += opening(self._config.prompt, episode.observation, language)
        while not episode.done:
            number = len(notes.steps) + 1
            completion = await self._asked(job, notes, number)
            message = completion.message()
            turn = turn_of(message, language)
            step = await episode.step(turn)
            echo = echo_of(message, number)
            send_back(self._config, echo, completion)
            notes.conversation.append(echo)
            if not step.done:
                notes.conversation += replies(echo, step.observation, language)
            notes.steps.append(_step(number, completion, turn, step))

    async def _asked(self, job: Mapping[str, Any], notes: "_Notes", number: int) -> Completion:
        seed, key = job["model_seed"] + number - 1, f"{episode_id(job)}/{number}"
        try:
            return await self._chat.complete(notes.conversation, notes.tools, seed, key)
        except ModelError as error:
            if error.code != CONTEXT_LENGTH:
                raise
            return LONGER


class _Notes:
    """What will be the record."""

    def __init__(self, job: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        self._job = job
        self._provenance = provenance
        self._watch = Stopwatch()
        self.tools: list[Any] = []
        self.conversation: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []

    def completed(self, trace: dict[str, Any]) -> dict[str, Any]:
        """The record of an episode with a result."""
        final = {
            "done": True,
            "reward": trace["reward"]["total"],
            "termination_reason": trace["reason"],
            "reward_detail": trace["reward"],
        }
        return self._record(COMPLETED, final, trace, None)

    def failed(self, stage: str, kind: str, error: ShopSimError) -> dict[str, Any]:
        """The record of an episode that the infrastructure broke: no result, and never a reward."""
        return self._record(FAILED, None, None, {"stage": stage, "type": kind, "message": str(error)})

    def _record(
        self,
        status: str,
        final: dict[str, Any] | None,
        trace: dict[str, Any] | None,
        error: dict[str, Any] | None,
    ) -> dict[str, Any]:
        return {
            "schema": RLVE_EPISODE_SCHEMA,
            "episode_id": episode_id(self._job),
            "status": status,
            "job": self._job,
            "provenance": self._provenance,
            **self._watch.times(),
            "conversation": self.conversation,
            "tools": self.tools,
            "steps": self.steps,
            "final": final,
            "trace": trace,
            "error": error,
        }


def _step(number: int, completion: Completion, turn: Any, step: Any) -> dict[str, Any]:
    """A turn: what the model said, what was played, and how the episode refused it, if it did."""
    fault = step.info.get("fault")
    return {
        "step": number,
        "model": {**completion.facts(), "protocol_error": fault},
        "turn": turn,
        "done": step.done,
    }
