"""`shopsim-rlve-trace-v1`: one RLVE episode as one line of JSON, and its proof by playing it again.

Belongs here: the record, writing it while an episode is played, and the comparison. A record holds the
agent's turns as they were given and hashes of what was shown; no goal and no text of the customer.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.dialogue.wording import ModelWording
from shopsim_env.errors import ShopSimError, TraceError
from shopsim_env.replay import Difference
from shopsim_env.rlve.customer.manners import model_wording
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.step import RlveStep
from shopsim_env.trace import RLVE_TRACE_SCHEMA
from shopsim_env.versions import RLVE_SUITE_VERSION

_SHAPES: Final[dict[str, tuple[type, ...]]] = {
    "actions": (list,),
    "key": (dict,),
    "observations": (list,),
    "reason": (str, type(None)),
    "release": (str,),
    "reward": (dict, type(None)),
    "schema": (str,),
    "strict": (bool,),
    "suite": (str,),
    "wordings": (list,),
}


@dataclass(slots=True)
class RlveRecord:
    """One episode.

    `key` is that of `EpisodeKey`; `actions` are the agent's turns, text or JSON objects; `observations`
    hash what was shown, the opening first. `reason` and `reward` are None for an episode that was left.
    `wordings` are the answers of the language model behind the customer, if there was one: a replay asks no
    model.
    """

    release: str
    key: dict[str, Any]
    strict: bool = True
    actions: list[Any] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    reason: str | None = None
    reward: dict[str, Any] | None = None
    wordings: list[dict[str, str]] = field(default_factory=list)
    suite: str = RLVE_SUITE_VERSION
    schema: str = RLVE_TRACE_SCHEMA

    def line(self) -> bytes:
        """The record as canonical JSON and a newline, in UTF-8."""
        return (compact_json(asdict(self)) + "\n").encode("utf-8", "backslashreplace")


class TracedEpisode(Episode):
    """An `Episode` that writes down what is played; `record` is whole at any time."""

    def __init__(
        self, market: Market, key: EpisodeKey, *, strict: bool = True, wording: ModelWording | None = None
    ) -> None:
        super().__init__(market, key, strict=strict, wording=wording)
        self._model = wording
        self.record = RlveRecord(market.release.id, key.as_dict(), strict)
        self._show(self.observation())

    def step(self, raw: str | bytes | Mapping[str, Any]) -> RlveStep:
        """As `Episode.step`.

        Raises:
            TraceError: a turn that JSON cannot hold (code `unrecordable_action`); it was not played.
        """
        action = plain_turn(raw)
        step = super().step(raw)
        self.record.actions.append(action)
        self._show(step.observation)
        if step.done:
            self.record.reason, self.record.reward = step.info["reason"], step.info["reward"]
        return step

    def _show(self, observation: Mapping[str, Any]) -> None:
        """Takes down what is shown, and what a language model wrote for it."""
        self.record.observations.append(sha256_text(compact_json(observation)))
        asked = {worded.request for worded in self.customer.worded}
        if self._model is not None:
            self.record.wordings = [row for row in self._model.recorded() if row["request"] in asked]


def read_rlve_record(line: bytes, where: str = "line") -> RlveRecord:
    """The record of one line.

    Raises:
        TraceError: no JSON object, another schema, missing or unknown fields, a field of another type.
    """
    try:
        values = json.loads(line)
    except ValueError as error:
        raise TraceError(f"{where}: expected one JSON object, found {line[:80]!r} ({error})") from error
    found = values.get("schema") if isinstance(values, dict) else None
    if found != RLVE_TRACE_SCHEMA:
        raise TraceError(f"{where}: expected schema {RLVE_TRACE_SCHEMA!r}, found {found!r}")
    odd = sorted(set(values) ^ set(_SHAPES))
    wrong = sorted(name for name, kinds in _SHAPES.items() if not isinstance(values.get(name), kinds))
    if odd or wrong:
        raise TraceError(f"{where}: missing, unknown or mistyped fields {odd or wrong}")
    if len(values["observations"]) != len(values["actions"]) + 1:
        raise TraceError(f"{where}: expected one observation more than the {len(values['actions'])} actions")
    return RlveRecord(**values)


def begin_again(record: RlveRecord, market: Market) -> TracedEpisode:
    """The episode of a record before its first turn; answers of a language model are those of the record.

    Raises:
        UsageError: a key that this release or version does not have.
    """
    key = EpisodeKey(**record.key)
    wording = model_wording(key.language, None, record.wordings) if record.wordings else None
    return TracedEpisode(market, key, strict=record.strict, wording=wording)


def play_again(record: RlveRecord, market: Market) -> RlveRecord:
    """Plays the turns of a record again.

    Raises:
        TraceError: a turn after the end.
        UsageError: a key that this release or version does not have.
    """
    episode = begin_again(record, market)
    for number, action in enumerate(record.actions, start=1):
        if episode.done:
            raise TraceError(f"turn {number} comes after the end of the episode")
        episode.step(action)
    return episode.record


def compare_record(line: bytes, number: int, market: Market) -> Difference | None:
    """Plays one line again; None when every byte is the same.

    Args:
        line: The line with its newline.
        number: Its number in the file, from 1.
        market: The release that it was played on.

    Raises:
        TraceError: the line is no record.
    """
    record = read_rlve_record(line, f"line {number}")
    for name, expected in (("release", market.release.id), ("suite", RLVE_SUITE_VERSION)):
        if getattr(record, name) != expected:
            return Difference(number, None, name, getattr(record, name), expected)
    try:
        again = play_again(record, market)
    except (ShopSimError, TypeError) as error:
        return Difference(number, None, "actions", "a playable episode", repr(error))
    found = _first_difference(record, again, number)
    if found is None and again.line() != line:
        return Difference(number, None, "line", "other bytes for the same values", "the canonical line")
    return found


def _first_difference(record: RlveRecord, again: RlveRecord, number: int) -> Difference | None:
    for step, (old, new) in enumerate(zip(record.observations, again.observations, strict=True)):
        if old != new:
            return Difference(number, step, "observations", old, new)
    for name in ("reason", "reward", "wordings"):
        old, new = compact_json(getattr(record, name)), compact_json(getattr(again, name))
        if old != new:
            return Difference(number, len(record.actions), name, old, new)
    return None


def plain_turn(raw: str | bytes | Mapping[str, Any]) -> Any:
    """The turn as JSON holds it.

    Raises:
        TraceError: JSON cannot hold it (code `unrecordable_action`).
    """
    if isinstance(raw, str):
        return raw
    try:
        if isinstance(raw, bytes):
            return raw.decode("utf-8")
        return json.loads(json.dumps(raw, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TraceError(
            f"expected a turn that JSON holds exactly, found {type(raw).__name__}: {error}; "
            "it was not played",
            code="unrecordable_action",
        ) from error
