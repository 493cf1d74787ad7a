"""`TracedEnv`: a `ShopEnv` that writes down what it plays.

Belongs here: turning calls and answers into trace records. The format is in `trace`, the check in `replay`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.dialogue.wording import ModelWording, TemplateWording
from shopsim_env.errors import UsageError
from shopsim_env.shop.env import Reset, ShopEnv, Step
from shopsim_env.shop.episode import ReleaseLike
from shopsim_env.trace import TraceRecord, TraceWriter, encode_action
from shopsim_env.versions import component_versions


class IdentifiedRelease(ReleaseLike, Protocol):
    """A release that says which one it is."""

    @property
    def id(self) -> str:
        """Content hash of the release."""


def state_hash(state: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the canonical JSON of a state or a persona."""
    return sha256_text(compact_json(state))


class TracedEnv(ShopEnv):
    """A `ShopEnv` whose episodes become trace records.

    A record is handed over when its episode ends; an episode that is left by `reset` or `close` is handed
    over as it is, unless nothing was done in it. An action that JSON cannot hold exactly is refused before it
    is played.

    Args:
        release: As for `ShopEnv`; its id goes into the records.
        writer: Where records go; without one they are kept in `finished`.
        options: Keywords of `ShopEnv`.

    Raises:
        UsageError: as for `ShopEnv`; a wording that a trace cannot carry (code `unrecordable_wording`).
    """

    def __init__(
        self, release: IdentifiedRelease, *, writer: TraceWriter | None = None, **options: Any
    ) -> None:
        super().__init__(release, **options)
        if not isinstance(self._wording, (TemplateWording, ModelWording)):
            raise UsageError(
                f"shopper_wording: expected templates or a ModelWording, whose answers a trace can carry, "
                f"found {type(self._wording).__name__}; play it with ShopEnv",
                code="unrecordable_wording",
            )
        self._release_id = release.id
        self._writer = writer
        self._record: TraceRecord | None = None
        self.finished: list[TraceRecord] = []

    def reset(self, task_id: int | None = None, *, seed: int | None = None) -> Reset:
        """As `ShopEnv.reset`."""
        start = super().reset(task_id, seed=seed)
        self._hand_over()
        self._record = start_record(self._release_id, self.options, start, seed)
        return start

    def step(self, action: object) -> Step:
        """As `ShopEnv.step`.

        Raises:
            TraceError: the action cannot be written down; it was not played.
        """
        encoded = encode_action(action)
        step = super().step(action)
        if not step.valid:  # nothing happened; the same action may come again
            return step
        if self._record is not None:
            self._record.actions.append(encoded)
            self._add_wording(self._record, step)
        self._add(step, "action")
        return step

    def terminate(self, reason: str) -> Step:
        """As `ShopEnv.terminate`."""
        step = super().terminate(reason)
        self._add(step, "caller")
        return step

    def close(self) -> None:
        """As `ShopEnv.close`; an unfinished episode is handed over."""
        self._hand_over()
        super().close()

    def _add(self, step: Step, ended_by: str) -> None:
        if self._record is not None:
            self._record = with_step(self._record, step, ended_by)
            if step.done:
                self._hand_over()

    def _add_wording(self, record: TraceRecord, step: Step) -> None:
        """Keeps what a language model wrote for this step."""
        last = step.info.get("shopper", {}).get("last")
        request = last["wording"]["request"] if last else ""
        if request and all(row["request"] != request for row in record.wordings):
            rows = self._wording.recorded() if isinstance(self._wording, ModelWording) else []
            record.wordings.extend(row for row in rows if row["request"] == request)

    def _hand_over(self) -> None:
        record, self._record = self._record, None
        if record is None or not (record.actions or record.ended_by):
            return
        if self._writer is None:
            self.finished.append(record)
        else:
            self._writer.append(record)


def start_record(release_id: str, options: dict[str, Any], start: Reset, seed: int | None) -> TraceRecord:
    """The record of an episode that has just begun."""
    return TraceRecord(
        release=release_id,
        versions=component_versions(),
        task_id=start.task_id,
        seed=seed,
        environment=options,
        instruction=sha256_text(start.task_instruction),
        persona=state_hash(start.user_persona),
        observations=[sha256_text(start.observation)],
        states=[state_hash(start.observation_state)],
    )


def with_step(record: TraceRecord, step: Step, ended_by: str) -> TraceRecord:
    """`record` after one more step; `ended_by` counts when the step ended the episode."""
    record.observations.append(sha256_text(step.observation))
    record.states.append(state_hash(step.observation_state))
    if not step.done:
        return record
    return replace(
        record,
        ended_by=ended_by,
        termination_reason=step.termination_reason,
        reward=step.reward,
        reward_detail=step.reward_detail,
    )
