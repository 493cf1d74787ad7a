"""Reads a body as JSON and takes nothing that two readers might understand differently.

Belongs here: syntax. Fields and their values are in `fields`.
"""

import json
import math
from typing import Any, Final, NoReturn

from shopsim_env.server.problems import ProblemError

MAX_BODY: Final = 64 * 1024
MAX_DEPTH: Final = 16


def read_json(body: bytes) -> Any:
    """The value of a body of at most `MAX_BODY` bytes.

    Raises:
        ProblemError: no UTF-8 or no JSON (`invalid_json`), a key twice (`duplicate_key`), NaN, Infinity or
            a number that no float holds (`not_finite`), more than `MAX_DEPTH` levels (`too_deep`).
    """
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        # The text of the error may quote the body; its place is enough.
        place = getattr(error, "pos", getattr(error, "start", 0))
        raise ProblemError(
            f"expected one JSON value in UTF-8, found something else at position {place}", code="invalid_json"
        ) from error
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _check_depth(value, MAX_DEPTH)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProblemError("expected every key once in an object, found one twice", code="duplicate_key")
    return found


def _constant(name: str) -> NoReturn:
    raise ProblemError(f"expected finite numbers, found {name}", code="not_finite")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _constant("a number beyond the range of floats")
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, (dict, list)):
        if not left:
            raise _too_deep()
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, left - 1)


def _too_deep() -> ProblemError:
    return ProblemError(
        f"expected at most {MAX_DEPTH} levels of objects and lists, found more", code="too_deep"
    )
