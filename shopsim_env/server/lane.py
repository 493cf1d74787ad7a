"""Connections with a short way: uvicorn's protocol, but what `front` can answer at once gets no task.

Belongs here: which requests may leave uvicorn's way, and how they come back to it. A whole request that came
in one piece on a quiet connection is answered where it was read; every other one (pipelined, in pieces, with
`Expect`, closing, or with somebody who does not read) is given to uvicorn as if nothing had happened. A test
compares the bytes of both ways. Needs httptools; pyproject holds uvicorn to the releases this was read for.
"""

import asyncio
from collections.abc import Sequence

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shopsim_env.server.front import Front, Wanted


def lane(front: Front) -> type[HttpToolsProtocol]:
    """The protocol class of one server, which makes an instance for every connection."""

    class Lane(_Lane):
        pass

    Lane.front = front
    return Lane


class _Lane(HttpToolsProtocol):
    front: Front
    _wanted: Wanted | None = None
    _content: bytes = b""
    _heads: Sequence[tuple[bytes, bytes]] = ()
    _idle: asyncio.TimerHandle | None = None
    _quiet_since: float | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._idle is not None:
            self._idle.cancel()

    def data_received(self, data: bytes) -> None:
        self._quiet_since = None
        super().data_received(data)
        if self._wanted is None:
            return
        if self.transport.is_closing():
            self._wanted = None  # what came was no HTTP
        else:
            self._ordinary()  # the rest of it comes later

    def on_message_begin(self) -> None:
        # What uvicorn makes here is made when it is needed.
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_headers_complete(self) -> None:
        wanted = self.front.find(self.parser.get_method(), self.url)
        if wanted is not None and self._quiet():
            self._wanted, self._content, self._heads = wanted, b"", self.headers
        else:
            self._begin(self.headers)
        if not self.parser.should_upgrade():
            # What comes behind the body is no header, or it could tell who asks after that was checked.
            self.headers = []

    def on_body(self, body: bytes) -> None:
        if self._wanted is not None:
            self._content += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        wanted = self._wanted
        if wanted is not None and not self.front.at_once(wanted):
            self._ordinary()
            wanted = None
        if wanted is None:
            super().on_message_complete()
            return
        self._wanted = None
        self.transport.write(self.front.answer(wanted, self._heads, self._content))
        self.server_state.total_requests += 1
        self._quiet_since = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._look_idle)

    def _look_idle(self) -> None:
        """Closes a connection that nobody used for `timeout_keep_alive` seconds.

        One timer that looks again, because a new one after every answer costs as much as reading the request.
        """
        self._idle = None
        if self._quiet_since is None:
            return  # a request has begun; whoever answers it sets the next timer
        left = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle = self.loop.call_later(left, self._look_idle)
        else:
            self.timeout_keep_alive_handler()

    def _quiet(self) -> bool:
        """Whether the connection has nothing else to do and goes on afterwards."""
        parser = self.parser
        return (
            (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and not self.expect_100_continue
            and not self.transport.is_closing()
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
        )

    def _begin(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Uvicorn's own beginning of a request whose headers are there."""
        url, expects = self.url, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    def _ordinary(self) -> None:
        """Gives the request that was begun here to uvicorn."""
        self._wanted = None
        self._begin(self._heads)
        self.headers = []
        if self._content:
            super().on_body(self._content)
