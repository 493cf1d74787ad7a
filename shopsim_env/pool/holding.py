"""What the holder of a lease may do, whatever the lease is over: the other half of the rules of leases.

Belongs here: fencing, one action at a time, repeated requests. How a lease is given and taken back is in
`reception`; what an action is and how it is played, in the pools of the worlds (`leases`, and that of RLVE).
For one thread: a server runs it inside one event loop, a trainer calls it directly. Source: contract 7.12.
"""

from abc import abstractmethod
from typing import Any

from shopsim_env.errors import EpisodeError, PoolError
from shopsim_env.pool.lease import Entry, Lease
from shopsim_env.pool.reception import Reception


class Holding(Reception):
    """Leases in use. A pool adds its actions."""

    def use(self, lease_id: str, fence: int | None = None) -> Lease:
        """The lease, good for another `ttl_s` from now: a look, or a heartbeat.

        Raises:
            PoolError: `lease_lost`; `stale_fence` when a fencing number is given that is not the current one.
        """
        return self._held(lease_id, fence)

    def peek(self, lease_id: str) -> Lease:
        """The lease of a call that has just been answered, not renewed; KeyError when it is gone."""
        return self._table.leases[lease_id]

    def take_over(self, lease_id: str) -> Lease:
        """The lease with a new fencing number: whoever used the old one is refused from now on.

        Raises:
            PoolError: `lease_lost`.
        """
        lease = self._held(lease_id, None)
        lease.fence = self._table.next_fence()
        if self._journal is not None:
            self._journal.fenced(lease)
        return lease

    def give_back(self, lease_id: str, fence: int | None = None) -> bool:
        """Releases the lease; False when it is gone already, so that a repetition does no harm.

        Raises:
            PoolError: `stale_fence` when a fencing number is given that is not the current one.
        """
        self.sweep()
        lease = self._table.leases.get(lease_id)
        if lease is None:
            return False
        self._check_fence(lease, fence)
        self._drop(lease)
        self.counters.released += 1
        self._serve()
        return True

    def give_back_all(self) -> int:
        """Releases every lease; their number. Those who wait are served."""
        leases = list(self._table.leases.values())
        for lease in leases:
            self._drop(lease)
        self.counters.released += len(leases)
        self._serve()
        return len(leases)

    def _held(self, lease_id: str, fence: int | None) -> Lease:
        """The lease, renewed."""
        now = self._clock()
        lease = self._table.leases.get(lease_id)
        if lease is None or lease.deadline <= now:
            self.counters.stale += 1
            raise PoolError(
                f"the lease is not live: never given, released, or not used for {self.ttl_s:g} seconds; "
                "start a new episode",
                code="lease_lost",
            )
        self._check_fence(lease, fence)
        self._table.touch(lease, now + self.ttl_s)
        return lease

    def _check_fence(self, lease: Lease, fence: int | None) -> None:
        if fence is not None and fence != lease.fence:
            self.counters.stale += 1
            message = f"fence: expected the current number of the lease, found {fence}; it was taken over"
            raise PoolError(message, code="stale_fence")

    def _answer(self, lease: Lease, entry: Entry) -> Any:
        """Does the entry, or gives the answer of the one with the same request id."""
        if lease.busy:
            raise PoolError("another action of this lease is being played; wait for its answer", code="busy")
        number = None if entry.request_id is None else lease.answered.get(entry.request_id)
        if number is not None:
            self.counters.repeated += 1
            return self._earlier(lease, number)
        if lease.done:
            raise EpisodeError("the episode has ended; release the lease", code="ended")
        if self._journal is not None:
            self._journal.check()
        step = self._play(lease, entry)
        if self._counts(step):
            lease.add(entry, step)
            self.counters.steps += 1
            self.counters.ended += step.done
            if self._journal is not None:
                self._journal.played(lease, entry)
        else:
            self.counters.invalid_steps += 1
        return step

    def _play(self, lease: Lease, entry: Entry) -> Any:
        lease.busy = True
        try:
            return self._done(lease, entry)
        finally:
            lease.busy = False

    def _earlier(self, lease: Lease, number: int) -> Any:
        """The answer to the entry of that number (from 1); all but the latest are played again."""
        if lease.last is not None and number == len(lease.entries):
            return lease.last
        env = self._again(lease)
        return [entry.play(env) for entry in lease.entries[:number]][-1]

    def _done(self, lease: Lease, entry: Entry) -> Any:
        """The step that came of an entry."""
        return entry.play(lease.env)

    def _counts(self, step: Any) -> bool:  # noqa: ARG002
        """Whether a step was played; False when the infrastructure failed and nothing has changed."""
        return True

    @abstractmethod
    def _again(self, lease: Lease) -> Any:
        """What plays the lease's episode, from its start."""
