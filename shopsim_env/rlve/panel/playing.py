"""Plays one episode with one agent, and says what came of it.

Belongs here: the loop between an agent and an episode, and the best total that any play can reach.
"""

from collections import Counter
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
    (`Task.forced_chance`), `unsaid` what agents were told as a value and the customer's words did not say.
    """

    key: EpisodeKey
    success: bool
    total: float
    turns: int
    reason: str
    best: float
    chance: Fraction
    unsaid: tuple[str, ...] = ()


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
    unsaid = dict.fromkeys(left_unsaid(episode))
    while not episode.done:
        episode.step(encode(agent.act(episode.sight())))
        unsaid.update(dict.fromkeys(left_unsaid(episode)))
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
        unsaid=tuple(unsaid),
    )


def left_unsaid(episode: Episode) -> list[str]:
    """Told needs whose words, and the request if its words, are in no message of the customer so far.

    Phrases of needs are said as they are. Typing errors touch a request but for the texts that it keeps: it
    counts as said when half of its letters are there.
    """
    messages = [line["content"] for line in episode.observation()["conversation"] if line["role"] == "user"]
    words = "\n".join(messages)
    ledger, brief = episode.customer.ledger, episode.task.brief
    told = [fact for fact in ledger.facts if fact.id in ledger.disclosed]
    unsaid = [fact.id for fact in told if fact.value not in words]
    there = Counter(brief.request) & Counter(messages[0])
    kept = all(text in messages[0] for text in brief.keep)
    return unsaid if kept and 2 * there.total() >= len(brief.request) else ["request", *unsaid]
