"""Plays one episode with one agent, and says what came of it.

Belongs here: the loop between an agent and an episode, and the best total that any play can reach.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.reward import Turns, compose, efficiency


@dataclass(frozen=True, slots=True)
class Played:
    """One episode that was played to its end.

    `best` is the total of a play without a wasted turn, `chance` that of a blind guess
    (`Task.forced_chance`).
    """

    key: EpisodeKey
    success: bool
    total: float
    turns: int
    reason: str
    best: float
    chance: Fraction


def play(
    market: Market, key: EpisodeKey, agent: Agent, encode: Callable[[Mapping[str, Any]], Any] = dict
) -> Played:
    """Plays an episode to its end.

    Args:
        market: Release, facts and pools.
        key: Which episode.
        agent: A fresh agent.
        encode: What is done to the agent's turn before it is played; as it is by default.
    """
    return finish(Episode(market, key), agent, encode)


def finish(episode: Episode, agent: Agent, encode: Callable[[Mapping[str, Any]], Any] = dict) -> Played:
    """Plays the rest of an episode."""
    while not episode.done:
        episode.step(encode(agent.act(episode.sight())))
    reward, task = episode.reward, episode.task
    assert reward is not None  # noqa: S101 - it is set together with `done`
    charged = Turns(task.least_charged, task.turn_budget)
    return Played(
        key=episode.key,
        success=reward.success,
        total=reward.total,
        turns=reward.turns,
        reason=str(episode.reason),
        best=compose(task.best_score, efficiency(charged), 0),
        chance=task.forced_chance(),
    )
