"""What of a product is searched: seven fields, each a list of distinct tokens.

Belongs here: which part of a record feeds which field (`public-axis-value-v1` for options). Does not belong
here: tokens (`text.tokens`), weights and tables (`schema`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from shopsim_env.text.tokens import tokenize

_LETTER = re.compile("[a-z]")
_DIGIT = re.compile("[0-9]")


def document_fields(record: Mapping[str, Any]) -> dict[str, str]:
    """The seven searched fields of a record.

    Args:
        record: Raw record or public row.

    Returns:
        Field name to its distinct tokens joined by blanks, so that no field lists a token twice. `model`
        holds the title tokens with both a letter and a digit.
    """
    title = tokenize(_text(record.get("title")))
    texts = {
        "brand": _text(record.get("brand") or record.get("shop_name")),
        "category": _text(record.get("category")),
        "attributes": _text(record.get("attribute")),
        "options": options_text(record),
        "bullets": _text(
            record.get("small_description") or record.get("sub_title") or record.get("BulletPoints")
        ),
    }
    fields = {name: " ".join(tokenize(text)) for name, text in texts.items()}
    return {"title": " ".join(title), "model": " ".join(filter(_is_model, title)), **fields}


def options_text(record: Mapping[str, Any]) -> str:
    """Axis names in code point order, each followed by its trimmed values in source order; nothing else.

    Prices, pictures and variant ids of the crawl are not searchable: an agent cannot see them.
    """
    options = record.get("customization_options") or record.get("options")
    if not isinstance(options, Mapping):
        return ""
    parts: list[str] = []
    for name in sorted(options):
        parts.append(str(name))
        parts.extend(_option_value(entry) for entry in options[name] or ())
    return " ".join(part for part in parts if part)


def _option_value(entry: Any) -> str:
    value = entry.get("value") if isinstance(entry, Mapping) else entry
    return "" if value is None else str(value).strip()


def _is_model(token: str) -> bool:
    return token.isascii() and bool(_LETTER.search(token) and _DIGIT.search(token))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(_leaves(value))


def _leaves(value: Any) -> Iterator[str]:
    """Text pieces of a nested value; an object gives its keys in code point order, each before its value."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield str(key)
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)
