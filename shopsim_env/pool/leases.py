"""`LeasePool`: what the holder of a lease may do. How a lease is given and taken back is in `reception`.

Belongs here: fencing, one action at a time, repeated requests. For one thread: a server runs it inside one
event loop, a trainer calls it directly. Source: contract 7.12.
"""

from shopsim_env.errors import EpisodeError, PoolError, SearchIndexError, UsageError
from shopsim_env.pool.lease import Entry, Lease, start_again, trace_of
from shopsim_env.pool.reception import Reception
from shopsim_env.pool.slots import crashed_step
from shopsim_env.shop.env import FORCED_ENDS, Step
from shopsim_env.trace import TraceRecord, encode_action


class LeasePool(Reception):
    """Leases over a fixed number of slots.

    A lease belongs to whoever knows its id and its current fencing number, until it is released or not used
    for `ttl_s` seconds, also after the end of its episode. Every call either succeeds whole or raises and
    changes nothing.

    Args:
        release: The release that all episodes play.
        slots: Number of episodes at once.
        ttl_s: Seconds without use after which a lease is gone.
        max_waiting: Requests that may wait for a slot.
        clock: Seconds that only go up; nothing of it gets into an episode.
        prefix: Start of every lease id, such as the name of one server among several.
        journal: Where everything is written down that a restarted pool needs; what it holds is resumed.
        env_class: What plays the episodes; a server takes one whose steps carry bytes.

    Raises:
        UsageError: a number out of range.
        JournalError: the journal belongs to another release, or cannot be read.
    """

    def step(self, lease_id: str, action: object, *, fence: int, request_id: str | None = None) -> Step:
        """Plays one action.

        A `request_id` that this lease has seen gives its first answer again and plays nothing. When the
        release cannot be read the step is not valid, and the same request may come again.

        Raises:
            PoolError: the lease is gone (`lease_lost`), taken over (`stale_fence`) or in use (`busy`).
            EpisodeError: the episode has ended (`ended`).
            TraceError: an action that JSON cannot hold exactly.
        """
        lease = self._held(lease_id, fence)
        return self._answer(lease, Entry(encode_action(action), None, request_id))

    def terminate(self, lease_id: str, reason: str, *, fence: int, request_id: str | None = None) -> Step:
        """Ends the episode from outside; the lease stays. `reason` as for `ShopEnv.terminate`.

        Raises:
            PoolError, EpisodeError: as `step`.
            UsageError: another reason.
        """
        lease = self._held(lease_id, fence)
        if reason not in FORCED_ENDS:
            raise UsageError(f"reason: expected one of {list(FORCED_ENDS)}, found {reason!r}")
        return self._answer(lease, Entry(None, reason, request_id))

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

    def trace(self, lease_id: str) -> TraceRecord:
        """The trace of the episode so far.

        Raises:
            PoolError: `lease_lost`.
        """
        return trace_of(self.release, self._held(lease_id, None))

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

    def _answer(self, lease: Lease, entry: Entry) -> Step:
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
        if step.valid:
            lease.add(entry, step)
            self.counters.steps += 1
            self.counters.ended += step.done
            if self._journal is not None:
                self._journal.played(lease, entry)
        else:
            self.counters.invalid_steps += 1
        return step

    def _play(self, lease: Lease, entry: Entry) -> Step:
        lease.busy = True
        try:
            return entry.play(lease.env)
        except SearchIndexError as error:
            return crashed_step(error)
        finally:
            lease.busy = False

    def _earlier(self, lease: Lease, number: int) -> Step:
        """The answer to the entry of that number (from 1); all but the latest are played again."""
        if lease.last is not None and number == len(lease.entries):
            return lease.last
        env = start_again(self.release, lease).env
        return [entry.play(env) for entry in lease.entries[:number]][-1]
