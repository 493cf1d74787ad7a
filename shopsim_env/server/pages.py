"""The pages for people: a fixed set of files of the package, read once, sent with strict headers.

Belongs here: the files and their headers. No path is made from a request: a name is looked up in the set.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from starlette.routing import Route

from shopsim_env.server.app import method_not_allowed
from shopsim_env.server.http import Receive, Scope, Send, send_problem

# Scripts and styles only from files of this server, nothing inline, no text becomes markup or script.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-cache"),  # asks again each time; the ETag makes that cheap
)
_KINDS: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".svg": b"image/svg+xml",
}
_ADDRESSES: Final = {"debug.html": "/debug-ui", "replay.html": "/replay-ui", "rlve.html": "/rlve-ui"}


@dataclass(frozen=True, slots=True)
class Page:
    """One file as it is sent."""

    body: bytes
    kind: bytes
    tag: bytes

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Answers with the file, or that it has not changed."""
        if scope["method"] not in ("GET", "HEAD"):
            await send_problem(send, method_not_allowed({"GET": None, "HEAD": None}))
            return
        known = dict(scope["headers"]).get(b"if-none-match", b"")
        same = self.tag in (tag.strip().removeprefix(b"W/") for tag in known.split(b","))
        body = b"" if same else self.body
        headers = [*_HEADERS, (b"etag", self.tag), (b"content-type", self.kind)]
        if not same:
            headers.append((b"content-length", b"%d" % len(body)))
        status = 304 if same else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def read_pages() -> dict[str, Page]:
    """Every page by its path."""
    found = {}
    for item in sorted(files("shopsim_env.server").joinpath("ui").iterdir(), key=lambda item: item.name):
        body = item.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
        suffix = item.name[item.name.rindex(".") :]
        path = _ADDRESSES.get(item.name, f"/ui/{item.name}")
        found[path] = Page(body, _KINDS[suffix], tag)
    return found


def page_routes(pages: dict[str, Page]) -> Iterable[Route]:
    """Routes of the pages; they need no token, because they hold nothing but code."""
    return [Route(path, page) for path, page in pages.items()]
