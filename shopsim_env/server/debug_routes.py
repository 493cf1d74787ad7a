"""The endpoint that the agent view needs besides `/v1`: why an episode got its reward.

Belongs here: the evidence of a lease. Everything else on that page comes from `/v1`.
"""

from typing import Final

from starlette.routing import Route

from shopsim_env.errors import PoolError
from shopsim_env.server.app import App, Reading
from shopsim_env.server.comparison import comparison
from shopsim_env.server.http import Scope
from shopsim_env.server.problems import ProblemError
from shopsim_env.server.service import Service
from shopsim_env.shop.served import encode

EVIDENCE: Final = "/debug-ui/api/evidence/{lease_id}"


def evidence_route(app: App) -> Route:
    """Gold against bought of an episode that is over; needs the admin token."""

    async def answer(scope: Scope) -> bytes:
        return _evidence(app.service, scope["path_params"]["lease_id"])

    return Route(EVIDENCE, Reading(app, answer, admin=True))


def _evidence(service: Service, lease_id: str) -> bytes:
    try:
        lease = service.pool.peek(lease_id)
    except KeyError as error:
        raise PoolError("the lease is gone; reset anew", code="lease_lost") from error
    if lease.last is None or not lease.done:
        raise ProblemError("the goal is shown after the end of an episode", code="not_ended")
    purchase = lease.last.info.get("purchase")
    rule = lease.env.options["option_match"]
    return encode(comparison(service.release, lease.start.task_id, purchase, rule))
