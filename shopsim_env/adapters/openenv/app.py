"""The application: the package's routes over one pool, behind the gate.

Belongs here: putting it together. `asgi` does it from the environment, `shopsim openenv serve` from options.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.types import ConcurrencyConfig

from shopsim_env.adapters.openenv.asking import DEFAULT_SPLIT, read_asked
from shopsim_env.adapters.openenv.environment import ShopEnvironment
from shopsim_env.adapters.openenv.faults import WireError
from shopsim_env.adapters.openenv.gate import Gate
from shopsim_env.adapters.openenv.models import ShopAction, ShopObservation, ShopReset, ShopState
from shopsim_env.adapters.openenv.session import DEFAULT_WAIT_S, Shop
from shopsim_env.client.local import LocalClient
from shopsim_env.release import Release
from shopsim_env.server.guard import Guard
from shopsim_env.server.problems import STATUSES, TITLES

NAME: Final = "shopsim"
SESSIONS_PER_SLOT: Final = 4
_CONFLICT: Final = 409
_UNAVAILABLE: Final = 503


def make_app(
    release: Release,
    guard: Guard,
    *,
    slots: int = 64,
    sessions: int | None = None,
    ttl_s: float = 900.0,
    wait_s: float = DEFAULT_WAIT_S,
    split: str = DEFAULT_SPLIT,
    options: Mapping[str, Any] | None = None,
) -> Gate:
    """An OpenEnv server as an ASGI application.

    Args:
        release: What is played; it stays open.
        guard: Who may ask; see `shopsim_env.server.guard`.
        slots: Episodes at once.
        sessions: Sockets at once, each with a thread; by default 4 for each slot.
        ttl_s: Seconds without a call after which a session and its slot are free.
        wait_s: Seconds that a reset waits for a slot.
        split: Split of a reset without a task.
        options: Keywords of `ShopEnv` instead of its defaults.

    Raises:
        UsageError, ProblemError, TaskError: a number out of range, an unknown option or split.
        ReleaseError: a public copy, which cannot be scored.
    """
    release.private()  # refused now, not at the first reset
    shop = Shop(release, LocalClient(release, slots, ttl_s=ttl_s), wait_s, split, options or {})
    read_asked(release, {}, shop.split, shop.options)
    # Without the package's web interface, which an environment variable would switch on.
    app = create_fastapi_app(
        partial(ShopEnvironment, shop),
        ShopAction,
        ShopObservation,
        env_name=NAME,
        # The gate closes idle sockets; the package takes a reset that waits for an idle one.
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=sessions or SESSIONS_PER_SLOT * slots, session_timeout=ttl_s + wait_s
        ),
        state_cls=ShopState,
        reset_observation_cls=ShopReset,
    )
    app.add_exception_handler(WireError, _refused)
    return Gate(app, guard, ttl_s)


def _refused(_: Request, error: Exception) -> JSONResponse:
    """A refusal of a plain HTTP call, as a problem."""
    code = getattr(error, "code", "internal")
    failed = getattr(error, "failure_kind", None) is not None
    status = STATUSES.get(code, _UNAVAILABLE if failed else _CONFLICT)
    problem = {
        "type": f"urn:shopsim:problem:{code}",
        "title": TITLES[status],
        "status": status,
        "code": code,
        "detail": str(error),
    }
    return JSONResponse(problem, status, media_type="application/problem+json")
