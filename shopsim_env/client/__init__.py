"""Clients of a shopping server: `Client`, `AsyncClient`, and `LocalClient`, which plays in this process.

Belongs here: asking, repeating, reading answers. What an episode does is in `shop`, who owns it in `pool`.
The clients over HTTP need httpx (`pip install 'shopsim[client]'`), which is imported when one is made.
"""

from shopsim_env.client.asynchronous import AsyncClient, AsyncEpisode, AsyncGroup
from shopsim_env.client.blocking import Client, Episode
from shopsim_env.client.facts import Health, ReleaseFacts, TaskPage, TaskRow
from shopsim_env.client.local import LocalClient, LocalEpisode
from shopsim_env.client.retrying import Retries
from shopsim_env.client.view import EpisodeGroup

__all__ = [
    "AsyncClient",
    "AsyncEpisode",
    "AsyncGroup",
    "Client",
    "Episode",
    "EpisodeGroup",
    "Health",
    "LocalClient",
    "LocalEpisode",
    "ReleaseFacts",
    "Retries",
    "TaskPage",
    "TaskRow",
]
