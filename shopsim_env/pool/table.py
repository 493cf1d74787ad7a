"""The table of live leases: slots, numbers, times. Decides nothing.

Belongs here: which slot is free, which lease was used last, fencing numbers and group ids that only go up.
"""

import secrets
from bisect import insort
from collections.abc import Iterator
from operator import neg

from shopsim_env.pool.lease import Lease, Request, Started

_ID_BYTES = 24


class LeaseTable:
    """Live leases by id, in the order of last use: those that expire first stand in front."""

    def __init__(self, slots: int, prefix: str) -> None:
        self.slots = slots
        self.leases: dict[str, Lease] = {}
        self.fence = 0
        self.groups = 0
        self._prefix = prefix
        # Lowest number first: equal calls take equal slots.
        self._free = list(range(slots - 1, -1, -1))

    @property
    def free(self) -> int:
        """Number of slots without a lease."""
        return len(self._free)

    def take(
        self, started: list[Started], request: Request, deadline: float, *, group: bool
    ) -> tuple[Lease, ...]:
        """Makes a lease of each start; the caller has seen that there is room."""
        group_id = self._group_id(started[0]) if group else None
        asked = request.digest(len(started), group=group)
        leases = tuple(self._lease(item, request, deadline, asked, group_id) for item in started)
        for lease in leases:
            self.leases[lease.id] = lease
        return leases

    def restore(self, lease: Lease) -> bool:
        """Puts a lease of an earlier process back into its slot; False when the slot is not free."""
        if lease.slot not in self._free:
            return False
        self._free.remove(lease.slot)
        self.leases[lease.id] = lease
        return True

    def next_fence(self) -> int:
        """A fencing number above every other."""
        self.fence += 1
        return self.fence

    def touch(self, lease: Lease, deadline: float) -> None:
        """Renews a lease."""
        del self.leases[lease.id]
        self.leases[lease.id] = lease
        lease.deadline = deadline

    def drop(self, lease: Lease) -> None:
        """Frees the slot."""
        del self.leases[lease.id]
        # Downwards, as `_free` is kept.
        insort(self._free, lease.slot, key=neg)

    def expired(self, now: float) -> Iterator[Lease]:
        """Leases whose time is over; each must be dropped before the next is asked for."""
        while (oldest := next(iter(self.leases.values()), None)) is not None and oldest.deadline <= now:
            yield oldest

    def _group_id(self, started: Started) -> str:
        self.groups += 1
        return f"task-{started.start.task_id:06d}__group-{self.groups:06d}"

    def _lease(
        self, started: Started, request: Request, deadline: float, asked: str, group: str | None
    ) -> Lease:
        return Lease(
            id=self._prefix + secrets.token_urlsafe(_ID_BYTES),
            fence=self.next_fence(),
            slot=self._free.pop(),
            start=started.start,
            env=started.env,
            seed=request.seed,
            request_id=request.request_id,
            asked=asked,
            note=request.note,
            group=group,
            deadline=deadline,
        )
