"""`POST /api/shop_agent`: the wire format of the published service, so that its trainers work unchanged.

Belongs here: its request keys, its answers, its statuses. Different on purpose (contract 4): leases expire,
the line is bounded and answers "retry", private parts and `release_all` need the admin token, `idx` is the
task in every answer, and an action inside a query is never executed. Keys that nobody knows are ignored, as
there.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from shopsim_env.errors import PoolError
from shopsim_env.pool import EpisodeRequest, Lease
from shopsim_env.server import answers
from shopsim_env.server.app import App, gone, method_not_allowed
from shopsim_env.server.guard import Headers
from shopsim_env.server.http import Receive, Scope, Send, refusal, send_json, send_problem
from shopsim_env.server.opening import ClientGoneError, open_when_free
from shopsim_env.server.problems import RETRY_AFTER_S, ProblemError
from shopsim_env.server.service import Service
from shopsim_env.shop.env import Step
from shopsim_env.shop.served import encode

PATH: Final = "/api/shop_agent"
WAIT_S: Final = 3_600.0
_NOTE, _PRIVATE_NOTE = "none shop_agent", "none shop_agent private"
_NO_JSON = ("invalid_json", "unsupported_media_type")
_STARTS_WITH_ACTION = re.compile(r"\s*(?:search|click|ask_shopper)\[", re.IGNORECASE)
_ACTION_LINE = re.compile(r"^[ \t]*action[ \t]*[:：](.*)$", re.IGNORECASE | re.MULTILINE)


class ShopAgent:
    """The endpoint, as an ASGI application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._service: Service = app.service
        self._actions: dict[str, Callable[[_Request], Awaitable[bytes]]] = {
            "reset": self._reset,
            "interact": self._interact,
            "terminate": self._terminate,
            "release_one": self._release_one,
            "release_all": self._release_all,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["method"] != "POST":
            await send_problem(send, method_not_allowed({"POST": None}))
            return
        begin = time.perf_counter()
        try:
            headers: Headers = dict(scope["headers"])
            request = _Request(await self._app.bodies.read(receive, headers), headers, receive)
            name = request.text("action", "")
            if name not in self._actions:
                message = f"action: expected one of {list(self._actions)}"
                raise _bad(message)
            result = await self._actions[name](request)
        except ClientGoneError:
            return
        except Exception as error:
            await self._refuse(send, refusal(error))
        else:
            self._app.metrics.answered(f"shop_agent_{name}", time.perf_counter() - begin)
            await send_json(send, b'{"result":' + result + b"}")

    async def _refuse(self, send: Send, problem: ProblemError) -> None:
        """Refusals in the published form: 400 for a wrong request, 200 for no JSON at all."""
        self._app.metrics.refused(problem.code)
        body: dict[str, Any] = {"error": str(problem), "code": problem.code}
        status = problem.status
        if problem.code in _NO_JSON:
            status = 200
        elif status in (408, 415, 422):
            status = 400
        elif status == 503:
            body["retry"] = True
        extra = ((b"retry-after", str(RETRY_AFTER_S).encode()),) if status == 503 else ()
        await send_json(send, encode(body), status, extra)

    async def _reset(self, request: "_Request") -> bytes:
        if request.get("env_idx") is not None:
            raise _bad("env_idx: expected none in a reset; the answer says which environment it is")
        private = request.flag("include_private_goal")
        if private:
            self._app.guard.check_admin(request.headers)
        asked = EpisodeRequest(
            task_id=request.integer("idx"),
            options={
                "task_mode": "persona" if request.flag("if_persona") else "standard",
                "interaction_mode": request.text("interaction_mode", "single_turn"),
            },
            note=_PRIVATE_NOTE if private else _NOTE,
        )
        (lease,) = await open_when_free(self._service.pool, asked, WAIT_S, lambda: gone(request.receive))
        start = lease.start
        answer = {
            "task_instruction": start.task_instruction,
            "observation": start.observation,
            "message": "Environment reset",
            "env_idx": lease.slot,
            "idx": start.task_id,
            "task_mode": start.task_mode,
            "interaction_mode": start.interaction_mode,
            "environment_version": start.environment_version,
            "observation_state": start.observation_state,
            "user_persona": start.user_persona,
            "lease_id": lease.id,
        }
        if private:
            goal = answers.goal_block(self._service.release.private(), start.task_id)
            answer |= {
                "private_task_instruction": goal["instruction"],
                "goal_options": goal["options"],
                "reason_key": "",  # absent from the whole public corpus
            }
        return encode(answer)

    async def _interact(self, request: "_Request") -> bytes:
        lease = self._lease(request)
        action = one_action(request.text("response", ""))
        step = self._service.pool.step(lease.id, action, fence=lease.fence)
        if not step.valid:
            # The format has no place for it, and a reward would be a lie.
            raise ProblemError(f"the step failed: {step.failure_kind}", code="search_index_error")
        feedback = step.action_feedback or {}
        message = "Continue interaction" if feedback.get("valid") else "Invalid action"
        return self._outcome(lease, step, {"message": message, "action_feedback": feedback})

    async def _terminate(self, request: "_Request") -> bytes:
        lease = self._lease(request)
        reason = request.text("termination_reason", "action_limit")
        step = self._service.pool.terminate(lease.id, reason, fence=lease.fence)
        return self._outcome(lease, step, {"message": "Episode terminated"})

    async def _release_one(self, request: "_Request") -> bytes:
        lease = self._lease(request)
        self._service.pool.give_back(lease.id)
        return encode({"message": "Environment released", "env_idx": lease.slot})

    async def _release_all(self, request: "_Request") -> bytes:
        self._app.guard.check_admin(request.headers)
        released = self._service.give_back_all()["released"]
        return encode({"message": "All environments released", "released": released})

    def _lease(self, request: "_Request") -> Lease:
        slot, lease_id = request.integer("env_idx"), request.text("lease_id", "")
        if not lease_id:
            raise _bad("lease_id: expected the one of the reset, found none")
        lease = self._service.pool.use(lease_id)
        if lease.slot != slot:
            message = "env_idx: expected the one of the reset, found that of another lease"
            raise PoolError(message, code="lease_lost")
        return lease

    def _outcome(self, lease: Lease, step: Step, more: dict[str, Any]) -> bytes:
        """What interact and terminate have in common, and `more`."""
        answer: dict[str, Any] = {
            "done": step.done,
            "over": step.done,
            "reward": step.reward,
            "env_idx": lease.slot,
            "idx": lease.start.task_id,
            "reward_detail": step.reward_detail,
            "purchase": self._purchase(step),
            "goal": {},
            "lease_id": lease.id,
            **more,
        }
        if step.done:
            self._service.log_end(lease, step)
            answer["termination_reason"] = step.termination_reason
            if lease.note == _PRIVATE_NOTE:
                answer["goal"] = answers.goal_block(self._service.release.private(), lease.start.task_id)
        return answers.with_page(step, answer)

    def _purchase(self, step: Step) -> dict[str, Any]:
        bought = step.info.get("purchase")
        if bought is None:
            return {}
        product = self._service.release.product(bought["asin"])
        return {
            "asin": product.asin,
            "category": product.category,
            "name": product.title,
            "product_category": product.category,
            "instruction_text": "",  # somebody's task: private
            "attributes": list(product.attributes),
            "price": bought["price"],
            "options": bought["selected_options"],
        }


class _Request:
    """The keys of one request; every wrong type is a 400."""

    def __init__(self, body: Any, headers: Headers, receive: Receive) -> None:
        if not isinstance(body, dict):
            raise _bad("expected a JSON object, found something else")
        self._body = body
        self.headers = headers
        self.receive = receive

    def get(self, name: str) -> Any:
        """The value as it came; null is none."""
        return self._body.get(name)

    def text(self, name: str, default: str) -> str:
        """A string."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise _bad(f"{name}: expected a string, found {type(value).__name__}")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false when it is missing."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise _bad(f"{name}: expected true or false, found {type(value).__name__}")
        return bool(value)

    def integer(self, name: str) -> int:
        """A required integer."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _bad(f"{name}: expected an integer, found {type(value).__name__}")
        return value


def one_action(response: str) -> str:
    """The action in the output of a model: a text that is one, or what follows the only `Action:` line.

    The published layer also takes line breaks that are spelled out. A text that starts with an action is left
    alone, so that nothing inside a query can replace it.
    """
    if _STARTS_WITH_ACTION.match(response):
        return response
    lines = _ACTION_LINE.findall(response.replace("\\n", "\n"))
    return str(lines[0]).strip() if len(lines) == 1 else response


def _bad(message: str) -> ProblemError:
    return ProblemError(message, code="wrong_type")
