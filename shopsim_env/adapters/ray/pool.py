"""`RayPool`: `EnvPool` over Ray actors, the same calls with the slots in several processes or machines.

Belongs here: which actor plays a task, whose slots are whose, and what becomes of the episodes of an actor
that dies. An episode is `EnvPool`'s own.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shopsim_env.adapters.ray.actors import Actor, Actors, Call, results
from shopsim_env.errors import PoolError, ServiceError, UsageError
from shopsim_env.pool.slots import (
    Group,
    Started,
    check_distinct,
    check_owned,
    check_running,
    failed_step,
    group_id,
    no_room,
)
from shopsim_env.release import Release, load_release
from shopsim_env.shop.env import Step


def home_of(task_id: int, actors: int) -> int:
    """The actor that plays a task as long as it has room, so that its caches know the task's products."""
    # Whatever is no task id is refused by the actor, as in every pool.
    return task_id % actors if isinstance(task_id, int) else 0


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the episode of a slot is: the actor, and the slot's number there."""

    actor: Actor
    inner: int


class RayPool:
    """`EnvPool` with its slots in several actors; actor `i` has the numbers from `i * slots` on.

    For one thread of one driver. Equal calls on a new pool give equal episodes, slots and group ids. A task
    goes to its home (`home_of`), or when that is full to the next actor with room; a group stays together.
    The actors of a batched call work at the same time.

    When an actor dies or does not answer, the episodes in it are lost: their steps are not valid (failure
    kind `env_crash` or `timeout`, reward None, `info["error"]` says `actor_lost` or `timeout`), now and
    whenever they are stepped again, until their slots are given back. The next reset that needs the actor
    starts a new one.

    Args:
        release: The driver's release, or its folder. Every actor opens that folder once, and is refused when
            what it finds there is another release.
        actors: Number of actors, at least 1.
        slots: Slots of each, at least 1.
        timeout_s: Seconds that a batched call, or starting the actors, may take; None waits for ever.
        actor_options: Options of Ray, such as `num_cpus` (default 1), `memory` or `scheduling_strategy`.
        options: Keywords of `ShopEnv`.

    Raises:
        UsageError: numbers out of range, options that `ShopEnv` refuses, Ray is not installed
            (`missing_extra`).
        ReleaseError: an actor has another release (`release_mismatch`) or none.
        ServiceError: no cluster (`unreachable`), or an actor that does not start (`actor_lost`, `timeout`).
    """

    def __init__(
        self,
        release: Release | str | Path | None = None,
        *,
        actors: int = 1,
        slots: int = 64,
        timeout_s: float | None = 300.0,
        actor_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        for name, value in (("actors", actors), ("slots", slots)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name}: expected an integer of at least 1, found {value!r}")
        if timeout_s is not None and not 0 < timeout_s < math.inf:
            raise UsageError(f"timeout_s: expected seconds above 0 or None, found {timeout_s!r}")
        host = (*_folder_and_id(release), slots, options)
        self._actors = Actors(actors, host, actor_options or {}, timeout_s)
        # Lowest number first, as in `EnvPool`.
        self._free = [list(range((at + 1) * slots - 1, at * slots - 1, -1)) for at in range(actors)]
        self._places: dict[int, _Place] = {}
        self._running: dict[int, bool] = {}
        self._per_actor, self._groups, self._closed = slots, 0, False
        self._actors.start(range(actors))

    @property
    def slots(self) -> int:
        """Number of slots of all actors."""
        return len(self._actors) * self._per_actor

    @property
    def free_slots(self) -> int:
        """Number of slots that nobody has."""
        return self.slots - len(self._places)

    def reset(self, task_ids: Sequence[int], *, seed: int | None = None) -> list[Started]:
        """As `EnvPool.reset`.

        Raises:
            TaskError, PoolError: as there.
            ServiceError: an actor failed (`actor_lost`, `timeout`); no slot was taken.
        """
        self._check_open()
        check_distinct(task_ids)
        positions: dict[int, list[int]] = {}
        for position, index in enumerate(self._placed(task_ids)):
            positions.setdefault(index, []).append(position)
        asked = {index: [task_ids[at] for at in places] for index, places in positions.items()}
        found = self._start({index: ("reset", (ids,), {"seed": seed}) for index, ids in asked.items()})
        started = {
            at: self._take(index, item)
            for index, places in positions.items()
            for at, item in zip(places, found[index], strict=True)
        }
        return [started[at] for at in range(len(task_ids))]

    def reset_group(self, task_id: int, n: int, *, seed: int | None = None) -> Group:
        """As `EnvPool.reset_group`; all members are in one actor.

        Raises:
            TaskError, UsageError, PoolError: as there.
            ServiceError: the actor failed (`actor_lost`, `timeout`); no slot was taken.
        """
        self._check_open()
        size = n if isinstance(n, int) and n > 0 else 1  # the actor refuses any other n
        index = self._roomy(task_id, size, {})
        group: Group = self._start({index: ("reset_group", (task_id, n), {"seed": seed})})[index]
        self._groups += 1
        members = tuple(self._take(index, member) for member in group.members)
        return replace(group, group_id=group_id(group.task_id, self._groups), members=members)

    def step(self, actions: Mapping[int, object]) -> dict[int, Step]:
        """As `EnvPool.step`; one call to each actor that plays one of the slots.

        Raises:
            PoolError, EpisodeError: as there.
        """
        return self._play(
            list(actions),
            lambda inner: ("step", ({number: actions[slot] for slot, number in inner.items()},), {}),
        )

    def terminate(self, slots: Iterable[int], reason: str) -> dict[int, Step]:
        """As `EnvPool.terminate`.

        Raises:
            PoolError, EpisodeError, UsageError: as there.
        """
        chosen = list(dict.fromkeys(slots))
        return self._play(chosen, lambda inner: ("terminate", (list(inner.values()), reason), {}))

    def tools(self, slot: int, dynamic: bool = True) -> list[dict[str, Any]]:
        """As `EnvPool.tools`.

        Raises:
            PoolError: as there.
            ServiceError: the actor is gone (`actor_lost`, `timeout`).
        """
        self._check_owned([slot])
        place = self._places[slot]
        if place.actor.lost:
            raise ServiceError("the actor of this slot is gone; give the slot back", code=place.actor.lost)
        index = self._index(slot)
        tools: list[dict[str, Any]] = results(
            self._actors.ask({index: ("tools", (place.inner, dynamic), {})})
        )[index]
        return tools

    def give_back(self, slots: Iterable[int]) -> None:
        """As `EnvPool.give_back`; slots whose actor is gone are free again too.

        Raises:
            PoolError: as there.
        """
        chosen = list(dict.fromkeys(slots))
        self._check_owned(chosen)
        inner: dict[int, list[int]] = {}
        for slot in chosen:
            index, place = self._index(slot), self._places.pop(slot)
            del self._running[slot]
            self._free[index] = sorted([*self._free[index], slot], reverse=True)
            if not place.actor.lost:
                inner.setdefault(index, []).append(place.inner)
        self._give_back(inner)

    def processes(self) -> list[dict[str, int]]:
        """Process id (`pid`) and most memory so far (`peak_bytes`) of every actor; missing ones are started.

        Raises:
            ServiceError: an actor is gone (`actor_lost`, `timeout`).
        """
        self._check_open()
        every = range(len(self._actors))
        self._actors.start(every)
        return self._actors.processes(every)

    def close(self) -> None:
        """Ends the actors and every episode in them. Closing twice is fine; the cluster goes on."""
        self._closed = True
        self._actors.close()

    def __enter__(self) -> "RayPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _index(self, slot: int) -> int:
        return slot // self._per_actor

    def _placed(self, task_ids: Sequence[int]) -> list[int]:
        """The actor of each task."""
        if len(task_ids) > self.free_slots:
            raise no_room(len(task_ids), self.free_slots, self.slots)
        planned: dict[int, int] = {}
        chosen = []
        for task_id in task_ids:
            index = self._roomy(task_id, 1, planned)
            planned[index] = planned.get(index, 0) + 1
            chosen.append(index)
        return chosen

    def _roomy(self, task_id: int, size: int, planned: Mapping[int, int]) -> int:
        """The first actor from the task's home on with room for `size` episodes beside the planned ones."""
        count = len(self._actors)
        home = home_of(task_id, count)
        for index in (at % count for at in range(home, home + count)):
            if len(self._free[index]) - planned.get(index, 0) >= size:
                return index
        raise no_room(size, max(map(len, self._free)), self._per_actor)

    def _start(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Starts episodes in several actors, in all or in none; the answers by actor."""
        self._actors.start(calls)
        found = self._actors.ask(calls)
        failed = [item for item in found.values() if isinstance(item, Exception)]
        if failed:
            started = {index: item for index, item in found.items() if not isinstance(item, Exception)}
            self._give_back({index: _slots(item) for index, item in started.items()})
            raise failed[0]
        return found

    def _take(self, index: int, started: Started) -> Started:
        """Hands out the lowest free number of an actor for an episode that it has started."""
        slot = self._free[index].pop()
        self._places[slot] = _Place(self._actors.at(index), started.slot)
        self._running[slot] = True
        return replace(started, slot=slot)

    def _play(self, slots: list[int], call: Callable[[dict[int, int]], Call]) -> dict[int, Step]:
        """One call to every actor that plays one of the slots; the steps in the order of the slots."""
        self._check_open()
        check_running(slots, self._running)
        inner: dict[int, dict[int, int]] = {}
        for slot in slots:
            if not self._places[slot].actor.lost:
                inner.setdefault(self._index(slot), {})[slot] = self._places[slot].inner
        found = self._actors.ask({index: call(numbers) for index, numbers in inner.items()})
        steps: dict[int, Step] = {}
        for index, numbers in inner.items():
            if not isinstance(found[index], ServiceError):
                steps.update(_steps(found[index], numbers))
        return {slot: self._noted(slot, steps.get(slot)) for slot in slots}

    def _noted(self, slot: int, step: Step | None) -> Step:
        """The step, or that of an episode whose actor is gone."""
        if step is None:
            lost = self._places[slot].actor.lost
            return failed_step(lost, "timeout" if lost == "timeout" else "env_crash")
        self._running[slot] = not step.done
        return step

    def _give_back(self, inner: Mapping[int, list[int]]) -> None:
        """Frees slots in actors that are alive; one that dies on the way has none any more."""
        found = self._actors.ask({index: ("give_back", (numbers,), {}) for index, numbers in inner.items()})
        results({index: item for index, item in found.items() if not isinstance(item, ServiceError)})

    def _check_open(self) -> None:
        if self._closed:
            raise PoolError("the pool is closed; build a new one", code="closed")

    def _check_owned(self, slots: Iterable[int]) -> None:
        self._check_open()
        check_owned(slots, self._running)


def _slots(started: Group | list[Started]) -> list[int]:
    return [one.slot for one in (started.members if isinstance(started, Group) else started)]


def _steps(answer: Any, numbers: Mapping[int, int]) -> dict[int, Step]:
    """The steps of one actor by our slots; what the pool in it raised is raised here."""
    if isinstance(answer, Exception):
        raise answer
    return {slot: answer[number] for slot, number in numbers.items()}


def _folder_and_id(release: Release | str | Path | None) -> tuple[str, str]:
    if isinstance(release, Release):
        return str(release.path.resolve()), release.id
    with load_release(release) as opened:
        return str(opened.path.resolve()), opened.id
