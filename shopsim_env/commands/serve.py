"""`shopsim serve`: the HTTP service over one release (extra `server`)."""

import argparse
import importlib.util
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import Release, load_release

if TYPE_CHECKING:
    from shopsim_env.server.service import Service

_NEEDED = ("starlette", "uvicorn", "prometheus_client")


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "serve",
        help="serve episodes over HTTP",
        description="Serve episodes over HTTP. Tokens come from the environment: SHOPSIM_TOKEN (needed "
        "unless the host is loopback) and SHOPSIM_ADMIN_TOKEN (private goals, release of all leases).",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=5700, help="port (default 5700; 0: a free one)")
    parser.add_argument(
        "--slots",
        type=int,
        default=64,
        metavar="N",
        help="episodes at once, as many again of RLVE (64)",
    )
    parser.add_argument(
        "--lease-ttl",
        type=float,
        default=900.0,
        metavar="S",
        help="seconds without use that end a lease (900)",
    )
    parser.add_argument(
        "--max-waiting", type=int, default=1024, metavar="N", help="resets that may wait for a slot (1024)"
    )
    parser.add_argument(
        "--resume-log", metavar="DIR", help="write actions to DIR and resume from it after a restart"
    )
    parser.add_argument(
        "--resume-sync", action="store_true", help="sync every action to the disk (survives power failure)"
    )
    parser.add_argument(
        "--drain", type=float, default=30.0, metavar="S", help="seconds to finish episodes at the end (30)"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="further name of this server"
    )
    parser.add_argument(
        "--lease-prefix", default="", metavar="TEXT", help="start of every lease id, to route among servers"
    )
    parser.add_argument("--runs", metavar="DIR", help="show the runs and traces below DIR at /replay-ui")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until a signal; exit code 0 after an orderly end."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"shopsim serve needs {', '.join(missing)}; install 'shopsim[server]'", code="missing_extra"
        )
    with load_release(arguments.release) as release:
        return _serve(arguments, release)


def _serve(arguments: argparse.Namespace, release: Release) -> int:
    # Here, because these need the extra.
    from starlette.routing import Route

    from shopsim_env.runs.folder import RunRoot
    from shopsim_env.server.app import App
    from shopsim_env.server.guard import make_guard
    from shopsim_env.server.logs import logging_to_stderr
    from shopsim_env.server.mcp import PATH as MCP_PATH
    from shopsim_env.server.mcp import McpEndpoint
    from shopsim_env.server.replay_routes import add_pages
    from shopsim_env.server.running import Ending
    from shopsim_env.server.running import run as run_server
    from shopsim_env.server.shop_agent import PATH, ShopAgent
    from shopsim_env.server.sockets import listen

    guard = make_guard(
        arguments.host,
        os.environ.get("SHOPSIM_TOKEN"),
        os.environ.get("SHOPSIM_ADMIN_TOKEN"),
        tuple(arguments.allow_host),
    )
    root = RunRoot(arguments.runs) if arguments.runs else None
    release.private()  # a public copy is refused now, not at the first reset
    with ExitStack() as opened:
        log = opened.enter_context(logging_to_stderr(arguments.log_level))  # closed last
        bound = opened.enter_context(closing(listen(arguments.host, arguments.port)))
        service = _service(arguments, release, opened)
        app = App(service, guard, lambda: log.dropped)
        app.add([Route(PATH, ShopAgent(app)), Route(MCP_PATH, McpEndpoint(app))])
        add_pages(app, root)
        ending = Ending(park=bool(arguments.resume_log), drain_s=arguments.drain)
        resumed = service.pool.counters.resumed + service.rlve.resumed
        run_server(app, bound, ending, lambda: _announce(arguments, bound.getsockname(), release.id, resumed))
    return 0


def _service(arguments: argparse.Namespace, release: Release, opened: ExitStack) -> "Service":
    """The pools of both worlds with what their logs brought back; closed with `opened`."""
    from shopsim_env.pool import LeasePool
    from shopsim_env.pool.journal import Journal
    from shopsim_env.server.rlve_service import RlveService
    from shopsim_env.server.service import Service
    from shopsim_env.shop.served import ServedEnv

    journal = rlve_journal = None
    if arguments.resume_log:
        folders = (Path(arguments.resume_log), Path(arguments.resume_log) / "rlve")
        journal, rlve_journal = (
            opened.enter_context(closing(Journal(folder, sync=arguments.resume_sync))) for folder in folders
        )
    rules = {
        "ttl_s": arguments.lease_ttl,
        "max_waiting": arguments.max_waiting,
        "prefix": arguments.lease_prefix,
    }
    pool = LeasePool(release, arguments.slots, journal=journal, env_class=ServedEnv, **rules)
    opened.enter_context(closing(pool))
    rlve = RlveService(release, arguments.slots, journal=rlve_journal, **rules)
    opened.enter_context(closing(rlve))
    rlve.resume()
    return Service(release, pool, rlve)


def _announce(arguments: argparse.Namespace, address: Any, release_id: str, resumed: int) -> None:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    facts = {
        "url": f"http://{host}:{address[1]}",
        "release": release_id,
        "slots": arguments.slots,
        "resumed_leases": resumed,
        "resume_log": arguments.resume_log,
    }
    if arguments.json:
        show_json(facts)
    else:
        show(
            [
                f"serving {facts['url']}",
                f"release {release_id}, {arguments.slots} slots, {resumed} leases resumed",
                "stop with Ctrl-C or SIGTERM",
            ]
        )
