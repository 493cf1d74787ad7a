"""The thinnest front for several servers behind one port, a process of its own: it routes by lease prefix.

It reads the path of a request, hands the bytes to the server whose prefix the lease id has (a reset to each
in turn), and pipes back what comes. One request at a time on a connection, as the player of `server.py` does.
"""

import asyncio
import itertools
import re
from typing import Any

_LEASE = re.compile(rb"[A-Z]+ /v1/episodes/([ab])\.")


class Upstream(asyncio.Protocol):
    """A connection to one server; what it says goes to the client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def connection_made(self, transport: Any) -> None:
        """Keeps the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Pipes."""
        self.client.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        """Ends the client's connection too."""
        self.client.close()


class Router(asyncio.Protocol):
    """A connection of a client, with one to each server."""

    turns = itertools.count()
    ports: tuple[int, ...] = ()

    def connection_made(self, transport: Any) -> None:
        """Connects to the servers; what comes before that waits."""
        self.transport = transport
        self.waiting = b""
        self.servers: list[Upstream] = []
        self.task = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        for port in self.ports:
            made = await loop.create_connection(lambda: Upstream(self.transport), "127.0.0.1", port)
            self.servers.append(made[1])
        if self.waiting:
            self.data_received(self.waiting)

    def data_received(self, data: bytes) -> None:
        """Hands a request on."""
        if len(self.servers) < len(self.ports):
            self.waiting += data
            return
        match = _LEASE.match(data)
        place = next(self.turns) % len(self.servers) if match is None else match[1][0] - ord("a")
        self.servers[place].transport.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        """Closes the connections to the servers."""
        for server in self.servers:
            server.transport.close()


def route(port: int, ports: tuple[int, ...]) -> None:
    """Routes until it is ended."""
    import uvloop

    async def serve() -> None:
        Router.ports = ports
        server = await asyncio.get_running_loop().create_server(Router, "127.0.0.1", port)
        await server.serve_forever()

    uvloop.run(serve())
