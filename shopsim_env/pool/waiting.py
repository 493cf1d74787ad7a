"""Who waits for slots: first come, first served, bounded, and not for ever.

Belongs here: the line and its tickets. Knows no clock, no thread and no event loop: whoever holds a ticket is
told through `notify`, and times are numbers that the pool compares.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from shopsim_env.errors import PoolError
from shopsim_env.pool.lease import Lease, Request, Started

Notify: TypeAlias = Callable[["Ticket"], None]


@dataclass(slots=True, eq=False)
class Ticket:
    """A request for one episode per item of `started`. `notify` is called once, when it is settled later."""

    request: Request
    started: list[Started]
    group: bool
    deadline: float
    notify: Notify | None = None
    leases: tuple[Lease, ...] = ()
    error: PoolError | None = None

    @property
    def settled(self) -> bool:
        """Whether the leases or an error are there."""
        return bool(self.leases) or self.error is not None

    def result(self) -> tuple[Lease, ...]:
        """The leases.

        Raises:
            PoolError: why there are none: the time is over, the pool stops; `waiting` before it is settled.
        """
        if self.error is not None:
            raise self.error
        if not self.leases:
            raise PoolError("the ticket still waits for a slot", code="waiting")
        return self.leases

    def settle(self, leases: tuple[Lease, ...] = (), error: PoolError | None = None) -> None:
        """Settles it, with leases or with an error."""
        self.leases, self.error = leases, error
        notify, self.notify = self.notify, None
        if notify is not None:
            notify(self)


class WaitingLine:
    """Tickets in the order of arrival; at most `most` of them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._tickets: OrderedDict[Ticket, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(list(self._tickets))

    @property
    def first(self) -> Ticket | None:
        """Who is served next."""
        return next(iter(self._tickets), None)

    def join(self, ticket: Ticket) -> None:
        """Puts a ticket at the end.

        Raises:
            PoolError: the line is full (code `queue_full`).
        """
        if len(self._tickets) >= self.most:
            raise PoolError(
                f"{self.most} requests wait already, which is the most; ask again later or use fewer workers",
                code="queue_full",
            )
        self._tickets[ticket] = None

    def leave(self, ticket: Ticket) -> bool:
        """Takes a ticket out; whether it was in."""
        if ticket not in self._tickets:
            return False
        del self._tickets[ticket]
        return True

    def move(self, old: Ticket, new: Ticket) -> None:
        """Gives the place of `old` to `new`."""
        places = [new if ticket is old else ticket for ticket in self._tickets]
        self._tickets = OrderedDict.fromkeys(places)
