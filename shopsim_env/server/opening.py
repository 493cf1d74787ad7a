"""Waiting for a slot inside the event loop, while other requests go on.

Belongs here: from a ticket of a pool to a future, and what happens when the client hangs up.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from shopsim_env.pool import Lease
from shopsim_env.pool.lease import Request
from shopsim_env.pool.reception import Reception
from shopsim_env.pool.waiting import Ticket

Gone = Callable[[], Coroutine[Any, Any, None]]
"""Returns when the client has hung up."""


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def open_when_free(
    pool: Reception, request: Request, wait_s: float, gone: Gone, *, n: int = 1, group: bool = False
) -> tuple[Lease, ...]:
    """The leases, as soon as there are slots; other requests go on meanwhile.

    Raises:
        ClientGoneError: `gone` returned first; the place in the line is free again.
        ShopSimError: as `LeasePool.ask`.
    """
    settled = asyncio.get_running_loop().create_future()

    def notify(_: Ticket) -> None:
        if not settled.done():
            settled.set_result(None)

    ticket = pool.ask(request, wait_s, n=n, group=group, notify=notify)
    if ticket.settled:
        return ticket.result()
    hung_up = asyncio.ensure_future(gone())
    try:
        await asyncio.wait({settled, hung_up}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hung_up.cancel()
        if not ticket.settled:
            pool.give_up(ticket)
    if not ticket.settled:
        raise ClientGoneError
    return ticket.result()
