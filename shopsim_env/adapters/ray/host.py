"""What runs in an actor of a pool: a release and an `EnvPool` over it. No Ray here.

Belongs here: opening the release once and only if it is the driver's.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shopsim_env.errors import ReleaseError
from shopsim_env.pool.slots import EnvPool
from shopsim_env.release import load_release


class PoolHost:
    """An `EnvPool`, opened by the first call, so that a refusal reaches the driver as it is.

    Args:
        path: Folder of the release on the actor's node.
        release_id: What it must be.
        slots: As for `EnvPool`.
        options: As for `EnvPool`.
    """

    def __init__(self, path: str, release_id: str, slots: int, options: Mapping[str, Any]) -> None:
        self._path, self._release_id = path, release_id
        self._slots, self._options = slots, options
        self._pool: EnvPool | None = None

    def call(self, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Calls a method of the pool.

        Raises:
            ReleaseError: no release at the path, or another one than the driver's (`release_mismatch`).
            ShopSimError: as the method.
        """
        return getattr(self._opened(), name)(*arguments, **keywords)

    def process(self) -> dict[str, int]:
        """Process id and the most memory that it has had, in bytes; 0 where the system does not say."""
        self._opened()
        return {"pid": os.getpid(), "peak_bytes": _peak_bytes()}

    def _opened(self) -> EnvPool:
        if self._pool is None:
            release = load_release(self._path)
            try:
                self._check(release.id)
                self._pool = EnvPool(release, self._slots, **self._options)
            except BaseException:
                release.close()
                raise
        return self._pool

    def _check(self, found: str) -> None:
        if found != self._release_id:
            raise ReleaseError(
                f"{self._path}: expected release {self._release_id}, as the driver has, found {found}; copy "
                "the driver's release to this node, or put it where all nodes see it",
                code="release_mismatch",
            )


def _peak_bytes() -> int:
    with suppress(ImportError):  # Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0
