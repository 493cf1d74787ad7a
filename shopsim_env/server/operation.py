"""One operation of `/v1`: the row that routing, validation and the OpenAPI document are made from.

Belongs here: the kind of row. The rows are in `operations` and `rlve_operations`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from shopsim_env.server.fields import Field, Number
from shopsim_env.server.opening import Gone
from shopsim_env.server.service import Service

BODY_CODES: Final = (
    "invalid_json",
    "duplicate_key",
    "not_finite",
    "too_deep",
    "body_timeout",
    "body_too_large",
    "unsupported_media_type",
    "unsupported_encoding",
    "wrong_type",
    "missing_field",
    "unknown_field",
    "out_of_range",
)
_QUERY_CODES = ("wrong_type", "out_of_range", "unknown_field")
FENCE_QUERY: Final[dict[str, Field]] = {
    "fence": Number(about="refused unless it is the current one", least=0, most=2**63 - 1, nullable=True)
}


class Call(NamedTuple):
    """One request: the lease in its path, checked fields of body and query, whether it is the admin's."""

    lease_id: str
    fields: dict[str, Any]
    query: dict[str, Any]
    gone: Gone


Handler = Callable[[Service, Call], Any]
"""From a request to its answer; what may have to wait gives a coroutine."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table. `answer` names a schema; a handler may answer with JSON bytes of its own."""

    name: str
    method: str
    path: str
    summary: str
    answer: str
    handler: Handler
    body: Mapping[str, Field] | None = None
    example: str = ""
    query: Mapping[str, Field] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    admin: bool = False

    @property
    def all_codes(self) -> tuple[str, ...]:
        """Every code that the operation may answer with, but `internal`."""
        found = [
            *("duplicate_header", "upgrade", "unauthorized", "forbidden_host", "forbidden_origin"),
            *self.codes,
        ]
        if self.body is not None:
            found += BODY_CODES
        if self.query:
            found += _QUERY_CODES
        if self.admin:
            found.append("admin_only")
        return tuple(dict.fromkeys(found))
