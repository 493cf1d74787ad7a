"""`Market`: what all RLVE episodes over one release share.

Belongs here: the open release, its world facts, the pools that goals are drawn from, product cards. Nothing
of an episode.
"""

from dataclasses import dataclass

from shopsim_env.release.opening import Release
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Market:
    """A release with its facts, pools and product cards. Threads may share one; the release stays open.

    `currency` is the ISO code of all prices.
    """

    release: Release
    world: World
    pools: Pools
    shelf: Shelf
    currency: str

    @classmethod
    def of(cls, release: Release) -> "Market":
        """The market of an open release, whole or a public copy.

        Raises:
            UsageError: no category that goals can be drawn from (code `no_pool`).
        """
        world = World.of(release)
        pools = Pools(world)
        return cls(release, world, pools, Shelf(release, world, pools), release.currency)

    def close(self) -> None:
        """Closes the facts; the release stays open."""
        self.world.close()

    def __enter__(self) -> "Market":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
