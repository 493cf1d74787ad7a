"""From the code of a refusal to the exception that the same call in this process raises.

Belongs here: the table, and which refusals mean that the same request may come again.
"""

from typing import Final

from shopsim_env.errors import (
    CapacityError,
    EpisodeError,
    LeaseLostError,
    PoolError,
    ServiceError,
    ShopSimError,
    TaskError,
    TraceError,
    UnknownTaskError,
    UsageError,
)

_CLASSES: Final[dict[str, type[ShopSimError]]] = {
    "unknown_task": UnknownTaskError,
    **dict.fromkeys(("task_error", "unknown_split", "empty_split"), TaskError),
    **dict.fromkeys(("ended", "not_ended"), EpisodeError),
    "unrecordable_action": TraceError,
    **dict.fromkeys(("capacity", "queue_full"), CapacityError),
    **dict.fromkeys(("lease_lost", "stale_fence"), LeaseLostError),
    **dict.fromkeys(("busy", "superseded", "request_id_reused", "closed"), PoolError),
    **dict.fromkeys(("no_task", "task_and_split", "no_seed", "group_too_large", "usage_error"), UsageError),
    **dict.fromkeys(("wrong_type", "missing_field", "unknown_field", "out_of_range"), UsageError),
    **dict.fromkeys(("bad_axis", "no_choice"), UsageError),
    **dict.fromkeys(
        ("invalid_json", "duplicate_key", "not_finite", "too_deep", "body_too_large"), UsageError
    ),
}
NO_ROOM: Final = ("capacity", "queue_full")
"""Refusals that end the wait for a slot; asked again as long as the caller wants to wait."""
AGAIN: Final = ("stopping", "closed", "journal_failed", "search_index_error", "busy", "body_timeout")
"""Refusals after which the same request may come again: nothing happened, or the id repeats it."""
_ADAPTER_BELOW: Final = 500


def error_of(code: str, message: str, status: int = 500) -> ShopSimError:
    """The exception of a refusal; `ServiceError` for whatever is not about the call itself."""
    kind = _CLASSES.get(code)
    if kind is not None:
        return kind(message, code=code)
    failure = "adapter" if status < _ADAPTER_BELOW else "env_crash"
    return ServiceError(message, code=code, failure_kind=failure)
