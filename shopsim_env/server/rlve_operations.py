"""The rows of `/v1/rlve` in the table of operations.

Belongs here: the rows. What they do is in `rlve_service`.
"""

from typing import Any, Final

from shopsim_env.server import bodies
from shopsim_env.server.operation import FENCE_QUERY, Call, Operation
from shopsim_env.server.rlve_bodies import RLVE_INFO_QUERY, RLVE_RESET, RLVE_STEP
from shopsim_env.server.service import Service

_NOT_HERE: Final = ("rlve_unavailable",)
_LEASE_CODES: Final = ("lease_lost", "stale_fence", "busy", "journal_failed", "search_index_error")
_START_CODES: Final = (
    *("bad_axis", "no_choice", "usage_error", "superseded", "request_id_reused"),
    *("capacity", "queue_full", "stopping", "journal_failed", "search_index_error", *_NOT_HERE),
)


def _info(service: Service, call: Call) -> Any:
    return service.rlve.info(call.query["language"])


def _reset(service: Service, call: Call) -> Any:
    return service.rlve.reset(call.fields, call.gone)


def _step(service: Service, call: Call) -> Any:
    return service.rlve.step_or_repeat(call.lease_id, call.fields)


def _look(service: Service, call: Call) -> Any:
    return service.rlve.look(call.lease_id)


def _trace(service: Service, call: Call) -> Any:
    return service.rlve.trace_beside(call.lease_id)


def _goal(service: Service, call: Call) -> Any:
    return service.rlve.goal(call.lease_id)


def _heartbeat(service: Service, call: Call) -> Any:
    return service.rlve.heartbeat(call.lease_id, call.fields)


def _take_over(service: Service, call: Call) -> Any:
    return service.rlve.take_over(call.lease_id)


def _give_back(service: Service, call: Call) -> Any:
    return service.rlve.give_back(call.lease_id, call.query["fence"])


def _give_back_all(service: Service, _: Call) -> Any:
    return service.rlve.give_back_all()


_ALL: Final = "/v1/rlve/episodes"
_LEASE: Final = "/v1/rlve/episodes/{lease_id}"

RLVE_OPERATIONS: Final = (
    Operation(
        "rlve_info",
        "GET",
        "/v1/rlve",
        "Environments, collections, tools and answers of RLVE",
        "RlveInfo",
        _info,
        query=RLVE_INFO_QUERY,
        codes=_NOT_HERE,
    ),
    Operation(
        "rlve_reset",
        "POST",
        _ALL,
        "Start an RLVE episode, waiting for a slot",
        "RlveEpisode",
        _reset,
        RLVE_RESET,
        "rlve_reset",
        codes=_START_CODES,
    ),
    Operation(
        "rlve_step",
        "POST",
        f"{_LEASE}/step",
        "Play one turn of the agent",
        "RlveStep",
        _step,
        RLVE_STEP,
        "rlve_step",
        codes=(*_LEASE_CODES, "ended"),
    ),
    Operation(
        "rlve_look",
        "GET",
        _LEASE,
        "The episode as it stands; renews the lease",
        "RlveNow",
        _look,
        codes=_LEASE_CODES,
    ),
    Operation(
        "rlve_trace",
        "GET",
        f"{_LEASE}/trace",
        "The episode so far as one line of shopsim-rlve-trace-v1",
        "RlveTrace",
        _trace,
        codes=_LEASE_CODES,
    ),
    Operation(
        "rlve_goal",
        "GET",
        f"{_LEASE}/goal",
        "The goal and what the task came to, after the end alone",
        "RlveGoal",
        _goal,
        codes=(*_LEASE_CODES, "not_ended"),
    ),
    Operation(
        "rlve_heartbeat",
        "POST",
        f"{_LEASE}/heartbeat",
        "Renew a lease",
        "Lease",
        _heartbeat,
        bodies.HEARTBEAT,
        "heartbeat",
        codes=_LEASE_CODES,
    ),
    Operation(
        "rlve_take_over",
        "POST",
        f"{_LEASE}/takeover",
        "New fencing number: the former holder is shut out",
        "RlveNow",
        _take_over,
        bodies.TAKE_OVER,
        "take_over",
        codes=_LEASE_CODES,
    ),
    Operation(
        "rlve_release",
        "DELETE",
        _LEASE,
        "Release a lease; harmless when it is gone",
        "Released",
        _give_back,
        query=FENCE_QUERY,
        codes=("stale_fence",),
    ),
    Operation(
        "rlve_release_all",
        "DELETE",
        _ALL,
        "Release every RLVE lease (admin token)",
        "ReleasedAll",
        _give_back_all,
        admin=True,
    ),
)
