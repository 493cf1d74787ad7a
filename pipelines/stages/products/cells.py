"""Cells of a product row: texts, numbers, and JSON that stands as text in a column.

Belongs here: reading one value of any type that a column may have. What a column means is in `mapping`.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn


def json_text(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: No JSON, NaN or Infinity, nested too deeply, or half of a surrogate pair.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # UnicodeEncodeError is a ValueError
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def text_cell(value: Any) -> str | None:
    """A text with runs of blanks collapsed, "" when it is absent; None for what is no text and no number."""
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return "" if value != value else str(value)
    return None


def texts(value: Any) -> Iterator[str]:
    """Non-blank texts of a cell that is a text, a number, or a list of them (also as JSON text)."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json_text(value)
        except ValueError:
            value = [value]
    for item in value if isinstance(value, (list, tuple)) else [value]:
        text = text_cell(item)
        if text:
            yield text


def object_cell(value: Any) -> Mapping[str, Any] | None:
    """An object, or the one that a JSON text holds; {} when the cell is empty, None when it is neither."""
    found = _json_cell(value, {})
    return found if isinstance(found, Mapping) else None


def list_cell(value: Any) -> list[Any] | None:
    """A list, or the one that a JSON text holds; [] when the cell is empty, None when it is neither."""
    found = _json_cell(value, [])
    return found if isinstance(found, list) else None


def _json_cell(value: Any, empty: Any) -> Any:
    """The value, or the one that a JSON text holds; `empty` for no cell, None for a text that is no JSON."""
    if isinstance(value, str):
        try:
            value = json_text(value) if value.strip() else None
        except ValueError:
            return None
    return empty if value is None else value


def decimal_cell(value: Any) -> Decimal | None:
    """A finite number, also as text; None for anything else."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def whole_number(value: Any) -> int | None:
    """A whole number from 0 to 10⁹, also as text or as `100.0`; None for anything else."""
    number = decimal_cell(value)
    if number is None or not 0 <= number <= 10**9 or number != int(number):
        return None
    return int(number)
