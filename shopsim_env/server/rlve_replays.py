"""RLVE episodes as the replay page shows them: what `runs.timeline` and `comparison` are for the Shop.

Belongs here: one recorded episode turn by turn, its goal after the end. A record holds the agent's turns and
hashes of what was shown, so on its own release and suite it is played again, and each turn says whether it is
what was recorded. Nothing of RLVE is imported before such an episode is opened.
"""

import importlib.util
from typing import TYPE_CHECKING, Any

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import RunError, ShopSimError
from shopsim_env.release import Release
from shopsim_env.runs.rows import Row, items, table, text
from shopsim_env.runs.timeline import MOST_ACTIONS, head_of
from shopsim_env.server.fields import read_fields
from shopsim_env.server.rlve_bodies import RLVE_RESET, check_hits
from shopsim_env.versions import RLVE_SUITE_VERSION

if TYPE_CHECKING:
    from shopsim_env.rlve.market import Market
    from shopsim_env.rlve.trace import TracedEpisode

_Shown = list[dict[str, Any]]


class RlveReplays:
    """Recorded RLVE episodes over one release, whose market is opened when it is needed. For one thread."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._market: Market | None = None

    def timeline(self, row: Row, record: dict[str, Any], line: bytes) -> dict[str, Any]:
        """The episode of a row: what the customer said first, then turn by turn.

        Every step has `action`, the messages and tool results that followed (None where they are unknown),
        `fault` of a refused turn, and `equal`: whether what was shown is the recorded one.
        """
        shown, note = self._played(record, line)
        recorded = items(record.get("observations"))
        actions = items(record.get("actions"))
        steps = [
            {"number": place + 1, "action": action, **_after(shown, recorded, place + 1)}
            for place, action in enumerate(actions)
        ]
        return {
            **head_of(row, self._release),
            "kind": "rlve",
            "key": table(record.get("key")),
            "strict": record.get("strict") is True,
            "suite": text(record.get("suite")),
            "opening": _after(shown, recorded, 0),
            "steps": steps,
            "reason": text(record.get("reason")) or None,
            "reward": table(record.get("reward")),
            "note": note,
        }

    def evidence(self, line: bytes) -> dict[str, Any]:
        """The goal, and what the task came to. The caller holds the admin token.

        Raises:
            RunError: the episode cannot be played here (`other_release`), or is not over when it is
                (`not_ended`).
        """
        try:
            episode, _ = self._play(line)
        except (ShopSimError, TypeError) as error:
            raise RunError(
                "the episode cannot be played by this server, so its goal is unknown", code="other_release"
            ) from error
        if not episode.done:
            raise RunError("the goal is shown after the end of an episode", code="not_ended")
        score = episode.score
        parts = None if score is None else {"score": score.score, **dict(score.parts)}
        return {"kind": "rlve", "goal": episode.goal(), "score": parts}

    def _played(self, record: dict[str, Any], line: bytes) -> tuple[_Shown, str | None]:
        """What was shown at the start and after each turn; or nothing, and why."""
        if record.get("release") != self._release.id:
            return [], "other_release"
        if record.get("suite") != RLVE_SUITE_VERSION:
            return [], "other_suite"
        if len(items(record.get("actions"))) > MOST_ACTIONS:
            return [], "too_long"
        if importlib.util.find_spec("pydantic") is None:
            return [], "no_rlve"
        try:
            return self._play(line)[1], None
        except (ShopSimError, TypeError):
            return [], "unplayable"

    def _play(self, line: bytes) -> "tuple[TracedEpisode, _Shown]":
        from shopsim_env.rlve.trace import begin_again, read_rlve_record

        record = read_rlve_record(line)
        # Within the bounds of a request: a line comes from anybody, and large axes take long to draw.
        key = read_fields(RLVE_RESET, record.key, "key")
        check_hits(key["difficulty"], key["overrides"])
        episode = begin_again(record, self._opened())
        shown = [{"observation": episode.observation(), "fault": None}]
        for action in record.actions:
            step = episode.step(action)
            shown.append({"observation": step.observation, "fault": step.info.get("fault")})
        return episode, shown

    def _opened(self) -> "Market":
        from shopsim_env.rlve.market import Market

        if self._market is None:
            self._market = Market.of(self._release)
        return self._market


def _after(shown: _Shown, recorded: list[Any], place: int) -> dict[str, Any]:
    """What came after turn number `place`; 0 is the start."""
    if place >= len(shown):
        return {"said": None, "results": None, "fault": None, "equal": None}
    now = shown[place]["observation"]
    before = shown[place - 1]["observation"]["conversation"] if place else []
    return {
        "said": now["conversation"][len(before) :],
        "results": now["tool_results"] if place else [],
        "fault": shown[place]["fault"],
        "equal": sha256_text(compact_json(now)) == recorded[place],
    }
