"""`shopsim openenv serve`: an OpenEnv server over one release (extra `openenv`)."""

import argparse
import importlib.util
import os
from contextlib import closing
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import Release, load_release
from shopsim_env.shop.options import TASK_MODES
from shopsim_env.versions import ACTION_LIMITS

_NEEDED = ("openenv", "uvicorn", "websockets")
_LARGEST_FRAME = 1 << 22


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("openenv", help="speak the OpenEnv protocol")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    serve = verbs.add_parser(
        "serve",
        help="serve sessions of the OpenEnv protocol",
        description="Serve sessions of the OpenEnv protocol over WebSockets. SHOPSIM_TOKEN is needed unless "
        "the host is loopback.",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="port (default 8000; 0: a free one)")
    serve.add_argument("--slots", type=int, default=64, metavar="N", help="episodes at once (64)")
    serve.add_argument("--sessions", type=int, metavar="N", help="sockets at once (default: 4 for each slot)")
    serve.add_argument(
        "--lease-ttl",
        type=float,
        default=900.0,
        metavar="S",
        help="seconds without a call that end a session (900)",
    )
    serve.add_argument(
        "--wait", type=float, default=50.0, metavar="S", help="seconds that a reset waits for a slot (50)"
    )
    serve.add_argument(
        "--split", default="project/train", metavar="NAME", help="split of resets without a task"
    )
    serve.add_argument("--task-mode", choices=TASK_MODES, default="persona")
    serve.add_argument("--interaction-mode", choices=tuple(ACTION_LIMITS), default="single_turn")
    serve.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="further name of this server"
    )
    serve.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    add_release(serve)
    add_common(serve)
    serve.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until a signal; exit code 0 after an orderly end."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"shopsim openenv needs {', '.join(missing)}; install 'shopsim[openenv]'", code="missing_extra"
        )
    with load_release(arguments.release) as release:
        return _serve(arguments, release)


def _serve(arguments: argparse.Namespace, release: Release) -> int:
    # Here, because these need the extra.
    import uvicorn

    from shopsim_env.adapters.openenv.app import make_app
    from shopsim_env.server.guard import make_guard
    from shopsim_env.server.logs import logging_to_stderr
    from shopsim_env.server.sockets import listen

    guard = make_guard(arguments.host, os.environ.get("SHOPSIM_TOKEN"), None, tuple(arguments.allow_host))
    app = make_app(
        release,
        guard,
        slots=arguments.slots,
        sessions=arguments.sessions,
        ttl_s=arguments.lease_ttl,
        wait_s=arguments.wait,
        split=arguments.split,
        options={"task_mode": arguments.task_mode, "interaction_mode": arguments.interaction_mode},
    )
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # Larger frames than the gate takes get an answer, up to here; what is larger still ends the socket.
        ws_max_size=_LARGEST_FRAME,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=10,
    )
    with logging_to_stderr(arguments.log_level), closing(listen(arguments.host, arguments.port)) as bound:
        bound.listen()  # whoever reads the address may connect at once
        _announce(arguments, bound.getsockname(), release)
        uvicorn.Server(config).run(sockets=[bound])
    return 0


def _announce(arguments: argparse.Namespace, address: Any, release: Release) -> None:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    facts = {
        "url": f"http://{host}:{address[1]}",
        "release": release.id,
        "slots": arguments.slots,
        "split": arguments.split,
    }
    if arguments.json:
        show_json(facts)
    else:
        show(
            [
                f"serving OpenEnv on {facts['url']}",
                f"release {release.id}, {arguments.slots} slots, resets draw from {arguments.split}",
                "stop with Ctrl-C or SIGTERM",
            ]
        )
