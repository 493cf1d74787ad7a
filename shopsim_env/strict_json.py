"""Reads JSON and takes nothing that two readers might understand differently.

Belongs here: syntax. Fields, their values and the words of a refusal are the callers' business.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from shopsim_env.errors import ShopSimError

MAX_DEPTH: Final = 16


class StrictJsonError(ShopSimError):
    """`invalid_json`, a key twice (`duplicate_key`), no finite number (`not_finite`), or `too_deep`."""

    default_code = "invalid_json"


def read_strict(body: bytes | str) -> Any:
    """The value of a text in UTF-8.

    Raises:
        StrictJsonError: no UTF-8 or no JSON (`invalid_json`), a key twice (`duplicate_key`), NaN, Infinity or
            a number that no float holds (`not_finite`), more than `MAX_DEPTH` levels (`too_deep`).
    """
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        value = _decoded(text)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        # The text of the error may quote the body; its place is enough.
        place = getattr(error, "pos", getattr(error, "start", 0))
        raise StrictJsonError(
            f"expected one JSON value in UTF-8, found something else at position {place}"
        ) from error
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(value, MAX_DEPTH)
    return value


def _decoded(text: str) -> Any:
    """The value; nearly every text is one object without blanks around it, which needs no search for them."""
    if text[:1] == "{":
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return _DECODER.decode(text)


def check_value(value: Any) -> None:
    """Refuses a value of Python that no strict JSON text gives.

    Raises:
        StrictJsonError: `not_finite`, `too_deep`, or `invalid_json` for a type or a text that JSON in UTF-8
            does not have.
    """
    _check_value(value, MAX_DEPTH)


def _check_value(value: Any, left: int) -> None:
    if isinstance(value, (dict, list)):
        if not left:
            raise _too_deep()
        for item in _parts(value):
            _check_value(item, left - 1)
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        _constant(repr(value))
    elif value is not None and not isinstance(value, (int, float)):
        raise StrictJsonError(f"expected a value of JSON, found {type(value).__name__}")


def _parts(value: dict[Any, Any] | list[Any]) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    for key in value:
        _check_text(key)
    return value.values()


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise StrictJsonError(f"expected texts as keys, found {type(text).__name__}")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise StrictJsonError("expected text in UTF-8, found half a surrogate pair") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StrictJsonError("expected every key once in an object, found one twice", code="duplicate_key")
    return found


def _constant(name: str) -> NoReturn:
    raise StrictJsonError(f"expected finite numbers, found {name}", code="not_finite")


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


def _too_deep() -> StrictJsonError:
    return StrictJsonError(
        f"expected at most {MAX_DEPTH} levels of objects and lists, found more", code="too_deep"
    )
