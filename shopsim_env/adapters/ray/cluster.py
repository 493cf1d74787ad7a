"""The one place that imports Ray: connecting, starting actors, and what their failures mean.

Belongs here: what pool, schedule and the pipeline's mapper share (extra `ray`). Ray is imported when a
function is called, so that everything that needs no cluster works without it.
"""

import os
from collections.abc import Mapping
from typing import Any

from shopsim_env.errors import ServiceError, UsageError

ACTOR_LOST = "actor_lost"
_TIMEOUT = "timeout"


def connected() -> Any:
    """The module `ray`, connected to a cluster.

    A connection that this process has is kept. Else `RAY_ADDRESS` names the cluster; without it, one starts
    on this machine, for this process alone: loopback, no dashboard. Usage statistics are off, and what
    actors print is not repeated here.

    Raises:
        UsageError: Ray is not installed (code `missing_extra`).
        ServiceError: no cluster at the address (code `unreachable`).
    """
    # Read by Ray as it is imported and as it starts.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        message = "a Ray cluster needs the ray package; install 'shopsim[ray]'."
        raise UsageError(message, code="missing_extra") from error
    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        try:
            ray.init(address or "local", log_to_driver=False, **({} if address else own))
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ServiceError(
                f"RAY_ADDRESS: expected a cluster at {address!r}, found none: {error}; start it with "
                "'ray start --head', or unset RAY_ADDRESS to have one on this machine"
            ) from error
    return ray


def start_actor(cls: type, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """An actor of a class, with Ray's own options; it takes one core and any node unless they say else."""
    ray = connected()
    return ray.remote(**{"num_cpus": 1, "scheduling_strategy": "SPREAD", **options})(cls).remote(*arguments)


def stop_actor(actor: Any) -> None:
    """Ends an actor now, whatever it is doing; one that is gone already is fine."""
    connected().kill(actor)


def answer(ref: Any) -> Any:
    """The result of a call that has been made; waits for it.

    Raises:
        ServiceError: the actor, its node or the result is gone (code `actor_lost`, `env_crash`).
        Exception: what the call itself raised, as it was raised there.
    """
    ray = connected()
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        raise meaning(error) from None


def answers(refs: Mapping[int, Any], timeout_s: float | None) -> dict[int, Any]:
    """The result of every call, or the exception that `answer` would raise, in the order of the calls.

    A call without an answer after `timeout_s` seconds has a ServiceError with the failure kind `timeout`.
    """
    if not refs:
        return {}
    ready, _ = connected().wait(list(refs.values()), num_returns=len(refs), timeout=timeout_s)
    found: dict[int, Any] = {}
    for key, ref in refs.items():
        if ref not in ready:
            found[key] = _late(timeout_s)
            continue
        try:
            found[key] = answer(ref)
        except Exception as error:
            found[key] = error
    return found


def meaning(error: BaseException) -> BaseException:
    """The exception behind one of Ray's: what the call raised, or that its actor is gone."""
    exceptions = connected().exceptions
    if isinstance(error, exceptions.RayTaskError):
        cause: BaseException = error.cause
        return cause
    if isinstance(error, exceptions.RayError):
        return ServiceError(
            f"expected an answer of a Ray actor, found that it is gone ({type(error).__name__}); what it "
            "held is lost, start it again",
            code=ACTOR_LOST,
        )
    return error


def _late(timeout_s: float | None) -> ServiceError:
    return ServiceError(
        f"expected an answer of a Ray actor within {timeout_s:g} seconds, found none; is there a free core "
        "for it, and is timeout_s long enough?",
        code=_TIMEOUT,
        failure_kind=_TIMEOUT,
    )
