"""Pairs of a better and a worse episode with one start, for preference methods such as DPO.

Belongs here: which pairs, and their rows. Episodes without a result are never half of a pair.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shopsim_env.errors import UsageError
from shopsim_env.exports.recorded import Episode, Place, Recording, reward_of
from shopsim_env.exports.sft import clean, continued


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which pairs are made.

    Args:
        margin: Least difference of the rewards, above 0.
        most: Most pairs of one start: best with worst, then second best with second worst. No episode is in
            two pairs.
        reward: Which reward.
        reasoning: Whether reasoning is kept.

    Raises:
        UsageError: a margin that is not above 0, or no pair at all.
    """

    margin: float = 0.1
    most: int = 1
    reward: str = "reward"
    reasoning: bool = False

    def __post_init__(self) -> None:
        if not self.margin > 0:
            raise UsageError(f"margin: expected a number above 0, found {self.margin}")
        if self.most < 1:
            raise UsageError(f"pairs: expected at least 1, found {self.most}")


def preference_rows(
    recording: Recording, episodes: Iterable[Episode], options: PairOptions, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """The pairs, in the order of the first episode of each start.

    Only rewards and places are held while episodes are compared; the two of a pair are read again. Equal
    rewards stand in the order of the recording, so the choice is the same every time.
    """
    starts: dict[str, list[tuple[float, Place]]] = {}
    for episode in episodes:
        member = reward_of(episode.row, options.reward), episode.place
        starts.setdefault(episode.prompt_key, []).append(member)
    for members in starts.values():
        pairs = list(chosen_pairs(members, options))
        counts["starts"] += 1
        counts["without_pair"] += not pairs
        for (high, better), (low, worse) in pairs:
            counts["pairs"] += 1
            yield _row(_again(recording, better), _again(recording, worse), high, low, options)


def chosen_pairs(
    members: list[tuple[float, Place]], options: PairOptions
) -> Iterator[tuple[tuple[float, Place], tuple[float, Place]]]:
    """Best with worst, then inwards, while the margin holds."""
    ranked = sorted(members, key=lambda member: -member[0])
    for number in range(min(options.most, len(ranked) // 2)):
        better, worse = ranked[number], ranked[-1 - number]
        if better[0] - worse[0] < options.margin:
            return
        yield better, worse


def _again(recording: Recording, place: Place) -> Episode:
    episode = recording.episode(place)
    if episode is None:
        raise RuntimeError("an episode that was read once has its messages")
    return episode


def _row(better: Episode, worse: Episode, high: float, low: float, options: PairOptions) -> dict[str, Any]:
    about = {name: better.identity[name] for name in ("task_id", "split", "release")}
    row: dict[str, Any] = {
        **about,
        "start": better.prompt_key,
        "prompt": [clean(message) for message in better.start],
        "margin": high - low,
    }
    for side, episode, reward in (("chosen", better, high), ("rejected", worse, low)):
        row[side] = continued(episode.answers, options.reasoning)
        row[f"{side}_tools"] = [answer.tools for answer in episode.answers]
        row[f"{side}_reward"] = reward
        row[f"{side}_run"] = episode.run
        row[f"{side}_episode_id"] = episode.row.episode_id
    return row
