"""The address that a server listens on.

Belongs here: binding, and its refusal. Needs no web framework.
"""

import socket

from shopsim_env.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be had (code `address_unusable`).
    """
    if not 0 <= port <= 65_535:
        raise UsageError(f"port: expected 0 to 65535, found {port}", code="address_unusable")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Accepted sockets inherit it; without it every answer waits 40 ms for an acknowledgement.
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another with --port",
            code="address_unusable",
        ) from error
    return found
