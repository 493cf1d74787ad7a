"""Endpoints of the replay page (runs, episodes, figures, comparisons), and the pages put together.

Belongs here: from a request to `shopsim_env.runs` and back. Everything runs in one thread of its own, a
slice of time at a go, so that episodes that are played meanwhile do not wait. These endpoints serve the page
of the same version; programs read run folders themselves (docs/runs.md).
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from starlette.routing import BaseRoute, Route

from shopsim_env.runs.folder import RunRoot
from shopsim_env.runs.rows import STATUSES
from shopsim_env.runs.select import SORTS, SUCCESSES
from shopsim_env.server.app import App, Reading, read_query
from shopsim_env.server.debug_routes import evidence_route
from shopsim_env.server.fields import Field, Number, Text
from shopsim_env.server.http import Scope
from shopsim_env.server.pages import page_routes, read_pages
from shopsim_env.server.replays import Replays

API: Final = "/replay-ui/api"
_MOST_SHOWN: Final = 200
_RUN: Final = Text(about="id of the listing", required=True, pattern="[0-9a-f]{16}", longest=16)
_EPISODE: Final = Text(about="episode id", required=True, longest=300)
_PAGE: Final[dict[str, Field]] = {
    "offset": Number(about="rows to leave out in front", least=0, most=2**31, default=0),
    "limit": Number(about="rows at most", least=1, most=_MOST_SHOWN, default=50),
}
_ORDERS: Final = ("up", "down")
Answer = Callable[..., Any]


def encode(value: Any) -> bytes:
    """JSON in ASCII: traces may hold text that UTF-8 cannot."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def add_pages(app: App, root: RunRoot | None) -> None:
    """Adds the pages for people, and what they ask for."""
    app.add_open(page_routes(read_pages()))
    app.add([evidence_route(app), *replay_routes(app, root)])


def replay_routes(app: App, root: RunRoot | None) -> Iterable[BaseRoute]:
    """The endpoints; without a root they list nothing."""
    replays = Replays(root, app.service.release)
    thread = ThreadPoolExecutor(1, thread_name_prefix="replay")

    def endpoint(answer: Answer, query: Mapping[str, Field], *, admin: bool = False) -> Reading:
        async def answering(scope: Scope) -> bytes:
            fields = read_query(query, scope["query_string"])
            body: bytes = await asyncio.get_running_loop().run_in_executor(
                thread, lambda: encode(answer(**fields))
            )
            return body

        return Reading(app, answering, admin=admin)

    one = {"run": _RUN, "episode": _EPISODE}
    listed: dict[str, Field] = {
        "run": _RUN,
        "find": Text(about="text to look for", longest=200, default=""),
        "status": Text(about="only episodes of this status", choices=STATUSES, nullable=True),
        "reason": Text(about="only episodes that ended so", longest=300, nullable=True),
        "success": Text(about="only successes, or only others", choices=SUCCESSES, nullable=True),
        "sort": Text(about="what to sort by", choices=tuple(SORTS), default="task"),
        "order": Text(about="which way", choices=_ORDERS, default="up"),
        **_PAGE,
    }
    both: dict[str, Field] = {"first": _RUN, "second": _RUN, **_PAGE}
    return [
        Route(f"{API}/runs", endpoint(replays.runs, {})),
        Route(f"{API}/run", endpoint(replays.run, {"run": _RUN})),
        Route(f"{API}/episodes", endpoint(replays.episodes, listed)),
        Route(f"{API}/episode", endpoint(replays.episode, one)),
        Route(f"{API}/evidence", endpoint(replays.evidence, one, admin=True)),
        Route(f"{API}/compare", endpoint(replays.compare, both)),
    ]
