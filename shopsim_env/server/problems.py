"""Refusals as `application/problem+json`: one table from error codes to statuses.

Belongs here: the table and the form. A problem says what was expected, what was found and what to do; it
never holds a path, a lease id of somebody else or text of a goal.
"""

import json
from typing import Any, Final

from shopsim_env.errors import JournalError, ShopSimError

STATUSES: Final[dict[str, int]] = {
    # The body.
    "invalid_json": 400,
    "duplicate_key": 400,
    "not_finite": 400,
    "too_deep": 400,
    "body_timeout": 408,
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "unsupported_encoding": 415,
    "wrong_type": 422,
    "missing_field": 422,
    "unknown_field": 422,
    "out_of_range": 422,
    # Who asks, and for what.
    "duplicate_header": 400,
    "upgrade": 400,
    "unauthorized": 401,
    "admin_only": 403,
    "forbidden_host": 403,
    "forbidden_origin": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    # The episode.
    "unknown_task": 422,
    "task_error": 422,
    "unknown_split": 422,
    "empty_split": 422,
    "no_task": 422,
    "task_and_split": 422,
    "no_seed": 422,
    "group_too_large": 422,
    "usage_error": 422,
    "unrecordable_action": 422,
    # The lease.
    "lease_lost": 409,
    "stale_fence": 409,
    "busy": 409,
    "ended": 409,
    "not_ended": 409,
    "superseded": 409,
    "request_id_reused": 409,
    # RLVE.
    "bad_axis": 422,
    "no_choice": 422,
    "rlve_unavailable": 404,
    # Recorded runs.
    "unknown_run": 404,
    "unknown_episode": 404,
    "unreadable_run": 404,
    "other_release": 409,
    # The server.
    "capacity": 503,
    "queue_full": 503,
    "stopping": 503,
    "closed": 503,
    "journal_failed": 503,
    "search_index_error": 503,
    "internal": 500,
}
"""Every code that an answer may carry, and its status."""

TITLES: Final[dict[int, str]] = {
    400: "The body is not what it should be",
    401: "A token is needed",
    403: "Not allowed",
    404: "No such page",
    405: "Another method is needed",
    408: "The body did not come",
    409: "The lease is not yours, or not in that state",
    413: "The body is too large",
    415: "The body must be plain JSON",
    422: "A value is not what it should be",
    500: "The server failed",
    503: "Not now",
}
RETRY_AFTER_S: Final = 1


class ProblemError(ShopSimError):
    """A refusal with its status.

    Args:
        message: Full sentence for people.
        code: One of `STATUSES`.
        headers: Further headers of the answer.
    """

    def __init__(self, message: str, *, code: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message, code=code)
        self.status = STATUSES[code]
        self.headers = headers
        if self.status == 503:
            self.headers = (*headers, ("retry-after", str(RETRY_AFTER_S)))

    def body(self) -> bytes:
        """The problem as JSON (RFC 9457, with the member `code`)."""
        return json.dumps(self.as_dict(), ensure_ascii=False).encode("utf-8", "backslashreplace")

    def as_dict(self) -> dict[str, Any]:
        """The members of the body."""
        return {
            "type": f"urn:shopsim:problem:{self.code}",
            "title": TITLES[self.status],
            "status": self.status,
            "code": self.code,
            "detail": str(self),
        }


def problem_of(error: ShopSimError) -> ProblemError:
    """The problem that an error of the pool or of an episode is for a client."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, JournalError):
        # Its message names the folder.
        return ProblemError(
            "the action log cannot be written; the server needs a restart", code="journal_failed"
        )
    if error.code in STATUSES:
        return ProblemError(str(error), code=error.code)
    if error.wrong_use:
        return ProblemError(str(error), code="usage_error")
    return ProblemError("the server failed; its log says more", code="internal")
