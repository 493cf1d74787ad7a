"""Reads a body as strict JSON (`shopsim_env.strict_json`), refusing it as a problem of the service.

Fields and their values are in `fields`.
"""

from typing import Any, Final

from shopsim_env.server.problems import ProblemError
from shopsim_env.strict_json import StrictJsonError, read_strict

MAX_BODY: Final = 64 * 1024


def read_json(body: bytes) -> Any:
    """The value of a body of at most `MAX_BODY` bytes.

    Raises:
        ProblemError: no UTF-8 or no JSON (`invalid_json`), a key twice (`duplicate_key`), NaN, Infinity or
            a number that no float holds (`not_finite`), too many levels (`too_deep`).
    """
    try:
        return read_strict(body)
    except StrictJsonError as error:
        raise ProblemError(str(error), code=error.code) from error
