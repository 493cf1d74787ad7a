"""Connections with a short way: uvicorn's protocol, but what `front` can answer at once gets no task.

Belongs here: which requests may leave uvicorn's way, and how they come back to it. A whole request that came
in one piece on a quiet connection is answered where it was read; every other one (pipelined, in pieces, with
`Expect`, closing, or with somebody who does not read) is given to uvicorn as if nothing had happened. A test
compares the bytes of both ways. Needs httptools; pyproject holds uvicorn to the releases this was read for.
"""

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

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            self._wanted = None  # what came was no HTTP
        elif self._wanted is not None:
            self._ordinary()  # the rest of it comes later

    def on_message_begin(self) -> None:
        # What uvicorn makes here is made when it is needed.
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_headers_complete(self) -> None:
        wanted = self.front.find(self.parser.get_method(), self.url)
        if wanted is not None and self._quiet():
            self._wanted, self._content = wanted, b""
        else:
            self._begin()

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
        self.transport.write(self.front.answer(wanted, dict(self.headers), self._content))
        self.on_response_complete()

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

    def _begin(self) -> None:
        """Uvicorn's own beginning of a request whose headers are there."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    def _ordinary(self) -> None:
        """Gives the request that was begun here to uvicorn."""
        self._wanted = None
        self._begin()
        if self._content:
            super().on_body(self._content)
