"""`Market`: what all RLVE episodes over one release share.

Belongs here: the open release, its world facts and the pools that goals are drawn from. Nothing of an episode.
"""

from dataclasses import dataclass

from shopsim_env.release.opening import Release
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.facts import World

DEFAULT_CURRENCY = "CNY"


@dataclass(frozen=True, slots=True)
class Market:
    """A release with its facts and pools. Threads may share one; closing it leaves the release open."""

    release: Release
    world: World
    pools: Pools
    currency: str = DEFAULT_CURRENCY

    @classmethod
    def of(cls, release: Release) -> "Market":
        """The market of an open release, whole or a public copy.

        Raises:
            UsageError: no category that goals can be drawn from (code `no_pool`).
        """
        world = World.of(release)
        return cls(release, world, Pools(world))

    def close(self) -> None:
        """Closes the facts; the release stays open."""
        self.world.close()

    def __enter__(self) -> "Market":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
