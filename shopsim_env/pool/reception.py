"""How an episode gets a slot and how the slot gets free again: one half of the rules of leases.

Belongs here: requests, the line, expiry, repeated requests for an episode, counters. No web, no thread, no
clock of its own.
"""

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shopsim_env.errors import JournalError, PoolError, UsageError
from shopsim_env.pool.journal import Journal
from shopsim_env.pool.lease import Lease, Request, Started
from shopsim_env.pool.resuming import resume
from shopsim_env.pool.table import LeaseTable
from shopsim_env.pool.waiting import Notify, Ticket, WaitingLine
from shopsim_env.pool.worlds import SHOP, World
from shopsim_env.recording import IdentifiedRelease

PREFIX = "[A-Za-z0-9_.-]{0,32}"
"""What lease ids may begin with: it stands in paths."""


@dataclass(slots=True)
class Counters:
    """What has happened since the pool was made.

    `invalid_steps` failed for the infrastructure (refused actions of a model are ordinary steps), `expired`
    leases were left by their holders, `turned_away` requests found the line full, `stale` calls came with a
    lease that is gone or an old fencing number.
    """

    opened: int = 0
    steps: int = 0
    invalid_steps: int = 0
    repeated: int = 0
    ended: int = 0
    released: int = 0
    expired: int = 0
    resumed: int = 0
    timed_out: int = 0
    turned_away: int = 0
    stale: int = 0


class Reception(ABC):
    """Slots, the line and the leases in them; the arguments are those of `LeasePool`.

    `world` is how its leases are written into a journal.
    """

    world: World = SHOP

    def __init__(
        self,
        release: IdentifiedRelease,
        slots: int = 64,
        *,
        ttl_s: float = 900.0,
        max_waiting: int = 1_024,
        clock: Callable[[], float] = time.monotonic,
        prefix: str = "",
        journal: Journal | None = None,
    ) -> None:
        if not 0 < ttl_s < math.inf:
            raise UsageError(f"ttl_s: expected seconds above 0, found {ttl_s!r}")
        if not re.fullmatch(PREFIX, prefix, re.ASCII):
            raise UsageError(f"prefix: expected text that matches {PREFIX}, found {prefix!r}")
        self.release = release
        self.ttl_s = ttl_s
        self.counters = Counters()
        self._clock = clock
        self._table = LeaseTable(_whole("slots", slots, 1), prefix)
        self._line = WaitingLine(_whole("max_waiting", max_waiting, 0))
        self._by_request: dict[str, tuple[Lease, ...] | Ticket] = {}
        self._journal = journal
        self._stopped: tuple[str, str] | None = None
        if journal is not None:
            self._resume(journal)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self._table.slots

    @property
    def free_slots(self) -> int:
        """Number of slots without a lease."""
        return self._table.free

    @property
    def has_room(self) -> bool:
        """Whether a request for one episode is settled at once: a slot is free and nobody waits for it."""
        return self._table.free > 0 and not len(self._line)

    @property
    def waiting(self) -> int:
        """Number of requests in the line."""
        return len(self._line)

    @property
    def running(self) -> int:
        """Number of leases whose episode has not ended."""
        return sum(not lease.done for lease in self._table.leases.values())

    def open(self, request: Request) -> Lease:
        """Starts an episode in a free slot, without waiting.

        Raises:
            UsageError, TaskError: what was asked for cannot be played; no slot was touched.
            PoolError: no free slot, or others wait (`capacity`); the pool stops.
        """
        return self.ask(request).result()[0]

    def open_group(self, request: Request, n: int) -> tuple[Lease, ...]:
        """Starts `n` episodes of one task with identical starts; `Lease.group` names the group.

        Raises:
            As `open`; UsageError for a group larger than the pool (`group_too_large`).
        """
        return self.ask(request, n=n, group=True).result()

    def ask(
        self,
        request: Request,
        wait_s: float = 0.0,
        *,
        n: int = 1,
        group: bool = False,
        notify: Notify | None = None,
    ) -> Ticket:
        """Asks for one episode, or a group of `n`; the ticket is settled now or within `wait_s` seconds.

        First come, first served: a large group at the head of the line is not overtaken. `notify` is called
        when the ticket is settled later than now. A repeated `request_id` gives the leases that it opened, or
        takes over the place in the line, whose former holder is told (`superseded`).

        Raises:
            UsageError, TaskError: what was asked for cannot be played.
            PoolError: the `request_id` came with another request (`request_id_reused`), the line is full
                (`queue_full`), the pool stops.
        """
        self._check_open()
        self.sweep()
        if _whole("n", n, 1) > self.slots:
            raise UsageError(f"n: expected at most {self.slots} slots, found {n}", code="group_too_large")
        known = None if request.request_id is None else self._by_request.get(request.request_id)
        started = [] if known is not None else [self._start(request) for _ in range(n)]
        ticket = Ticket(request, started, group, self._clock() + wait_s)
        if known is not None:
            self._check_same(request.digest(n, group=group), known)
            self._repeat(ticket, known)
        elif self._line.first is None and self.free_slots >= n:
            self._grant(ticket)
        elif wait_s > 0:
            self._join(ticket)
        else:
            ticket.settle(error=self._no_room(n))
        if not ticket.settled:
            ticket.notify = notify
        return ticket

    def give_up(self, ticket: Ticket) -> None:
        """Takes a ticket out of the line, because nobody waits for it any more."""
        self._leave(ticket)
        self._serve()

    def sweep(self) -> None:
        """Drops leases whose time is over, serves the line, refuses tickets whose time is over.

        Requests do this by themselves; a server calls it now and then, so that nobody waits for a request.
        """
        now = self._clock()
        for lease in self._table.expired(now):
            self._drop(lease)
            self.counters.expired += 1
        if not len(self._line):
            return
        self._serve()
        for ticket in self._line:
            if ticket.deadline <= now:
                self._leave(ticket)
                self.counters.timed_out += 1
                ticket.settle(error=self._no_room(len(ticket.started)))
        self._serve()

    def stop(self, code: str = "stopping", message: str = "the server stops; ask again in a while") -> None:
        """Takes no more requests for episodes and tells those who wait. Live leases go on."""
        self._stopped = (code, message)
        for ticket in self._line:
            self._leave(ticket)
            ticket.settle(error=PoolError(message, code=code))

    def close(self) -> None:
        """Forgets every lease; a journal keeps them. Closing twice is fine; the release stays open."""
        self.stop("closed", "the pool is closed; build a new one")
        self._table.leases.clear()
        self._by_request.clear()
        if self._journal is not None:
            self._journal.close()

    @abstractmethod
    def _start(self, request: Any) -> Started:
        """Starts the episode that is asked for; everything that a request may have wrong is refused here."""

    def _check_open(self) -> None:
        if self._stopped is not None:
            code, message = self._stopped
            raise PoolError(message, code=code)
        if self._journal is not None:
            self._journal.check()

    def _check_same(self, asked: str, known: "tuple[Lease, ...] | Ticket") -> None:
        if isinstance(known, Ticket):
            first = known.request.digest(len(known.started), group=known.group)
        else:
            first = known[0].asked
        if first != asked:
            message = "request_id: expected a new one for another request, found that of an earlier one"
            raise PoolError(message, code="request_id_reused")

    def _repeat(self, ticket: Ticket, known: "tuple[Lease, ...] | Ticket") -> None:
        """Settles a repeated request with the leases of the first, or moves it to the place of the first."""
        self.counters.repeated += 1
        if isinstance(known, tuple):
            for lease in known:
                self._table.touch(lease, self._clock() + self.ttl_s)
            ticket.settle(known)
            return
        ticket.started, ticket.group = known.started, known.group
        self._line.move(known, ticket)
        self._by_request[str(ticket.request.request_id)] = ticket
        message = "the same request came again and waits in its place"
        known.settle(error=PoolError(message, code="superseded"))

    def _join(self, ticket: Ticket) -> None:
        try:
            self._line.join(ticket)
        except PoolError:
            self.counters.turned_away += 1
            raise
        if ticket.request.request_id is not None:
            self._by_request[ticket.request.request_id] = ticket

    def _leave(self, ticket: Ticket) -> None:
        if self._line.leave(ticket) and ticket.request.request_id is not None:
            del self._by_request[ticket.request.request_id]

    def _serve(self) -> None:
        while (ticket := self._line.first) is not None and self.free_slots >= len(ticket.started):
            self._leave(ticket)
            self._grant(ticket)

    def _grant(self, ticket: Ticket) -> None:
        deadline = self._clock() + self.ttl_s
        leases = self._table.take(ticket.started, ticket.request, deadline, group=ticket.group)
        self.counters.opened += len(leases)
        if ticket.request.request_id is not None:
            self._by_request[ticket.request.request_id] = leases
        if self._journal is not None:
            self._journal.opened(leases)
        ticket.settle(leases)

    def _drop(self, lease: Lease) -> None:
        self._table.drop(lease)
        if lease.request_id is not None:
            self._forget_request(lease.request_id)
        if self._journal is not None:
            self._journal.dropped(lease, self._table)

    def _forget_request(self, request_id: str) -> None:
        """A group is asked for again as a whole or not at all."""
        known = self._by_request.pop(request_id, ())
        for lease in known if isinstance(known, tuple) else ():
            lease.request_id = None

    def _no_room(self, n: int) -> PoolError:
        return PoolError(
            f"expected {n} free slots, found {self.free_slots} of {self.slots} with {self.waiting} requests "
            "waiting; ask again, wait longer or release leases",
            code="capacity",
        )

    def _resume(self, journal: Journal) -> None:
        deadline = self._clock() + self.ttl_s
        try:
            leases = resume(journal, self.world, self._start, self.release, self._table, deadline)
        except JournalError:
            journal.close()
            raise
        self.counters.resumed = len(leases)
        for lease in leases:
            if lease.request_id is not None:
                known = self._by_request.get(lease.request_id, ())
                self._by_request[lease.request_id] = (*known, lease) if isinstance(known, tuple) else (lease,)


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}: expected an integer of at least {least}, found {value!r}")
    return value
