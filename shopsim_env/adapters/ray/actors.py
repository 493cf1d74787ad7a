"""The actors of a pool: started together, asked together, given up when they fail.

Belongs here: which actor is alive and whose answers count. What they are asked is the pool's affair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.adapters.ray.cluster import answers, start_actor, stop_actor
from shopsim_env.adapters.ray.host import PoolHost
from shopsim_env.errors import ServiceError

# A restarted actor would know nothing of its episodes: the pool starts a new one instead.
_OPTIONS: Final = {"max_restarts": 0}

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Method of `EnvPool`, its arguments, its keywords."""


@dataclass(slots=True, eq=False)
class Actor:
    """One actor; `lost` is the code of the error that it was given up with."""

    handle: Any
    lost: str = ""


class Actors:
    """A fixed number of places, each with an actor or, after a failure, without.

    Args:
        count: Number of places.
        host: Arguments of `PoolHost`.
        options: Options of Ray.
        timeout_s: Seconds for all answers to one `ask`, and for starting.
    """

    def __init__(
        self, count: int, host: tuple[Any, ...], options: Mapping[str, Any], timeout_s: float | None
    ) -> None:
        self._host, self._timeout_s = host, timeout_s
        self._options = {**_OPTIONS, **options}
        self._places: list[Actor | None] = [None] * count

    def __len__(self) -> int:
        return len(self._places)

    def at(self, index: int) -> Actor:
        """The actor of a place that `start` has just filled, or whose episodes are not lost."""
        actor = self._places[index]
        if actor is None:
            raise ServiceError(f"expected an actor at place {index}, found none", code="actor_lost")
        return actor

    def start(self, indices: Iterable[int]) -> None:
        """Starts the actors that are missing and waits until each has opened its release.

        Raises:
            ReleaseError, UsageError: as `PoolHost` and `EnvPool`.
            ServiceError: one does not start (`actor_lost`, `timeout`).
        """
        missing = [index for index in indices if self._places[index] is None]
        for index in missing:
            self._places[index] = Actor(start_actor(PoolHost, self._host, self._options))
        try:
            self.processes(missing)
        except Exception:
            for index in missing:
                self._give_up(index, "actor_lost")
            raise

    def processes(self, indices: Iterable[int]) -> list[dict[str, int]]:
        """See `PoolHost.process`; the first exception is raised."""
        found = self._gather({index: self.at(index).handle.process.remote() for index in indices})
        return list(results(found).values())

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Makes one call to each of several actors, all at once; answers or exceptions by place.

        An actor that is gone or late is given up; its exception is a ServiceError.
        """
        return self._gather(
            {index: self.at(index).handle.call.remote(*call) for index, call in calls.items()}
        )

    def close(self) -> None:
        """Ends all actors."""
        for index in range(len(self._places)):
            self._give_up(index, "closed")

    def _gather(self, refs: Mapping[int, Any]) -> dict[int, Any]:
        found = answers(refs, self._timeout_s)
        for index, result in found.items():
            if isinstance(result, ServiceError):
                self._give_up(index, result.code)
        return found

    def _give_up(self, index: int, code: str) -> None:
        """Ends an actor whose state is unknown: a late answer must not change anything."""
        actor, self._places[index] = self._places[index], None
        if actor is not None:
            actor.lost = code
            stop_actor(actor.handle)


def results(found: Mapping[int, Any]) -> Mapping[int, Any]:
    """The answers, if all are; else the first exception is raised."""
    for result in found.values():
        if isinstance(result, Exception):
            raise result
    return found
