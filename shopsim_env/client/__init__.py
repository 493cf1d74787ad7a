"""Clients of a shopping server: `Client`, `AsyncClient`, and `LocalClient`, which plays in this process.

Belongs here: asking, repeating, reading answers. What an episode does is in `shop`, who owns it in `pool`.
The clients over HTTP need httpx (`pip install 'shopsim[client]'`), which is imported when one is made.
"""

from shopsim_env.client.async_episodes import AsyncEpisode, AsyncGroup, AsyncRlveEpisode
from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.client.blocking import Client
from shopsim_env.client.episodes import Episode, RlveEpisode
from shopsim_env.client.facts import Health, ReleaseFacts, RlveFacts, RlveOpening, TaskPage, TaskRow
from shopsim_env.client.local import LocalClient
from shopsim_env.client.local_episodes import LocalEpisode, LocalRlveEpisode
from shopsim_env.client.retrying import Retries
from shopsim_env.client.view import EpisodeGroup

__all__ = [
    "AsyncClient",
    "AsyncEpisode",
    "AsyncGroup",
    "AsyncRlveEpisode",
    "Client",
    "Episode",
    "EpisodeGroup",
    "Health",
    "LocalClient",
    "LocalEpisode",
    "LocalRlveEpisode",
    "ReleaseFacts",
    "Retries",
    "RlveEpisode",
    "RlveFacts",
    "RlveOpening",
    "TaskPage",
    "TaskRow",
]
