"""`EnvPool`: many episodes over one release in one process, stepped in batches.

Belongs here: slots, groups with identical starts, batched reset and step. A slot belongs to whoever got its
number until it is given back; leases that expire, fencing and waiting are in `leases`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.errors import EpisodeError, PoolError, SearchIndexError, TaskError, UsageError
from shopsim_env.shop.anchor import start_key
from shopsim_env.shop.env import FORCED_ENDS, Reset, ShopEnv, Step
from shopsim_env.shop.episode import ReleaseLike


@dataclass(frozen=True, slots=True)
class Started:
    """A slot and the start of the episode in it."""

    slot: int
    start: Reset


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes of one task that start identically. `anchor` hashes what they see at the start."""

    group_id: str
    task_id: int
    anchor: str
    members: tuple[Started, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots in order."""
        return tuple(member.slot for member in self.members)


class EnvPool:
    """A fixed number of slots, each with one `ShopEnv`. For one thread.

    Every call either succeeds whole or raises before any episode has changed. Group ids count up, so equal
    calls on a new pool give equal ids.

    Args:
        release: The release that all slots share.
        slots: Number of slots, at least 1.
        options: Keywords of `ShopEnv`.

    Raises:
        UsageError: no slots, or options that `ShopEnv` refuses.
    """

    def __init__(self, release: ReleaseLike, slots: int = 64, **options: Any) -> None:
        if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
            raise UsageError(f"slots: expected an integer of at least 1, found {slots!r}")
        self._release = release
        self._envs = [ShopEnv(release, **options) for _ in range(slots)]
        # Lowest number first: equal calls take equal slots.
        self._free = list(range(slots - 1, -1, -1))
        self._running: dict[int, bool] = {}
        self._groups = 0
        self._closed = False

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self._envs)

    @property
    def free_slots(self) -> int:
        """Number of slots that nobody has."""
        return len(self._free)

    def reset(self, task_ids: Sequence[int], *, seed: int | None = None) -> list[Started]:
        """Starts one episode per task, each in a free slot.

        Args:
            task_ids: Different tasks; several episodes of one task are a group.
            seed: Seed of every episode.

        Raises:
            TaskError: unknown or repeated task (codes `unknown_task`, `duplicate_task`).
            PoolError: fewer free slots than tasks (code `capacity`), or the pool is closed.
        """
        self._check_open()
        check_distinct(task_ids)
        return self._start(task_ids, seed)

    def reset_group(self, task_id: int, n: int, *, seed: int | None = None) -> Group:
        """Starts `n` episodes of one task with identical starts.

        Raises:
            TaskError: unknown task.
            UsageError: `n` below 1.
            PoolError: fewer than `n` free slots (code `capacity`), or the pool is closed.
        """
        self._check_open()
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UsageError(f"n: expected an integer of at least 1, found {n!r}")
        members = tuple(self._start([task_id] * n, seed))
        start = members[0].start
        self._groups += 1
        anchor = start_key(start.task_instruction, start.user_persona, start.observation_state)
        return Group(group_id(start.task_id, self._groups), start.task_id, anchor, members)

    def step(self, actions: Mapping[int, object]) -> dict[int, Step]:
        """Plays one action in each of the given slots, in the order of the mapping.

        A slot whose release cannot be read gets a step that is not valid (`env_crash`, reward None) and keeps
        its episode as it was; the others go on.

        Raises:
            PoolError: a slot that nobody has (code `not_owned`).
            EpisodeError: a slot whose episode has ended (code `ended`).
        """
        self._check_running(actions)
        steps = {}
        for slot, action in actions.items():
            step = self._step(slot, action)
            self._running[slot] = not step.done
            steps[slot] = step
        return steps

    def terminate(self, slots: Iterable[int], reason: str) -> dict[int, Step]:
        """Ends episodes from outside; `reason` as for `ShopEnv.terminate`.

        Raises:
            PoolError, EpisodeError: as for `step`.
            UsageError: another reason.
        """
        chosen = list(dict.fromkeys(slots))
        self._check_running(chosen)
        if reason not in FORCED_ENDS:
            raise UsageError(f"reason: expected one of {list(FORCED_ENDS)}, found {reason!r}")
        steps = {slot: self._envs[slot].terminate(reason) for slot in chosen}
        self._running.update(dict.fromkeys(chosen, False))
        return steps

    def tools(self, slot: int, dynamic: bool = True) -> list[dict[str, Any]]:
        """Tool schemas of a slot, as `ShopEnv.tools`."""
        self._check_owned([slot])
        return self._envs[slot].tools(dynamic)

    def give_back(self, slots: Iterable[int]) -> None:
        """Gives slots back, ended or not.

        Raises:
            PoolError: a slot that nobody has.
        """
        chosen = list(dict.fromkeys(slots))
        self._check_owned(chosen)
        for slot in chosen:
            del self._running[slot]
        self._free = sorted([*self._free, *chosen], reverse=True)

    def close(self) -> None:
        """Drops every episode. Closing twice is fine; the release stays open."""
        self._closed = True
        for env in self._envs:
            env.close()

    def __enter__(self) -> "EnvPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, task_ids: Sequence[int], seed: int | None) -> list[Started]:
        if len(task_ids) > len(self._free):
            raise no_room(len(task_ids), len(self._free), self.slots)
        taken = self._free[len(self._free) - len(task_ids) :][::-1]
        started = [
            Started(slot, self._envs[slot].reset(task_id, seed=seed))
            for slot, task_id in zip(taken, task_ids, strict=True)
        ]
        del self._free[len(self._free) - len(task_ids) :]
        self._running.update(dict.fromkeys(taken, True))
        return started

    def _step(self, slot: int, action: object) -> Step:
        try:
            return self._envs[slot].step(action)
        except SearchIndexError as error:
            return crashed_step(error)

    def _check_open(self) -> None:
        if self._closed:
            raise PoolError("the pool is closed; build a new one", code="closed")

    def _check_owned(self, slots: Iterable[int]) -> None:
        self._check_open()
        check_owned(slots, self._running)

    def _check_running(self, slots: Iterable[int]) -> None:
        self._check_open()
        check_running(slots, self._running)


def group_id(task_id: int, number: int) -> str:
    """The id of the pool's group of that number, from 1."""
    return f"task-{task_id:06d}__group-{number:06d}"


def check_distinct(task_ids: Sequence[int]) -> None:
    """Refuses a task that comes twice (TaskError, code `duplicate_task`)."""
    if len(set(task_ids)) != len(task_ids):
        raise TaskError(
            f"task ids: expected each once, found {list(task_ids)}; reset_group plays one task several times",
            code="duplicate_task",
        )


def check_owned(slots: Iterable[int], running: Mapping[int, bool]) -> None:
    """Refuses slots that nobody has (PoolError, code `not_owned`); `running` holds those handed out."""
    strange = [slot for slot in slots if slot not in running]
    if strange:
        raise PoolError(f"slots: expected slots that were handed out, found {strange}", code="not_owned")


def check_running(slots: Iterable[int], running: Mapping[int, bool]) -> None:
    """Refuses slots that nobody has, and slots whose episode has ended (EpisodeError, code `ended`)."""
    chosen = list(slots)
    check_owned(chosen, running)
    ended = [slot for slot in chosen if not running[slot]]
    if ended:
        raise EpisodeError(f"slots {ended}: the episode has ended; give the slot back", code="ended")


def no_room(wanted: int, free: int, slots: int) -> PoolError:
    """What is raised when too few slots are free (code `capacity`)."""
    return PoolError(
        f"expected {wanted} free slots, found {free} of {slots}; give slots back or build a larger pool",
        code="capacity",
    )


def crashed_step(error: SearchIndexError) -> Step:
    """The step of an episode whose release cannot be read."""
    return failed_step(error.code, "env_crash")


def failed_step(code: str, failure_kind: str) -> Step:
    """The step of an infrastructure failure: not valid, no reward, nothing counted.

    Args:
        code: Of the error, for `info`.
        failure_kind: Of the closed list of `Step`.
    """
    return Step(
        observation="",
        observation_state={},
        reward=None,
        terminated=False,
        truncated=False,
        done=False,
        termination_reason=None,
        action_feedback=None,
        reward_detail={},
        info={"error": code},
        valid=False,
        failure_kind=failure_kind,
    )
