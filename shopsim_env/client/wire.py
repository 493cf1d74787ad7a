"""Requests on the wire, through httpx: one function each for blocking and asynchronous use.

Belongs here: connections. Transports of httpx are used without its client, because the client writes every
URL to the log, and the path of a request holds a lease id; neither follow redirects nor proxies of the
environment, so a token goes to the given server alone.
"""

import os
import re
import ssl
from typing import Any, Final

from shopsim_env.client.retrying import Lost, Outcome, Reply, Request
from shopsim_env.errors import UsageError

_KEPT: Final = 256
_KEPT_S: Final = 30.0
_CONNECT_S: Final = 10.0
_URL: Final = re.compile(
    r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>\d{1,5}))?(/[A-Za-z0-9._~-]+)*/?", re.ASCII
)
_MOST_PORT: Final = 65_535
_TOKEN: Final = re.compile("[!-~][ -~]*[!-~]|[!-~]", re.ASCII)


def import_httpx() -> Any:
    """Httpx.

    Raises:
        UsageError: it is not installed (code `missing_extra`).
    """
    try:
        import httpx
    except ImportError as error:
        message = "a client over HTTP needs the httpx package; install 'shopsim[client]'."
        raise UsageError(message, code="missing_extra") from error
    return httpx


def token_of(given: str | None, variable: str) -> str | None:
    """A token from the argument or the environment.

    Raises:
        UsageError: something that cannot stand in a header (code `weak_token`); it is not shown.
    """
    token = os.environ.get(variable) if given is None else given
    if token is not None and not _TOKEN.fullmatch(token):
        message = f"token: expected printable ASCII characters, found others or none; see {variable}"
        raise UsageError(message, code="weak_token")
    return token


class Wire:
    """Connections for blocking use. Several threads may share them."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        self._httpx = import_httpx()
        self.url = _checked_url(url)
        self._transport = self._httpx.HTTPTransport(**_settings(self._httpx, tls))

    def send(self, request: Request) -> Outcome:
        """The answer, or how it was lost."""
        try:
            answer = self._transport.handle_request(_built(self._httpx, self.url, request))
            try:
                return _reply(answer, answer.read())
            finally:
                answer.close()
        except self._httpx.RequestError as error:
            return _lost(self._httpx, error)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()


class AsyncWire:
    """Connections for one event loop."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        self._httpx = import_httpx()
        self.url = _checked_url(url)
        self._transport = self._httpx.AsyncHTTPTransport(**_settings(self._httpx, tls))

    async def send(self, request: Request) -> Outcome:
        """The answer, or how it was lost."""
        try:
            answer = await self._transport.handle_async_request(_built(self._httpx, self.url, request))
            try:
                return _reply(answer, await answer.aread())
            finally:
                await answer.aclose()
        except self._httpx.RequestError as error:
            return _lost(self._httpx, error)

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()


def _checked_url(url: str) -> str:
    """The address without a slash at its end."""
    match = _URL.fullmatch(url) if isinstance(url, str) else None
    if match is None or int(match["port"] or 0) > _MOST_PORT:
        # Not shown: it may hold a password.
        raise UsageError(
            "url: expected one such as http://127.0.0.1:5700, without user, query or fragment", code="bad_url"
        )
    return url.rstrip("/")


def _settings(httpx: Any, tls: ssl.SSLContext | None) -> dict[str, Any]:
    # No bound on connections: a reset that waits for a slot holds one.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT, keepalive_expiry=_KEPT_S)
    return {"verify": True if tls is None else tls, "limits": limits, "trust_env": False}


def _built(httpx: Any, url: str, request: Request) -> Any:
    # Only an answer may take as long as a reset waits.
    timeout = httpx.Timeout(request.timeout_s, connect=min(request.timeout_s, _CONNECT_S)).as_dict()
    return httpx.Request(
        request.method,
        url + request.path,
        headers=request.headers,
        content=request.content,
        extensions={"timeout": timeout},
    )


def _reply(answer: Any, content: bytes) -> Reply:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Reply(answer.status_code, headers, content)


def _lost(httpx: Any, error: Exception) -> Lost:
    late = isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout)
    return Lost(late, type(error).__name__)
