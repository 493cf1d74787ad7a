"""The table of `/v1`: method, path, fields, answer and refusals of every operation, and what runs it.

Belongs here: the table; its rows for RLVE are in `rlve_operations`. Routing and the OpenAPI document are both
made from it, so they agree.
"""

from typing import Any, Final

from shopsim_env.server import bodies
from shopsim_env.server.fields import Field, Number, Text
from shopsim_env.server.operation import FENCE_QUERY, Call, Operation
from shopsim_env.server.rlve_operations import RLVE_OPERATIONS
from shopsim_env.server.service import Service

_START_CODES = (
    *("unknown_task", "unknown_split", "empty_split", "no_task", "task_and_split", "no_seed"),
    *(
        "admin_only",
        "superseded",
        "request_id_reused",
        "capacity",
        "queue_full",
        "stopping",
        "journal_failed",
    ),
    *("usage_error", "search_index_error"),
)
_LEASE_CODES = ("lease_lost", "stale_fence", "busy", "journal_failed", "search_index_error")


def _reset(service: Service, call: Call) -> Any:
    return service.reset(call.fields, call.gone)


def _group(service: Service, call: Call) -> Any:
    return service.group(call.fields, call.gone)


def _step(service: Service, call: Call) -> Any:
    return service.step(call.lease_id, call.fields)


def _terminate(service: Service, call: Call) -> Any:
    return service.terminate(call.lease_id, call.fields)


def _look(service: Service, call: Call) -> Any:
    return service.look(call.lease_id)


def _give_back(service: Service, call: Call) -> Any:
    return service.give_back(call.lease_id, call.query["fence"])


def _heartbeat(service: Service, call: Call) -> Any:
    return service.heartbeat(call.lease_id, call.fields)


def _take_over(service: Service, call: Call) -> Any:
    return service.take_over(call.lease_id)


def _trace(service: Service, call: Call) -> Any:
    return service.trace(call.lease_id)


def _give_back_all(service: Service, _: Call) -> Any:
    return service.give_back_all()


def _about(service: Service, _: Call) -> Any:
    return service.about()


def _tasks(service: Service, call: Call) -> Any:
    return service.tasks(call.query)


def _health(service: Service, _: Call) -> Any:
    return service.health()


_LEASE = "/v1/episodes/{lease_id}"
TASKS_QUERY: dict[str, Field] = {
    "split": Text(about="only tasks of this split", longest=200, nullable=True),
    "persona": Text(about="only tasks with a persona, or without", choices=("yes", "no"), nullable=True),
    "find": Text(about="only task ids that contain these digits", pattern="[0-9]{0,19}", default=""),
    "offset": Number(about="tasks to leave out in front", least=0, most=2**31, default=0),
    "limit": Number(about="tasks at most", least=1, most=1_000, default=100),
}

OPERATIONS: Final = (
    Operation(
        "reset",
        "POST",
        "/v1/episodes",
        "Start an episode, waiting for a slot",
        "Episode",
        _reset,
        bodies.RESET,
        "reset",
        codes=_START_CODES,
    ),
    Operation(
        "step",
        "POST",
        f"{_LEASE}/step",
        "Play one action",
        "Step",
        _step,
        bodies.STEP,
        "step",
        codes=(*_LEASE_CODES, "ended", "unrecordable_action"),
    ),
    Operation(
        "terminate",
        "POST",
        f"{_LEASE}/terminate",
        "End an episode from outside; the lease stays",
        "Step",
        _terminate,
        bodies.TERMINATE,
        "terminate",
        codes=(*_LEASE_CODES, "ended"),
    ),
    Operation(
        "look",
        "GET",
        _LEASE,
        "The episode as it stands; renews the lease",
        "EpisodeNow",
        _look,
        codes=_LEASE_CODES,
    ),
    Operation(
        "release",
        "DELETE",
        _LEASE,
        "Release a lease; harmless when it is gone",
        "Released",
        _give_back,
        query=FENCE_QUERY,
        codes=("stale_fence",),
    ),
    Operation(
        "heartbeat",
        "POST",
        f"{_LEASE}/heartbeat",
        "Renew a lease",
        "Lease",
        _heartbeat,
        bodies.HEARTBEAT,
        "heartbeat",
        codes=("lease_lost", "stale_fence"),
    ),
    Operation(
        "take_over",
        "POST",
        f"{_LEASE}/takeover",
        "New fencing number: the former holder is shut out",
        "EpisodeNow",
        _take_over,
        bodies.TAKE_OVER,
        "take_over",
        codes=("lease_lost", "journal_failed"),
    ),
    Operation(
        "trace",
        "GET",
        f"{_LEASE}/trace",
        "The episode so far as one line of shopsim-trace-v1",
        "Trace",
        _trace,
        codes=("lease_lost", "search_index_error"),
    ),
    Operation(
        "group",
        "POST",
        "/v1/groups",
        "Start n episodes with identical starts",
        "Group",
        _group,
        bodies.GROUP,
        "group",
        codes=(*_START_CODES, "group_too_large"),
    ),
    Operation(
        "release_all",
        "DELETE",
        "/v1/episodes",
        "Release every lease (admin token)",
        "ReleasedAll",
        _give_back_all,
        admin=True,
    ),
    Operation("release_info", "GET", "/v1/release", "What is served", "ReleaseInfo", _about),
    Operation(
        "tasks",
        "GET",
        "/v1/tasks",
        "Task ids and labels, a page at a time",
        "Tasks",
        _tasks,
        query=TASKS_QUERY,
        codes=("unknown_split",),
    ),
    Operation("health", "GET", "/healthz", "Readiness and load", "Health", _health),
    *RLVE_OPERATIONS,
)
