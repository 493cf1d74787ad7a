"""The endpoint that the agent view needs besides `/v1`: why an episode got its reward.

Belongs here: the evidence of a lease. Everything else on that page comes from `/v1`.
"""

from typing import Final

from starlette.routing import Route

from shopsim_env.errors import PoolError
from shopsim_env.server.app import App, method_not_allowed
from shopsim_env.server.comparison import comparison
from shopsim_env.server.http import Receive, Scope, Send, refusal, send_json, send_problem
from shopsim_env.server.problems import ProblemError
from shopsim_env.shop.served import encode

EVIDENCE: Final = "/debug-ui/api/evidence/{lease_id}"


def evidence_route(app: App) -> Route:
    """Gold against bought of an episode that is over; needs the admin token."""
    return Route(EVIDENCE, _Evidence(app))


class _Evidence:
    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await send_problem(send, method_not_allowed({"GET": None, "HEAD": None}))
            return
        try:
            self._app.guard.check_admin(dict(scope["headers"]))
            body = self._evidence(scope["path_params"]["lease_id"])
        except Exception as error:
            problem = refusal(error)
            self._app.metrics.refused(problem.code)
            await send_problem(send, problem)
        else:
            await send_json(send, body)

    def _evidence(self, lease_id: str) -> bytes:
        service = self._app.service
        try:
            lease = service.pool.peek(lease_id)
        except KeyError as error:
            raise PoolError("the lease is gone; reset anew", code="lease_lost") from error
        if lease.last is None or not lease.done:
            raise ProblemError("the goal is shown after the end of an episode", code="not_ended")
        purchase = lease.last.info.get("purchase")
        rule = lease.env.options["option_match"]
        return encode(comparison(service.release, lease.start.task_id, purchase, rule))
