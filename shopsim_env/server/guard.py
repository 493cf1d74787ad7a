"""Who may ask: host, origin, bearer tokens. No endpoint is reached past it.

Belongs here: checks of headers alone. On loopback no token is needed, therefore a page of another site must
not get there through a name that points at 127.0.0.1: the host must be a loopback name, and a browser's
origin must be the host itself. Everywhere else there is a token, or the server does not start.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.server.problems import ProblemError

Headers = dict[bytes, bytes]
_ONCE: Final = frozenset(
    (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"content-encoding")
)


def read_headers(raw: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Headers by name, in small letters.

    Raises:
        ProblemError: `duplicate_header` where two values of what decides who asks or how a body is read could
            be taken for different ones by a proxy and by this server; `upgrade` where a body would get lost.
    """
    found = dict(raw)
    if len(found) != len(raw):
        names = [name for name, _ in raw if name in _ONCE]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ProblemError(
                f"{twice.decode('ascii')}: expected this header once, found it twice", code="duplicate_header"
            )
    if b"upgrade" in found:
        raise ProblemError(
            "upgrade: this server speaks HTTP/1.1 alone, and the body of such a request is lost; set the "
            "client to HTTP/1.1 (curl --http1.1, HttpClient.Version.HTTP_1_1)",
            code="upgrade",
        )
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Guard:
    """The rules of one server.

    `token` is what every request needs, None on loopback at will; `admin_token` opens private goals and the
    release of all leases, and serves as token as well. `hosts` are names that a Host header may have, None
    for any.
    """

    token: bytes | None
    admin_token: bytes | None
    hosts: frozenset[bytes] | None

    def check(self, headers: Headers, *, open_to_all: bool = False) -> None:
        """Refuses whoever has no business here; `open_to_all` asks for no token, all the rest stays.

        Raises:
            ProblemError: `forbidden_host`, `forbidden_origin`, `unauthorized`.
        """
        host = headers.get(b"host", b"")
        if self.hosts is not None and _name(host) not in self.hosts:
            raise ProblemError(
                "host: expected a loopback name such as 127.0.0.1 or localhost; serve with --allow-host to "
                "add another",
                code="forbidden_host",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise ProblemError(
                "origin: expected none, or this server's own; pages of other sites may not call it",
                code="forbidden_origin",
            )
        if open_to_all or self.token is None:
            return
        if not self._knows(headers, self.token) and not self.is_admin(headers):
            raise ProblemError(
                "expected the header 'Authorization: Bearer TOKEN' with the token of this server",
                code="unauthorized",
                headers=(("www-authenticate", "Bearer"),),
            )

    def is_admin(self, headers: Headers) -> bool:
        """Whether the request carries the admin token."""
        return self.admin_token is not None and self._knows(headers, self.admin_token)

    def check_admin(self, headers: Headers) -> None:
        """Refuses whoever has no admin token.

        Raises:
            ProblemError: `admin_only`.
        """
        if not self.is_admin(headers):
            raise ProblemError(
                "expected the admin token ('Authorization: Bearer TOKEN'); the server has one when it was "
                "started with SHOPSIM_ADMIN_TOKEN",
                code="admin_only",
            )

    @staticmethod
    def _knows(headers: Headers, token: bytes) -> bool:
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        # Always compared, and in constant time.
        return hmac.compare_digest(given.strip(), token) and kind.lower() == b"bearer"


def make_guard(host: str, token: str | None, admin_token: str | None, allowed: tuple[str, ...] = ()) -> Guard:
    """The guard of a server that listens on `host`.

    Raises:
        UsageError: a host beyond loopback without a token (`token_needed`), or a token that is too short
            (`weak_token`).
    """
    for name, value in (("token", token), ("admin token", admin_token)):
        if value is not None and (len(value) < 16 or not value.isascii() or not value.isprintable()):
            raise UsageError(
                f"{name}: expected at least 16 printable ASCII characters, found {len(value)} characters",
                code="weak_token",
            )
    if not is_loopback(host) and token is None:
        raise UsageError(
            f"host {host}: others can reach it, so a bearer token is needed; set SHOPSIM_TOKEN, or listen on "
            "127.0.0.1",
            code="token_needed",
        )
    names = {b"localhost", b"127.0.0.1", b"[::1]", *(name.lower().encode() for name in allowed)}
    if is_loopback(host):
        names.add(host.encode())
        hosts: frozenset[bytes] | None = frozenset(names)
    else:
        hosts = frozenset(names) if allowed else None
    return Guard(
        None if token is None else token.encode(),
        None if admin_token is None else admin_token.encode(),
        hosts,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _name(host: bytes) -> bytes:
    """The host without its port."""
    if host.startswith(b"["):
        return (host.partition(b"]")[0] + b"]").lower()
    return host.partition(b":")[0].lower()
