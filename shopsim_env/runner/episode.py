"""One episode between a model and the environment, written down as `shopsim-episode-v1`.

Belongs here: the loop of turns and the record of it. What a message becomes is in `core`; a failure of the
infrastructure makes a failed episode without a result, whatever was played before.
"""

import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from shopsim_env.errors import ModelError, ShopSimError
from shopsim_env.runner.chat import CONTEXT_LENGTH, FATAL, ChatModel, Completion
from shopsim_env.runner.config import RunConfig
from shopsim_env.runner.core import Turn, failure_kind
from shopsim_env.runner.plan import RUNNER_VERSION, episode_id
from shopsim_env.runner.rollout import AsyncRollout
from shopsim_env.runner.world import World
from shopsim_env.runs.rows import COMPLETED, EPISODE_SCHEMA, FAILED
from shopsim_env.shop.env import Step
from shopsim_env.versions import __version__

_ANSWER: Final = (
    "observation",
    "observation_state",
    "reward",
    "done",
    "termination_reason",
    "action_feedback",
    "valid",
    "failure_kind",
)
LONGER: Final = Completion("", "", None, CONTEXT_LENGTH, None, "", "")
"""In place of an answer when the conversation is longer than the model reads."""


class Player:
    """Plays jobs of one run."""

    def __init__(self, config: RunConfig, world: World, chat: ChatModel) -> None:
        self._config = config
        self._world = world
        self._chat = chat
        self._environment = config.environment
        self._provenance = provenance_of(config, world)

    async def play(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The record of an episode, completed or failed.

        Raises:
            ModelError: the endpoint refuses us for good (codes in `FATAL`): nothing is to be recorded.
            ShopSimError: the environment was asked for something that it does not have.
        """
        notes = _Notes(job, self._provenance, self._environment)
        try:
            rollout = await self._open(job)
        except ShopSimError as error:
            if error.wrong_use:
                raise
            return notes.failed("environment", failure_kind(error), error)
        async with rollout:
            notes.rollout = rollout
            try:
                while not rollout.done:
                    await self._turn(job, rollout, notes)
            except ModelError as error:
                if error.code in FATAL:
                    raise
                return notes.failed("model", error.code, error)
        result = rollout.result
        if not result.valid:
            return notes.failed("environment", str(result.failure_kind), rollout.error)
        return notes.completed()

    async def _open(self, job: Mapping[str, Any]) -> AsyncRollout:
        prompt, world = self._config.sections["prompt"], self._config.sections["environment"]
        return await AsyncRollout.open(
            self._world.client,
            job["task_id"],
            seed=job["seed"],
            prompt=self._config.prompt,
            tools=prompt["tools"],
            text_beside_call=prompt["text_beside_call"],
            wait_s=world["wait_s"],
            heartbeat=True,
            **self._environment,
        )

    async def _turn(self, job: Mapping[str, Any], rollout: AsyncRollout, notes: "_Notes") -> None:
        number, place = rollout.steps + 1, len(rollout.conversation)
        key = f"{episode_id(job)}/{number}"
        try:
            completion = await self._chat.complete(
                rollout.conversation, rollout.tools, job["seed"] + number - 1, key
            )
        except ModelError as error:
            if error.code != CONTEXT_LENGTH:
                raise
            completion = LONGER
        reason = "length" if completion is LONGER else completion.finish_reason
        await rollout.act(completion.message(), finish_reason=reason)
        send_back(self._config, rollout.conversation[place], completion)
        if rollout.last_turn is not None:
            notes.steps.append(step_record(rollout.last_turn, completion))


def provenance_of(config: RunConfig, world: World) -> dict[str, Any]:
    """What every record of a run says about what was played, and by whom."""
    return {
        "release": world.release,
        "versions": world.versions,
        "model": config.sampling,
        "prompt": config.prompt_facts,
        "runtime": {"runner": RUNNER_VERSION, "package": __version__},
    }


def send_back(config: RunConfig, message: dict[str, Any], completion: Completion) -> None:
    """Puts the reasoning into the message, where the model wants its earlier reasoning again."""
    name = config.sections["model"]["reasoning_back"]
    if name != "none" and completion.reasoning:
        message[name] = completion.reasoning


class Stopwatch:
    """Times of one episode, from now on."""

    def __init__(self) -> None:
        self._started_at, self._start = _now(), time.perf_counter()

    def times(self) -> dict[str, Any]:
        """Beginning and end in UTC, and the wall time between."""
        duration_ms = (time.perf_counter() - self._start) * 1_000
        return {
            "started_at": self._started_at,
            "ended_at": _now(),
            "duration_ms": round(duration_ms, 3),
        }


class _Notes:
    """What will be the record."""

    def __init__(
        self, job: Mapping[str, Any], provenance: Mapping[str, Any], environment: Mapping[str, Any]
    ) -> None:
        self._job = job
        self._provenance = provenance
        self._environment = environment
        self._watch = Stopwatch()
        self.rollout: AsyncRollout | None = None
        self.steps: list[dict[str, Any]] = []

    def completed(self) -> dict[str, Any]:
        """The record of an episode with a result."""
        turn = None if self.rollout is None else self.rollout.last_turn
        return self._record(COMPLETED, final_record(turn), None)

    def failed(self, stage: str, kind: str, error: ShopSimError | None) -> dict[str, Any]:
        """The record of an episode that the infrastructure broke: no result, and never a reward."""
        message = "the environment answered that it failed" if error is None else str(error)
        return self._record(FAILED, None, {"stage": stage, "type": kind, "message": message})

    def _record(
        self, status: str, final: dict[str, Any] | None, error: dict[str, Any] | None
    ) -> dict[str, Any]:
        return {
            "schema": EPISODE_SCHEMA,
            "episode_id": episode_id(self._job),
            "status": status,
            "job": self._job,
            "provenance": self._provenance,
            **self._watch.times(),
            "reset": self._reset(),
            "conversation": [] if self.rollout is None else self.rollout.conversation,
            "steps": self.steps,
            "final": final,
            "error": error,
        }

    def _reset(self) -> dict[str, Any] | None:
        if self.rollout is None:
            return None
        start = self.rollout.reset
        return {
            "task_instruction": start.task_instruction,
            "user_persona": start.user_persona,
            "environment": self._environment,
        }


def final_record(turn: Turn | None) -> dict[str, Any]:
    """What a record says about the end of a completed episode, from its last turn."""
    last = None if turn is None else turn.forced or turn.answer
    if turn is None or last is None:
        raise RuntimeError("a completed episode has a last step")
    return {
        "done": last.done,
        "reward": last.reward,
        "termination_reason": last.termination_reason,
        "reward_detail": last.reward_detail,
        "purchase": last.info.get("purchase"),
        "ended_by": "action" if turn.forced is None else "caller",
        "observation": last.observation,
        "observation_state": last.observation_state,
    }


def step_record(turn: Turn, completion: Completion) -> dict[str, Any]:
    """What a record says about one answer of the model."""
    fault = None if turn.fault is None else turn.fault._asdict()
    return {
        "step": turn.number,
        "observation": turn.observation,
        "observation_state": turn.observation_state,
        "tools": turn.tools,
        "model": {**completion.facts(), "protocol_error": fault},
        "action": turn.action,
        "environment": None if turn.answer is None else _answer(turn.answer),
    }


def _answer(step: Step) -> dict[str, Any]:
    return {name: getattr(step, name) for name in _ANSWER}


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
