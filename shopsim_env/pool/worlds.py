"""How the leases of one world are written into an action log and read back.

Belongs here: what a world has to say, and what the Shop says. RLVE's is beside its leases. The log itself is
in `journal`, its meaning in `resuming`.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from shopsim_env.pool.lease import Entry, EpisodeRequest, Lease, Request
from shopsim_env.versions import ENVIRONMENT_VERSION


class World(Protocol):
    """One world. Another `version` plays the same actions to other pages, so its log is refused."""

    @property
    def version(self) -> str:
        """Version of what plays the episodes."""

    def opening(self, lease: Lease) -> dict[str, Any]:
        """What an opening line holds besides what every lease has; values of JSON."""

    def request(self, opened: Mapping[str, Any]) -> Request:
        """The request that an opening line stands for."""

    def entry(self, event: Mapping[str, Any]) -> Entry:
        """What a line of something played stands for."""


class ShopWorld:
    """Episodes of the Shop."""

    version = ENVIRONMENT_VERSION

    def opening(self, lease: Lease) -> dict[str, Any]:
        """Task and keywords of `ShopEnv`."""
        return {"task": lease.start.task_id, "options": lease.env.options}

    def request(self, opened: Mapping[str, Any]) -> EpisodeRequest:
        """Task, seed and options."""
        return EpisodeRequest(task_id=opened["task"], seed=opened["seed"], options=opened["options"])

    def entry(self, event: Mapping[str, Any]) -> Entry:
        """An action or a forced end."""
        return Entry(event.get("action"), event.get("end"), event["request"])


SHOP: Final = ShopWorld()
