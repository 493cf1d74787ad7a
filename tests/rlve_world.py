"""The sample release as RLVE episodes see it, for tests: one market, agents that follow a plan."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shopsim_env import load_release
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market

IDLE = {"assistant_message": "好的。"}
DONE = {"assistant_message": "好了。", "answer": {"done": True}}
ENVIRONMENTS = ("PD", "SUB", "CART", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY")


@contextmanager
def sample_market() -> Iterator[Market]:
    """The market of the shipped sample."""
    with load_release() as release, Market.of(release) as market:
        yield market


def find_seed(market: Market, env_id: str, d: int, holds: Callable[[Episode], bool]) -> Episode:
    """The first episode of a level for which something holds."""
    for seed in range(200):
        episode = Episode(market, EpisodeKey(env_id, d, seed))
        if holds(episode):
            return episode
    raise AssertionError(f"no such episode of {env_id} at d={d}")


def played(episode: Episode, agent: Any) -> Episode:
    """The episode after an agent played it to its end."""
    while not episode.done:
        episode.step(agent.act(episode.sight()))
    return episode
