"""`LeasePool`: leases over episodes of the Shop.

Belongs here: what an action is, how it is played and traced. The rules of leases are in `reception` and
`holding`.
"""

from typing import Any

from shopsim_env.errors import SearchIndexError, UsageError
from shopsim_env.pool.holding import Holding
from shopsim_env.pool.lease import Entry, Lease, Started, start_again, start_episode, trace_of
from shopsim_env.pool.slots import crashed_step
from shopsim_env.recording import IdentifiedRelease
from shopsim_env.shop.env import FORCED_ENDS, ShopEnv, Step
from shopsim_env.trace import TraceRecord, encode_action


class LeasePool(Holding):
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

    def __init__(
        self,
        release: IdentifiedRelease,
        slots: int = 64,
        *,
        env_class: type[ShopEnv] = ShopEnv,
        **rules: Any,
    ) -> None:
        self._env_class = env_class
        super().__init__(release, slots, **rules)

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
        step: Step = self._answer(lease, Entry(encode_action(action), None, request_id))
        return step

    def terminate(self, lease_id: str, reason: str, *, fence: int, request_id: str | None = None) -> Step:
        """Ends the episode from outside; the lease stays. `reason` as for `ShopEnv.terminate`.

        Raises:
            PoolError, EpisodeError: as `step`.
            UsageError: another reason.
        """
        lease = self._held(lease_id, fence)
        if reason not in FORCED_ENDS:
            raise UsageError(f"reason: expected one of {list(FORCED_ENDS)}, found {reason!r}")
        step: Step = self._answer(lease, Entry(None, reason, request_id))
        return step

    def trace(self, lease_id: str) -> TraceRecord:
        """The trace of the episode so far.

        Raises:
            PoolError: `lease_lost`.
        """
        return trace_of(self.release, self._held(lease_id, None))

    def _start(self, request: Any) -> Started:
        return start_episode(self.release, request, self._env_class)

    def _again(self, lease: Lease) -> ShopEnv:
        env: ShopEnv = start_again(self.release, lease).env
        return env

    def _done(self, lease: Lease, entry: Entry) -> Any:
        try:
            return super()._done(lease, entry)
        except SearchIndexError as error:
            return crashed_step(error)

    def _counts(self, step: Any) -> bool:
        return bool(step.valid)
