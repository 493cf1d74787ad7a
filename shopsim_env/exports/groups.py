"""Groups of episodes with one start, for methods that compare the members of a group (GRPO, GiGPO).

Belongs here: rewards, advantages, and keys of equal steps. A member without a result is counted and left out;
it never counts as zero. The conversations are in the SFT export, under the same run and episode id.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.exports.recorded import Episode, Place, has_result, reward_of
from shopsim_env.runs.rows import table
from shopsim_env.runs.select import succeeded
from shopsim_env.shop.anchor import anchor_key


@dataclass(slots=True)
class _Group:
    task_id: int
    release: str
    split: Any
    prompt: Any
    environment: Any
    model: Any
    members: list[dict[str, Any]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)


def group_rows(
    episodes: Iterable[Episode],
    places: Sequence[Place],
    *,
    counts: Counter[str],
    reward: str = "reward",
    scale: bool = False,
) -> Iterator[dict[str, Any]]:
    """One row per group, in the order of its first episode.

    Args:
        episodes: Completed episodes with their messages; steps are held as keys, never as texts.
        places: All episodes, the failed ones too.
        counts: Counts groups, members, `zero_variance` groups and those with a `single` member.
        reward: Which reward.
        scale: Whether advantages are divided by the standard deviation (n - 1) of the group.
    """
    groups: dict[str, _Group] = {}
    for episode in episodes:
        provenance, reset = table(episode.record.get("provenance")), table(episode.record.get("reset"))
        model = provenance.get("model")
        key = sha256_text(compact_json([episode.prompt_key, model]))
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(
                task_id=episode.row.task_id,
                release=episode.row.release,
                split=episode.identity["split"],
                prompt=provenance.get("prompt"),
                environment=reset.get("environment"),
                model=model,
            )
        group.members.append(_member(episode))
        group.rewards.append(reward_of(episode.row, reward))
    without = Counter(place.row.task_id for place in places if not has_result(place.row))
    for key, group in groups.items():
        yield _row(key, group, without[group.task_id], scale, counts)


def advantages(rewards: Sequence[float], *, scale: bool) -> tuple[float, float, list[float]]:
    """Mean, standard deviation (n - 1; 0 for one member) and the advantage of each member.

    Source: Shao et al. 2024 (GRPO); Liu et al. 2025 (Dr. GRPO) leave the division out, as is done here
    without `scale`. Members of a group of equal rewards have advantage 0 in both.
    """
    count = len(rewards)
    mean = math.fsum(rewards) / count
    squares = math.fsum((value - mean) ** 2 for value in rewards)
    if min(rewards) == max(rewards) or not squares:  # squares of the smallest differences vanish
        return rewards[0], 0.0, [0.0] * count
    spread = math.sqrt(squares / (count - 1))
    return mean, spread, [(value - mean) / (spread if scale else 1.0) for value in rewards]


def _row(key: str, group: _Group, without: int, scale: bool, counts: Counter[str]) -> dict[str, Any]:
    mean, spread, gains = advantages(group.rewards, scale=scale)
    counts["groups"] += 1
    counts["members"] += len(gains)
    counts["zero_variance"] += spread == 0
    counts["single"] += len(gains) == 1
    return {
        "group_id": key,
        "task_id": group.task_id,
        "split": group.split,
        "release": group.release,
        "prompt": group.prompt,
        "environment": group.environment,
        "model": group.model,
        "size": len(gains),
        "without_result": without,
        "mean": mean,
        "std": spread,
        "zero_variance": spread == 0,
        "members": [
            {**member, "reward": reward, "advantage": gain}
            for member, reward, gain in zip(group.members, group.rewards, gains, strict=True)
        ],
    }


def _member(episode: Episode) -> dict[str, Any]:
    named = {name: episode.identity[name] for name in ("run", "episode_id", "sample_id", "seed")}
    steps = [
        {
            "anchor": anchor_key(table(answer.step.get("observation_state"))),
            "action": answer.step.get("action"),
            "bad": answer.bad,
        }
        for answer in episode.answers
    ]
    return {**named, "success": succeeded(episode.row), "reason": episode.row.reason, "steps": steps}
